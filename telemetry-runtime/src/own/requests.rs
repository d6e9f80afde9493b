//! Requests that the program answers, when someone asks through the control socket.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::sys;

/// What answers a request.
pub(crate) type Answer = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// All requests, by name.
static REQUESTS: Mutex<BTreeMap<String, Arc<Answer>>> = Mutex::new(BTreeMap::new());

/// Maximum number of requests, and length of a name in bytes.
const MAX_REQUESTS: usize = 64;
const MAX_NAME: usize = 64;
/// Maximum number of bytes in an answer.
pub(crate) const MAX_ANSWER: usize = 64 << 10;

/// How long the lock is waited for. In the child of a fork, its owner may not exist.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Answers requests of a name, which `telemetry control PROCESS --ask NAME [TEXT]` asks.
///
/// ```
/// telemetry_runtime::on_request("cache.size", |_| Ok("4096".into()))?;
/// # Ok::<(), telemetry_runtime::RequestError>(())
/// ```
///
/// Only the user that the process acts as, and root, can ask. The function gets the text behind the
/// name, or an empty one. Its answer is a text of at most 64 KiB, or an error. It runs in a thread
/// of its own, so it may take its time; but the one who asks waits for 30 seconds at most. A panic
/// in it is an error for the one who asks, unless the program aborts at panics. At most four
/// requests run at once.
///
/// A later call with the same name replaces the function. In the child of a fork it remains. The
/// process has a control socket from its first emitter on. Unix only; elsewhere no one can ask.
///
/// # Errors
/// If the name has another form than 1 to 64 letters, digits, `.`, `-` and `_` of ASCII, or if
/// there are 64 other requests.
pub fn on_request(
    name: &str,
    answer: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
) -> Result<(), RequestError> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_letter) {
        return Err(RequestError::Name);
    }
    let mut requests = lock().ok_or(RequestError::Busy)?;
    if requests.len() >= MAX_REQUESTS && !requests.contains_key(name) {
        return Err(RequestError::TooMany);
    }
    let before = requests.insert(name.to_owned(), Arc::new(answer));
    drop(requests);
    // It is the program's code, which may register another.
    drop(before);
    Ok(())
}

/// Why a request cannot be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The name has another form than it must have.
    Name,
    /// There are 64 requests with other names.
    TooMany,
    /// The list of requests is in use, by a thread that a fork has left behind.
    Busy,
}

impl Display for RequestError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RequestError::Name => {
                "the name of a request has another form, expected 1 to 64 letters, digits, `.`, `-` and `_`"
            }
            RequestError::TooMany => "there are 64 requests already, which is the most",
            RequestError::Busy => "the list of requests is in use",
        })
    }
}

impl Error for RequestError {}

/// Returns what answers a request, or why nothing does.
#[cfg_attr(any(not(unix), miri), allow(dead_code))]
pub(crate) fn answer_of(name: &str) -> Result<Arc<Answer>, String> {
    let requests = lock().ok_or("the list of requests is in use; help: try again later")?;
    if let Some(answer) = requests.get(name) {
        return Ok(answer.clone());
    }
    let known: Vec<&str> = requests.keys().map(String::as_str).collect();
    Err(match known.is_empty() {
        true => format!("unknown request `{name}`: the program answers none"),
        false => format!("unknown request `{name}`, expected {}", known.join(", ")),
    })
}

fn lock() -> Option<MutexGuard<'static, BTreeMap<String, Arc<Answer>>>> {
    let mut guard = None;
    sys::wait(TIMEOUT, || {
        guard = match REQUESTS.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        guard.is_some()
    });
    guard
}

#[cfg(test)]
mod tests {
    use super::{MAX_REQUESTS, RequestError, answer_of, on_request};

    #[test]
    fn names_have_a_form_and_a_limit() {
        for name in ["", "a b", "a\n", "é", &"x".repeat(65)] {
            assert_eq!(on_request(name, |_| Ok(String::new())), Err(RequestError::Name), "{name:?}");
        }
        assert_eq!(answer_of("size").err().unwrap(), "unknown request `size`: the program answers none");
        for number in 0..MAX_REQUESTS {
            on_request(&format!("r.{number}"), |_| Ok("old".into())).unwrap();
        }
        assert_eq!(on_request("more", |_| Ok(String::new())), Err(RequestError::TooMany));
        on_request("r.7", |text| Ok(format!("new {text}"))).unwrap();
        assert_eq!(answer_of("r.7").unwrap()("x"), Ok("new x".into()));
        assert!(answer_of("size").err().unwrap().starts_with("unknown request `size`, expected r.0, r.1, "));
    }
}
