//! The way out: sealed blocks, and the committed prefixes of open ones, go to the sinks.
//!
//! One pass at a time, under a lock: by the drain's own thread, or by whoever flushes.

use core::cell::Cell;
use core::ptr::null_mut;
use std::io;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::bell::Bell;
use crate::counters::SinkCounters;
use crate::output::Selection;
use crate::outputs::{self, Outputs};
use crate::pool::POOL;
use crate::sink::Sink;
use crate::sinks::File;
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use crate::{control, panic, start, sys};

/// The drain's thread has been started.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// Has the drain's thread sleep, and wakes it.
static BELL: Bell = Bell::new();
/// Who holds this makes a pass.
static OUTPUTS: Mutex<Outputs> = Mutex::new(Outputs::NONE);

/// How long a flush waits for the pass of another thread.
const PATIENCE: Duration = Duration::from_secs(10);

std::thread_local! {
    /// This thread makes a pass: it must not wait for one.
    static PASSES: Cell<bool> = const { Cell::new(false) };
}

/// The number of a sink in use, see [`add_sink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SinkId(u32);

/// Writes what all threads have recorded so far to the sinks, and returns when it is written; of a sink whose
/// reader is slow, a pipe or a socket, after a second at most.
///
/// Not for signal handlers: it takes a lock and allocates.
pub fn flush() {
    let_forks_go();
    if let Some(mut outputs) = lock(PATIENCE) {
        outputs.pass(true);
        sys::wait(Duration::from_secs(1), || outputs.flush());
    }
}

/// Writes everything that is in memory as a stream to a file, made anew: what the flight recorder keeps, and
/// what waits for the sinks, which will get it all the same.
///
/// Not for signal handlers: it takes a lock and allocates.
///
/// # Errors
/// The file cannot be written.
pub fn snapshot(path: impl AsRef<Path>) -> io::Result<()> {
    snapshot_to(File::new(path.as_ref()))
}

/// As [`snapshot`], to any sink.
///
/// # Errors
/// The sink took nothing, or not all.
pub fn snapshot_to(sink: impl Sink + 'static) -> io::Result<()> {
    start::ensure();
    let Some(_outputs) = lock(PATIENCE) else {
        return Err(io::Error::other("the runtime is not running, or a sink holds it up"));
    };
    outputs::snapshot(Box::new(sink))
}

/// Adds a sink. With `None` it gets the kinds that [`crate::set`] names, as the first sink does; with
/// words, the kinds that have an event which they name, recorded from now on for that.
///
/// Blocks that are open now come along from their beginning. What a sink of a kind gets, it gets whole,
/// whichever of the kind's events are on for other reasons.
///
/// `None` if nothing was added: the runtime is over, or a sink that hangs has held up a pass for ten seconds.
pub fn add_sink(words: Option<&str>, sink: impl Sink + 'static) -> Option<SinkId> {
    start::ensure();
    let selection = match words {
        None => Selection::Control,
        Some(words) => Selection::Own(Box::new(control::Words::of(words))),
    };
    let mut outputs = lock(PATIENCE)?;
    let id = outputs.add(Box::new(sink), selection);
    drop(outputs);
    if let Some(words) = words {
        control::add(id, words);
    }
    begin();
    Some(SinkId(id))
}

/// Takes a sink out of use, after a last pass. It is dropped.
pub fn remove_sink(id: SinkId) {
    control::remove(id.0);
    let sink = lock(PATIENCE).and_then(|mut outputs| {
        outputs.pass(true);
        outputs.flush();
        outputs.remove(id.0)
    });
    // Not under the lock: it may be the program's.
    drop(sink);
}

/// What each sink has taken and lost, in the order in which they were added.
pub fn sink_counters() -> Vec<SinkCounters> {
    lock(PATIENCE).map(|outputs| outputs.counters()).unwrap_or_default()
}

/// Starts the drain's thread if it does not run yet.
pub(crate) fn begin() {
    if !BEGUN.swap(true, Ordering::Relaxed) && !sys::spawn(main, null_mut()) {
        sys::complain(format_args!(
            "cannot start the drain's thread; events are written by flush and at exit"
        ));
    }
}

/// Has the drain look at once.
pub(crate) fn wake() {
    BELL.ring();
}

/// True if this thread makes a pass, so that a wait for memory would be for itself.
pub(crate) fn is_passing() -> bool {
    PASSES.with(Cell::get)
}

/// A pass in a thread of its own, for one that panics and may not again, as a sink of the program's might: that
/// would abort the process. It is waited for, for a while: the sink may need a lock that the panic holds.
pub(crate) fn flush_in_panic() {
    fn pass() {
        if let Some(mut outputs) = lock(Duration::from_secs(1)) {
            outputs.pass(true);
            outputs.flush();
        }
    }
    // A pass that panics cannot wait for another, and without a runtime there is nothing to write.
    if is_passing() || !start::is_running() {
        return;
    }
    let (done, is_done) = channel();
    let thread = std::thread::Builder::new().name("telemetry-panic".into()).spawn(move || {
        panic::only_tell();
        pass();
        // Who waits may have given up.
        let _ = done.send(());
    });
    match thread {
        Ok(_) => _ = is_done.recv_timeout(PATIENCE),
        Err(_) => pass(),
    }
}

/// Lets forks go first, for a moment.
fn let_forks_go() {
    for _ in 0..100 {
        if FORKS.load(Ordering::Relaxed) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The last pass, at the end of the process. None comes after it.
pub(crate) fn finish() {
    let ended = lock(PATIENCE).map(|mut outputs| {
        outputs.pass(true);
        outputs.end()
    });
    start::end();
    // Not under the lock, and some wait for a slow reader.
    drop(ended);
}

/// The right to make passes.
pub(crate) struct Guard(MutexGuard<'static, Outputs>);

impl Guard {
    /// In the child of a fork: the sinks begin anew, or are forgotten.
    pub(crate) fn forget(mut self) {
        self.0.in_child();
        BEGUN.store(false, Ordering::Relaxed);
        BELL.reset();
    }
}

impl core::ops::Deref for Guard {
    type Target = Outputs;

    fn deref(&self) -> &Outputs {
        &self.0
    }
}

impl core::ops::DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Outputs {
        &mut self.0
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        PASSES.with(|passes| passes.set(false));
    }
}

/// Threads that want to fork. Others let them, so that the child's telemetry can go on.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The lock of the passes, for a fork.
pub(crate) fn lock_for_fork(patience: Duration) -> Option<Guard> {
    FORKS.fetch_add(1, Ordering::Relaxed);
    let guard = lock(patience);
    FORKS.fetch_sub(1, Ordering::Relaxed);
    guard
}

/// The lock of the passes. Nothing if the runtime is not running, or if it cannot be had in time: by a
/// thread, say, that was interrupted inside a pass and calls `exit` in its signal handler.
pub(crate) fn lock(patience: Duration) -> Option<Guard> {
    let since = Instant::now();
    while start::is_running() && !is_passing() {
        let mut guard = match OUTPUTS.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) if since.elapsed() > patience => return None,
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_micros(100));
                continue;
            }
        };
        // Who had it may have been the last.
        if !start::is_running() {
            return None;
        }
        PASSES.with(|passes| passes.set(true));
        guard.begin();
        return Some(Guard(guard));
    }
    None
}

extern "C" fn main(_: *mut core::ffi::c_void) -> *mut core::ffi::c_void {
    sys::stay_loaded();
    panic::begin();
    crate::socket::begin();
    let latency = start::latency() * 3 / 4;
    let mut swept = Instant::now();
    while !start::is_over() {
        let rest = latency.saturating_sub(swept.elapsed());
        if !rest.is_zero() {
            BELL.wait(rest);
        }
        // Before the look: a lane that hands over after it wakes us again.
        BELL.answer();
        let sweep = swept.elapsed() >= latency || POOL.is_crowded();
        let_forks_go();
        let mut gone = Vec::new();
        if let Some(mut outputs) = lock(PATIENCE) {
            // First: nothing is lost for a sink that nobody reads any more.
            gone = outputs.gone();
            gone.iter().for_each(|output| control::remove(output.id));
            outputs.pass(sweep);
            if sweep {
                outputs.flush();
            }
        }
        drop(gone);
        if sweep {
            swept = Instant::now();
            control::warn();
        }
    }
    null_mut()
}
