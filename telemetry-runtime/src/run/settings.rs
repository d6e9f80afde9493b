//! Settings from variables of the environment.

use core::ffi::CStr;
use std::time::Duration;

use telemetry_format::Notice;

use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::text::Shown;

/// True if the runtime has started before, in this process or in the parent of a fork. Errors in
/// variables were reported then.
pub(crate) static STARTED_BEFORE: AtomicBool = AtomicBool::new(false);

/// Returns the value of a variable that is not empty. The first process of a family reports a value
/// that `read` does not accept. Does not allocate.
pub(crate) fn setting<T>(name: &CStr, expected: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    text_setting(name, expected, |text| {
        let text = text.trim();
        if text.is_empty() { Some(None) } else { read(text).map(Some) }
    })
    .flatten()
}

/// Does the same for a variable that may be empty.
pub(crate) fn text_setting<T>(
    name: &CStr,
    expected: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    sys::with_env(name, |bytes| {
        let found = core::str::from_utf8(bytes).ok().and_then(read);
        if found.is_none() && !STARTED_BEFORE.load(Ordering::Relaxed) {
            let (name, found) = (Shown(name.to_bytes()), Shown(bytes.trim_ascii()));
            sys::report(Notice::InvalidSetting, format_args!("{name} is `{found}`, expected {expected}"));
        }
        found
    })?
}

/// Parses a number of seconds.
pub(crate) fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// Parses a number of bytes with an optional suffix.
pub(crate) fn bytes(text: &str) -> Option<usize> {
    let (digits, shift) = match text.trim().as_bytes() {
        [digits @ .., b'k' | b'K'] => (digits, 10),
        [digits @ .., b'm' | b'M'] => (digits, 20),
        [digits @ .., b'g' | b'G'] => (digits, 30),
        digits => (digits, 0),
    };
    let number: usize = core::str::from_utf8(digits).ok()?.parse().ok()?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    #[test]
    fn times_are_seconds() {
        let check = |text, expected| assert_eq!(super::seconds(text), expected, "{text}");
        check("2", Some(Duration::from_secs(2)));
        check("0", Some(Duration::ZERO));
        check("0.25", Some(Duration::from_millis(250)));
        for text in ["", "2s", "-1", "nan", "inf", "1e99"] {
            check(text, None);
        }
    }

    #[test]
    fn sizes_have_suffixes() {
        let check = |text, expected| assert_eq!(super::bytes(text), expected, "{text}");
        check("65536", Some(65536));
        check(" 64k ", Some(65536));
        check("2M", Some(2 << 20));
        check("1g", Some(1 << 30));
        check("", None);
        check("k", None);
        check("-1", None);
        check("99999999999999999999G", None);
        check("18446744073709551615k", None);
    }
}
