//! The runtime's beginning, at the first event or call, and its end.

use core::ffi::CStr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{self, Moment};
use crate::counters::counters;
use crate::pool::POOL;
use crate::sink::Sink;
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::text::{Buffer, Shown};
use crate::thread::Inside;
use crate::{control, debugger, drain, fork, image, labels, outputs, panic, sinks, socket, sys};

/// How a program wants its telemetry, where the environment does not say otherwise.
///
/// ```
/// use telemetry_runtime::Config;
///
/// # let path = std::env::temp_dir().join("telemetry-doc.tel");
/// Config::new().filename(path).control("all").start();
/// ```
///
/// Every setting has an environment variable, which wins: whoever runs a program has the last word. The
/// variables are read once, at the start; a value that cannot be understood counts as none. One has no method
/// here: `TELEMETRY_CLOCK`, `os` for the system's clock in place of the cycle counter.
#[derive(Default)]
pub struct Config {
    filename: Option<PathBuf>,
    sink: Option<Box<dyn Sink>>,
    control: Option<String>,
    record: Option<String>,
    buffer: Option<usize>,
    latency: Option<Duration>,
    policy: Option<Policy>,
    ring: Option<String>,
    socket: Option<bool>,
    traceback: Option<usize>,
}

/// What becomes of an event that finds the pool dry. What the flight recorder keeps is recycled first,
/// whatever the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// It is dropped.
    #[default]
    DropNewest,
    /// It takes the place of the oldest block that no sink has taken, whose events are then lost.
    OverwriteOldest,
    /// Its thread waits for memory, at most so long, from 1 µs to an hour; then the event is dropped. Never
    /// the drain's thread, which instead waits as long for a sink whose reader is slow.
    Wait(Duration),
}

impl Config {
    /// All defaults.
    pub fn new() -> Self {
        Config::default()
    }

    /// The file that the stream goes to, made anew with the first block, or any other address that
    /// [`sinks::open`](crate::sinks::open) takes. `TELEMETRY_FILENAME`; `telemetry.tel` in the working directory by
    /// default.
    pub fn filename(mut self, path: impl Into<PathBuf>) -> Self {
        self.filename = Some(path.into());
        self
    }

    /// Where the stream goes instead of a file. Further ones: [`crate::add_sink`]. If `TELEMETRY_FILENAME` is
    /// set, that is where the stream goes all the same.
    pub fn sink(mut self, sink: impl Sink + 'static) -> Self {
        self.sink = Some(Box::new(sink));
        self
    }

    /// What is output at first, see [`crate::set`]. `TELEMETRY_CONTROL`, at most 4 kB of words; nothing by
    /// default.
    pub fn control(mut self, words: impl Into<String>) -> Self {
        self.control = Some(words.into());
        self
    }

    /// What is recorded at first whether or not it is output, see [`crate::set_record`]. `TELEMETRY_RECORD`;
    /// nothing by default.
    pub fn record(mut self, words: impl Into<String>) -> Self {
        self.record = Some(words.into());
        self
    }

    /// Bytes of the pool that all blocks come from, rounded up to 64 KiB. `TELEMETRY_BUFFER`, a
    /// number of bytes or with the suffix `k`, `M` or `G`; 16 MiB by default. Pages that are never
    /// needed cost nothing. A thread takes at least 4 KiB for each kind that it records events of.
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = Some(bytes);
        self
    }

    /// How long an event that is output may stay in memory before it is written, from 1 ms to an hour.
    /// `TELEMETRY_LATENCY`, in seconds; 1 s by default.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = Some(latency);
        self
    }

    /// What becomes of events while the pool is dry. `TELEMETRY_POLICY`: `drop`, the default, `overwrite`, or
    /// `wait:` and a number of seconds.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// A file that the pool is a shared mapping of, so that nothing that was recorded is lost when the process
    /// is killed; `telemetry recover` reads it. `%p` in the path, which has at most 1023 bytes, stands for the
    /// number of the process. `TELEMETRY_RING`; none by default. Unix only.
    ///
    /// Room for the pool, and 64 KiB for session and registries, is reserved in the file at the start. If there is none, standard error says so, and the
    /// process goes on without. If another process has the file, or another copy of the runtime (a shared
    /// library's), this ring is `NAME.PID`, which is said, too. The ring of an earlier run that was killed is kept
    /// under the name with `.old` behind; a file that is no ring is left alone, and the process goes on without one.
    /// At the end of the process the file goes, unless events are in it that no sink has.
    pub fn ring(mut self, path: impl Into<String>) -> Self {
        self.ring = Some(path.into());
        self
    }

    /// True if the process shall have its control socket from now on, and not only once it records anything;
    /// false for none. `TELEMETRY_SOCKET`: `on`, `off`, or for `on` a directory in place of `/tmp/telemetry-UID`,
    /// a path with a `/`. Unix only.
    pub fn socket(mut self, on: bool) -> Self {
        self.socket = Some(on);
        self
    }

    /// How many of its last events a thread that panics tells on standard error, behind the message of the
    /// panic, at most [`Traceback::MOST`](crate::Traceback::MOST). `TELEMETRY_TRACEBACK`; none by default.
    pub fn traceback(mut self, events: usize) -> Self {
        self.traceback = Some(events);
        self
    }

    /// Starts the runtime with this configuration. False, and nothing is changed, if it has started
    /// already, at an earlier call or event.
    pub fn start(self) -> bool {
        let mut config = CONFIG.lock().unwrap_or_else(PoisonError::into_inner);
        if STATE.load(Ordering::Acquire) != NEW {
            return false;
        }
        *config = Some(self);
        drop(config);
        let started = ensure();
        panic::begin();
        started
    }
}

const NEW: u8 = 0;
const STARTING: u8 = 1;
const READY: u8 = 2;
const OVER: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(NEW);
static SESSION: AtomicU64 = AtomicU64::new(0);
static START_TICKS: AtomicU64 = AtomicU64::new(0);
static START_WALL: AtomicU64 = AtomicU64::new(0);
static CONFIG: Mutex<Option<Config>> = Mutex::new(None);

/// The file that the stream goes to if nobody says otherwise.
const DEFAULT_FILENAME: &str = "telemetry.tel";
const DEFAULT_LATENCY: Duration = Duration::from_secs(1);
const DEFAULT_BUFFER: usize = 16 << 20;
/// A terabyte, or a gigabyte where addresses have 32 bits.
const MAX_BUFFER: usize = match 1_usize.checked_shl(40) {
    Some(bytes) => bytes,
    None => 1 << 30,
};

/// Starts the runtime unless it is running. False once it is over, or while the code that this
/// interrupts starts it.
pub(crate) fn ensure() -> bool {
    match STATE.load(Ordering::Acquire) {
        READY => true,
        OVER => false,
        _ => begin(),
    }
}

#[cold]
fn begin() -> bool {
    let Some(_inside) = Inside::enter() else { return false };
    if STATE.compare_exchange(NEW, STARTING, Ordering::Acquire, Ordering::Acquire).is_ok() {
        start();
        STATE.store(READY, Ordering::Release);
        return true;
    }
    // Another thread starts it, which may take some milliseconds: the ring file's room is reserved.
    sys::wait(Duration::from_secs(5), || STATE.load(Ordering::Acquire) != STARTING);
    STATE.load(Ordering::Acquire) == READY
}

/// Does not allocate: the first event may come from inside the program's allocator.
fn start() {
    clock::init();
    let moment = clock::now();
    START_TICKS.store(moment.ticks, Ordering::Relaxed);
    START_WALL.store(moment.wall, Ordering::Relaxed);
    SESSION.store(sys::random(), Ordering::Relaxed);
    let mut config = CONFIG.try_lock().ok();
    let config = config.as_mut().and_then(|config| config.as_mut());
    let policy = setting(c"TELEMETRY_POLICY", "`drop`, `overwrite` or `wait:SECONDS`", policy_of);
    set_policy(policy.or(config.as_ref().and_then(|config| config.policy)).unwrap_or_default());
    let latency = setting(c"TELEMETRY_LATENCY", "a number of seconds, 0.001 to 3600", seconds);
    set_latency(latency.or(config.as_ref().and_then(|config| config.latency)));
    let traceback = setting(c"TELEMETRY_TRACEBACK", "a number of events", |text| text.parse().ok());
    panic::set_traceback(traceback.or(config.as_ref().and_then(|config| config.traceback)).unwrap_or(0));
    debugger::keep();
    let sizes = "a number of bytes, such as `65536`, `64k` or `16M`";
    let buffer = setting(c"TELEMETRY_BUFFER", sizes, bytes);
    // The ring's link is in the directory of sockets.
    let wants_socket = socket::prepare(config.as_ref().and_then(|config| config.socket));
    begin_image(config.as_ref().and_then(|config| config.ring.as_deref()));
    // What cannot be had in full may be had in part; without any memory all events are counted lost.
    let mut buffer =
        buffer.or(config.as_ref().and_then(|config| config.buffer)).unwrap_or(DEFAULT_BUFFER).min(MAX_BUFFER);
    while !POOL.init(buffer) && buffer > 1 << 16 {
        buffer /= 2;
    }
    labels::begin();
    image::keep_session();
    let words = config.as_ref();
    control::begin(
        words.and_then(|config| config.control.as_deref()),
        words.and_then(|config| config.record.as_deref()),
    );
    // A forked child has the handlers already.
    if !HANDLERS.swap(true, Ordering::Relaxed) {
        sys::at_process_exit(at_exit);
        fork::begin();
    }
    if wants_socket {
        drain::begin();
    }
}

/// What a variable of the environment says, if it is set to anything. What cannot be understood is reported, by
/// the first process of a family. Does not allocate.
pub(crate) fn setting<T>(name: &CStr, expected: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    text_setting(name, expected, |text| {
        let text = text.trim();
        if text.is_empty() { Some(None) } else { read(text).map(Some) }
    })
    .flatten()
}

/// The same of a variable that may be set to nothing, too.
pub(crate) fn text_setting<T>(
    name: &CStr,
    expected: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    sys::with_env(name, |bytes| {
        let found = core::str::from_utf8(bytes).ok().and_then(read);
        if found.is_none() && !HANDLERS.load(Ordering::Relaxed) {
            let (name, found) = (Shown(name.to_bytes()), Shown(bytes.trim_ascii()));
            sys::complain(format_args!("{name} is `{found}`, expected {expected}"));
        }
        found
    })?
}

/// Has memory be of the ring file, if there shall be one.
// Apart: paths take much of a stack.
#[inline(never)]
fn begin_image(configured: Option<&str>) {
    let begin = |pattern: &[u8]| {
        if pattern.is_empty() {
            return false;
        }
        let mut path = Buffer::new();
        let path = image::path(pattern, &mut path);
        if path.is_none() {
            let len = pattern.len();
            sys::complain(format_args!("a path of {len} bytes for the ring file, expected at most 1023"));
        }
        image::begin(path);
        true
    };
    let configured = configured.map(str::as_bytes);
    let has_begun = sys::with_env(c"TELEMETRY_RING", begin).unwrap_or(false) || configured.is_some_and(begin);
    if !has_begun {
        image::begin(None);
    }
}

/// Handlers of the end and of forks are set.
static HANDLERS: AtomicBool = AtomicBool::new(false);

/// The policy: 0 drops, 1 overwrites, beyond that is 2 more than the nanoseconds to wait.
static POLICY: AtomicU64 = AtomicU64::new(0);

/// What becomes of events while the pool is dry.
pub(crate) fn policy() -> Policy {
    match POLICY.load(Ordering::Relaxed) {
        0 => Policy::DropNewest,
        1 => Policy::OverwriteOldest,
        wait => Policy::Wait(Duration::from_nanos(wait - 2)),
    }
}

fn set_policy(policy: Policy) {
    let number = match policy {
        Policy::DropNewest => 0,
        Policy::OverwriteOldest => 1,
        Policy::Wait(longest) => {
            2 + longest.clamp(Duration::from_micros(1), Duration::from_secs(3600)).as_nanos() as u64
        }
    };
    POLICY.store(number, Ordering::Relaxed);
}

fn policy_of(text: &str) -> Option<Policy> {
    match text.split_once(':') {
        None if text == "drop" => Some(Policy::DropNewest),
        None if text == "overwrite" => Some(Policy::OverwriteOldest),
        Some(("wait", longest)) => seconds(longest).map(Policy::Wait),
        _ => None,
    }
}

/// A number of seconds.
fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// A number of bytes with an optional suffix.
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

/// Number of this run.
pub(crate) fn session() -> u64 {
    SESSION.load(Ordering::Relaxed)
}

/// When this run began.
pub(crate) fn moment() -> Moment {
    Moment { ticks: START_TICKS.load(Ordering::Relaxed), wall: START_WALL.load(Ordering::Relaxed) }
}

/// True between the start and the end.
pub(crate) fn is_running() -> bool {
    STATE.load(Ordering::Acquire) == READY
}

/// Nothing is recorded or written any more.
pub(crate) fn end() {
    STATE.store(OVER, Ordering::Release);
}

/// True once nothing is recorded any more.
pub(crate) fn is_over() -> bool {
    STATE.load(Ordering::Acquire) == OVER
}

/// Where the stream goes: the configuration's sink, unless the environment names a file.
pub(crate) fn sink() -> Box<dyn Sink> {
    let named = std::env::var_os("TELEMETRY_FILENAME").is_some_and(|name| !name.is_empty());
    let configured =
        CONFIG.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|config| config.sink.take());
    configured.filter(|_| !named).unwrap_or_else(|| sinks::open_or_refuse(filename()))
}

/// The file that the stream goes to.
pub fn filename() -> PathBuf {
    let set = std::env::var_os("TELEMETRY_FILENAME").filter(|name| !name.is_empty()).map(PathBuf::from);
    set.or_else(|| config(|config| config.filename.clone())).unwrap_or_else(|| DEFAULT_FILENAME.into())
}

/// Nanoseconds that an event may stay in memory; 0 before the start.
static LATENCY: AtomicU64 = AtomicU64::new(0);

fn set_latency(latency: Option<Duration>) {
    let latency = latency.unwrap_or(DEFAULT_LATENCY);
    let latency = latency.clamp(Duration::from_millis(1), Duration::from_secs(3600));
    LATENCY.store(latency.as_nanos() as u64, Ordering::Relaxed);
}

/// How long an event may stay in memory.
pub(crate) fn latency() -> Duration {
    match LATENCY.load(Ordering::Relaxed) {
        0 => DEFAULT_LATENCY,
        latency => Duration::from_nanos(latency),
    }
}

pub(crate) fn config<T>(get: impl Fn(&Config) -> Option<T>) -> Option<T> {
    CONFIG.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(get)
}

/// The end of the process: all that was recorded goes out.
extern "C" fn at_exit() {
    control::warn();
    control::end();
    drain::finish();
    let _control = control::hold();
    image::end(counters().held > 0, outputs::strays());
    socket::end();
}

/// The lock of the configuration, for a fork: a child could not wait for another thread's.
pub(crate) fn hold() -> Option<MutexGuard<'static, Option<Config>>> {
    let mut held = None;
    sys::wait(Duration::from_millis(100), || {
        held = CONFIG.try_lock().ok();
        held.is_some()
    });
    held
}

/// In the child of a fork: as before the first event.
pub(crate) fn begin_anew() {
    STATE.store(NEW, Ordering::Release);
}

#[cfg(test)]
mod tests {
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
