//! Starts the runtime at the first event or call, and ends it.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use telemetry_format::Notice;

use crate::control::switches as control;
use crate::count::list;
use crate::drain::actions;
use crate::drain::config::{CONFIG, Config};
use crate::drain::passes as drain;
use crate::drain::selection;
use crate::memory::facts;
use crate::memory::image;
use crate::memory::mapping;
use crate::memory::pool::{self, POOL};
use crate::memory::registry::Registry;
use crate::model::registry_def::RegistryDef;
use crate::own::labels;
use crate::own::sample::sample;
use crate::own::sampling::{self, Sampling};
use crate::own::switches::warn;
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
use crate::postmortem::exit;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::postmortem::fatal;
use crate::postmortem::panic;
use crate::postmortem::{debugger, native};
use crate::process::attach;
use crate::process::drain_thread;
use crate::process::fork;
use crate::process::losses;
use crate::run::clock;
use crate::run::reentry::ReentryGuard;
use crate::run::settings::{STARTED_BEFORE, bytes, seconds, setting};
use crate::run::state::{self, Policy};
use crate::run::upcalls::Upcalls;
use crate::socket;
use crate::store::counters::{counters, strays, tell_strays};
use crate::sys;
use crate::sys::atomic::{AtomicU8, Ordering};
use crate::sys::text::{Buffer, Shown};
use crate::triggers::list as triggers;

/// How long `TELEMETRY_POLICY=wait` waits. A drain that takes longer is likely to be stuck.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);
/// How often counters are sampled.
const DEFAULT_SAMPLE: Duration = Duration::from_secs(1);
const DEFAULT_BUFFER: usize = 16 << 20;
/// The maximum is a terabyte, or a gigabyte if addresses have 32 bits.
const MAX_BUFFER: usize = match 1_usize.checked_shl(40) {
    Some(bytes) => bytes,
    None => 1 << 30,
};

impl Config {
    /// Starts the runtime with this configuration.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if an earlier call or event has started the runtime.
    pub fn start(mut self) -> Result<(), AlreadyStarted> {
        let mut config = CONFIG.lock().unwrap_or_else(PoisonError::into_inner);
        if !state::is_new() {
            return Err(AlreadyStarted);
        }
        if !self.triggers.is_empty() {
            triggers::configure(core::mem::take(&mut self.triggers));
        }
        *config = Some(self);
        drop(config);
        let started = ensure();
        panic::begin();
        attach::begin();
        if started { Ok(()) } else { Err(AlreadyStarted) }
    }
}

/// The error of [`Config::start`]: an earlier call or event has started the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlreadyStarted;

impl Display for AlreadyStarted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the runtime has started already, with another configuration")
    }
}

impl Error for AlreadyStarted {}

/// The functions for rooms that come before this one.
static UPCALLS: Upcalls = Upcalls { ensure, attach: attach::begin, begin_drain: drain_thread::begin };

impl Registry {
    /// Creates a registry. Only the macro calls it. The mask has a bit for every event. All bits
    /// are set at first, so that the first event of a registry calls the runtime.
    #[doc(hidden)]
    pub const fn new(def: RegistryDef, mask: &'static [AtomicU8]) -> Self {
        Registry::with_upcalls(def, mask, &UPCALLS)
    }
}

/// Starts the runtime unless it is running. Returns false once the run is over, and in code that
/// interrupts the thread that starts it.
pub(crate) fn ensure() -> bool {
    state::is_running() || !state::is_over() && begin()
}

#[cold]
fn begin() -> bool {
    let Some(inside) = ReentryGuard::enter() else { return false };
    if state::claim() {
        let wants_socket = start();
        let wants_triggers = triggers::is_wanted();
        state::run();
        // From here on this thread's events are recorded, also those of a `malloc` that the start
        // of a thread calls.
        drop(inside);
        // Not earlier: it allocates.
        if wants_triggers {
            triggers::begin();
        }
        if wants_socket {
            drain_thread::begin();
        }
        return true;
    }
    // Another thread starts the runtime. It may take some milliseconds to reserve space in the ring
    // file. A thread of the parent never ends the start here.
    sys::wait(Duration::from_secs(5), || !state::is_starting() || state::is_of_parent());
    state::is_running()
}

/// Starts the runtime, without its threads. Returns true if it is to be reachable from the start.
/// Does not allocate: the first event may come from inside the program's allocator.
fn start() -> bool {
    // First: another thread may fork during the start. A forked child has the handlers already.
    let is_first = !STARTED_BEFORE.load(Ordering::Relaxed);
    if is_first {
        fork::begin();
    }
    clock::init();
    state::begin();
    let mut config = CONFIG.try_lock().ok();
    let config = config.as_mut().and_then(|config| config.as_mut());
    let policies = "`drop`, `overwrite`, `wait` or `wait:SECONDS`";
    let policy = setting(c"TELEMETRY_POLICY", policies, policy_of);
    state::set_policy(policy.or(config.as_ref().and_then(|config| config.policy)).unwrap_or_default());
    let latency = setting(c"TELEMETRY_LATENCY", "a number of seconds, 0.001 to 3600", seconds);
    state::set_latency(latency.or(config.as_ref().and_then(|config| config.latency)));
    let traceback = setting(c"TELEMETRY_TRACEBACK", "a number of events", |text| text.parse().ok());
    panic::set_traceback(traceback.or(config.as_ref().and_then(|config| config.traceback)).unwrap_or(0));
    let sample = setting(c"TELEMETRY_SAMPLE", "a number of seconds, 0.001 to 3600, or `off`", interval);
    let sample = sample.or(config.as_ref().and_then(|config| config.sample)).unwrap_or(DEFAULT_SAMPLE);
    state::set_sample_interval(Some(sample).filter(|interval| !interval.is_zero()));
    let summary = setting(c"TELEMETRY_SUMMARY", "`on` or `off`", on_or_off);
    losses::set_reported(summary.or(config.as_ref().and_then(|config| config.summary)).unwrap_or(true));
    let sensitive = setting(c"TELEMETRY_SENSITIVE", "`allow` or `refuse`", allow_or_refuse);
    let sensitive = sensitive.or(config.as_ref().and_then(|config| config.sensitive)).unwrap_or(false);
    selection::set_sends_sensitive(sensitive);
    let back_channel = setting(c"TELEMETRY_BACK_CHANNEL", "`on` or `off`", on_or_off);
    let back_channel = back_channel.or(config.as_ref().and_then(|config| config.back_channel));
    facts::set_back_channel(back_channel == Some(true) && socket::serve_peers());
    let signals = setting(c"TELEMETRY_SIGNALS", "`1` or `0`", on_or_off);
    #[cfg_attr(any(not(target_os = "linux"), miri), allow(unused_variables))]
    let signals = signals.or(config.as_ref().and_then(|config| config.signals)).unwrap_or(false);
    let sampling = setting(c"TELEMETRY_SAMPLING", sampling::EXPECTED, Sampling::parse);
    let sampling = sampling.unwrap_or_else(|| configured_sampling(config.as_deref()));
    debugger::keep();
    native::keep();
    let sizes = "a number of bytes, such as `65536`, `64k` or `16M`";
    let buffer = setting(c"TELEMETRY_BUFFER", sizes, bytes);
    // The link to the ring file is in the directory of sockets.
    let wants_socket = socket::prepare(
        config.as_ref().and_then(|config| config.socket),
        STARTED_BEFORE.load(Ordering::Relaxed),
    );
    begin_image(config.as_ref().and_then(|config| config.ring.as_deref()));
    // If the whole pool does not fit, a smaller one may. Without any memory, all events are counted
    // as lost.
    let mut buffer =
        buffer.or(config.as_ref().and_then(|config| config.buffer)).unwrap_or(DEFAULT_BUFFER).min(MAX_BUFFER);
    while !pool::begin(buffer) && buffer > 1 << 16 {
        buffer /= 2;
    }
    if let Some(totals) = POOL.totals() {
        totals.begin(state::session());
        tell_strays();
    }
    labels::begin();
    if let Some(ring) = mapping::ring() {
        socket::leave_link(ring);
    }
    let words = config.as_ref();
    control::begin(
        words.and_then(|config| config.control.as_deref()),
        words.and_then(|config| config.record.as_deref()),
    );
    // After the words are known: streams state them.
    control::with_words(|output, record| {
        image::keep_session(words.and_then(|config| config.facts.as_deref()), output, record);
    });
    STARTED_BEFORE.store(true, Ordering::Relaxed);
    if is_first {
        sys::at_process_exit(at_exit);
        #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
        exit::begin();
        #[cfg(all(target_os = "linux", not(miri)))]
        if signals {
            fatal::begin();
        }
        if let Some(sampling) = sampling {
            sampling::begin(sampling);
        }
    }
    wants_socket || back_channel == Some(true)
}

/// Opens the ring file, if there is to be one.
// A function of its own, because paths take much of a stack.
#[inline(never)]
fn begin_image(configured: Option<&Path>) {
    let begin = |pattern: &[u8]| {
        if pattern.is_empty() {
            return false;
        }
        let mut path = Buffer::new();
        let path = mapping::path(pattern, &mut path);
        if path.is_none() {
            let len = pattern.len();
            sys::report(
                Notice::RingFailed,
                format_args!("a path of {len} bytes for the ring file, expected at most 1,023"),
            );
        }
        mapping::begin(path);
        true
    };
    let configured = configured.map(|path| path.as_os_str().as_encoded_bytes());
    let has_begun = sys::with_env(c"TELEMETRY_RING", begin).unwrap_or(false) || configured.is_some_and(begin);
    if !has_begun {
        mapping::begin(None);
    }
}

/// Returns how the configuration has threads sampled.
fn configured_sampling(config: Option<&Config>) -> Option<Sampling> {
    let words = config.and_then(|config| config.sampling.as_deref())?;
    let found = Sampling::parse(words);
    if found.is_none() && !STARTED_BEFORE.load(Ordering::Relaxed) {
        let (found, expected) = (Shown(words.as_bytes()), sampling::EXPECTED);
        let text = format_args!("`Config::sampling` is `{found}`, expected {expected}");
        sys::report(Notice::InvalidSetting, text);
    }
    found.flatten()
}

fn policy_of(text: &str) -> Option<Policy> {
    match text.split_once(':') {
        None if text == "drop" => Some(Policy::DropNewest),
        None if text == "overwrite" => Some(Policy::OverwriteOldest),
        None if text == "wait" => Some(Policy::Wait(DEFAULT_WAIT)),
        Some(("wait", longest)) => seconds(longest).map(Policy::Wait),
        _ => None,
    }
}

/// Parses the interval of samples; zero is `off`.
fn interval(text: &str) -> Option<Duration> {
    if text == "off" { Some(Duration::ZERO) } else { seconds(text).filter(|interval| !interval.is_zero()) }
}

fn on_or_off(text: &str) -> Option<bool> {
    match text {
        "on" | "1" => Some(true),
        "off" | "0" => Some(false),
        _ => None,
    }
}

fn allow_or_refuse(text: &str) -> Option<bool> {
    match text {
        "allow" => Some(true),
        "refuse" => Some(false),
        _ => None,
    }
}

/// Writes everything that was recorded, at the end of the process.
extern "C" fn at_exit() {
    // A forked child that continues without telemetry. Its memory has the events of its parent, and
    // locks of threads that it does not have.
    if state::is_over() || state::is_of_parent() {
        return;
    }
    warn();
    sampling::warn();
    sample();
    list::finish_telling();
    triggers::warn();
    actions::finish();
    control::end();
    drain::finish();
    losses::report();
    let _control = control::hold();
    if image::end(counters().retained > 0, strays()) {
        socket::remove_link();
    }
    socket::end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_words_and_times() {
        let policy = |text, expected| assert_eq!(policy_of(text), expected, "{text}");
        policy("drop", Some(Policy::DropNewest));
        policy("overwrite", Some(Policy::OverwriteOldest));
        policy("wait", Some(Policy::Wait(DEFAULT_WAIT)));
        policy("wait:0.5", Some(Policy::Wait(Duration::from_millis(500))));
        for text in ["", "wait:", "wait:x", "drop:1", "overwrite:1", "never"] {
            policy(text, None);
        }
        let sample = |text, expected| assert_eq!(interval(text), expected, "{text}");
        sample("off", Some(Duration::ZERO));
        sample("0.5", Some(Duration::from_millis(500)));
        for text in ["0", "", "on", "-1"] {
            sample(text, None);
        }
        for (text, expected) in
            [("on", Some(true)), ("1", Some(true)), ("off", Some(false)), ("0", Some(false)), ("yes", None)]
        {
            assert_eq!(on_or_off(text), expected, "{text}");
        }
        for (text, expected) in [("allow", Some(true)), ("refuse", Some(false)), ("on", None), ("", None)] {
            assert_eq!(allow_or_refuse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_configuration_may_have_threads_sampled() {
        let check = |config: Option<Config>, expected: Option<bool>| {
            let found = configured_sampling(config.as_ref());
            assert_eq!(found.map(|sampling| sampling.is_cpu), expected);
        };
        check(None, None);
        check(Some(Config::new()), None);
        check(Some(Config::new().sampling("off")), None);
        check(Some(Config::new().sampling("cpu:100")), Some(true));
        check(Some(Config::new().sampling("wall:100")), Some(false));
    }
}
