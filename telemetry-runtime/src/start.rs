//! The runtime's beginning, at the first event or call, and its end.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{self, Moment};
use crate::pool::POOL;
use crate::sync::{AtomicU8, AtomicU64, Ordering};
use crate::thread::Inside;
use crate::{control, drain, sys};

/// How a program wants its telemetry, where the environment does not say otherwise.
///
/// ```
/// use telemetry_runtime::Config;
///
/// # let path = std::env::temp_dir().join("telemetry-doc.tel");
/// Config::new().filename(path).control("all").start();
/// ```
///
/// Every setting has an environment variable, which wins: whoever runs a program has the last word.
#[derive(Debug, Clone, Default)]
pub struct Config {
    filename: Option<PathBuf>,
    control: Option<String>,
    buffer: Option<usize>,
    latency: Option<Duration>,
}

impl Config {
    /// All defaults.
    pub fn new() -> Self {
        Config::default()
    }

    /// The file that the stream goes to, made anew. `TELEMETRY_FILENAME`; `telemetry.tel` in the
    /// working directory by default.
    pub fn filename(mut self, path: impl Into<PathBuf>) -> Self {
        self.filename = Some(path.into());
        self
    }

    /// What is on at first, see [`crate::set`]. `TELEMETRY_CONTROL`; nothing by default.
    pub fn control(mut self, words: impl Into<String>) -> Self {
        self.control = Some(words.into());
        self
    }

    /// Bytes of the pool that all blocks come from, rounded up to 64 KiB. `TELEMETRY_BUFFER`, a
    /// number of bytes or with the suffix `k`, `M` or `G`; 16 MiB by default. Pages that are never
    /// needed cost nothing.
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = Some(bytes);
        self
    }

    /// How long an event may stay in memory before it is written, from 1 ms. `TELEMETRY_LATENCY`,
    /// in seconds; 1 s by default.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = Some(latency);
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
        ensure()
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
const DEFAULT_BUFFER: usize = 16 << 20;

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
    for _ in 0..10_000 {
        match STATE.load(Ordering::Acquire) {
            STARTING => sys::yield_now(),
            state => return state == READY,
        }
    }
    false
}

/// Does not allocate: the first event may come from inside the program's allocator.
fn start() {
    clock::init();
    let moment = clock::now();
    START_TICKS.store(moment.ticks, Ordering::Relaxed);
    START_WALL.store(moment.wall, Ordering::Relaxed);
    SESSION.store(sys::random(), Ordering::Relaxed);
    let mut text = [0; 64];
    let mut config = CONFIG.try_lock().ok();
    let mut config = config.as_mut().and_then(|config| config.as_mut());
    let buffer = sys::env(c"TELEMETRY_BUFFER", &mut text).and_then(bytes);
    // What cannot be had in full may be had in part; without any memory all events are counted lost.
    let mut buffer =
        buffer.or(config.as_ref().and_then(|config| config.buffer)).unwrap_or(DEFAULT_BUFFER).min(1 << 40);
    while !POOL.init(buffer) && buffer > 1 << 16 {
        buffer /= 2;
    }
    control::begin(config.as_mut().and_then(|config| config.control.take()));
    sys::at_process_exit(at_exit, in_child);
}

/// A number of bytes with an optional suffix.
fn bytes(text: &str) -> Option<usize> {
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

/// The file that the stream goes to.
pub fn filename() -> PathBuf {
    let set = std::env::var_os("TELEMETRY_FILENAME").filter(|name| !name.is_empty()).map(PathBuf::from);
    set.or_else(|| config(|config| config.filename.clone())).unwrap_or_else(|| DEFAULT_FILENAME.into())
}

/// How long an event may stay in memory.
pub(crate) fn latency() -> Duration {
    let set = std::env::var("TELEMETRY_LATENCY").ok().and_then(|text| text.trim().parse::<f64>().ok());
    let set = set.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let latency = set.or_else(|| config(|config| config.latency)).unwrap_or(Duration::from_secs(1));
    latency.clamp(Duration::from_millis(1), Duration::from_secs(3600))
}

fn config<T>(get: impl Fn(&Config) -> Option<T>) -> Option<T> {
    CONFIG.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(get)
}

/// The end of the process: all that was recorded goes out.
extern "C" fn at_exit() {
    control::end();
    drain::finish();
}

/// The child of a fork has the parent's memory, but not its drain, whose lock may be held for ever:
/// what is in the blocks is the parent's to write, and what the child would record nobody would take.
extern "C" fn in_child() {
    end();
    control::end();
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
