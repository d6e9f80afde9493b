//! Writes sealed blocks and the committed parts of open ones to the sinks.
//!
//! One thread makes a pass at a time, under a lock: the drain's thread, or a thread that flushes.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::control::switches as control;
use crate::count::list;
use crate::drain::outputs::{Outputs, Snapshot};
use crate::drain::selection::Selection;
use crate::own::registry as own;
use crate::own::sample::sample;
use crate::run::state;
use crate::run::wake;
use crate::sinks::backlog::end as end_sinks;
use crate::sinks::file::File;
use crate::sinks::sink::Sink;
use crate::store::counters::SinkCounters;
use crate::sys;
use crate::sys::atomic::{AtomicU32, Ordering};

/// The lock for making a pass.
static OUTPUTS: Mutex<Outputs> = Mutex::new(Outputs::NONE);

/// How long a flush waits for the pass of another thread.
pub(crate) const PASS_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a flush waits for a slow reader.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of a sink in use, see [`add_sink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SinkId(u32);

/// Writes what all threads have recorded so far to the sinks, and returns when it is written.
///
/// Returns false if that takes too long. The reader of a pipe or a socket may be slow for one
/// second, or a sink may delay all others for ten. Also returns false if the runtime is not
/// running.
///
/// Not for signal handlers: it takes a lock and allocates.
pub fn flush() -> bool {
    if state::is_running() {
        list::tell_left_out();
    }
    yield_to_forks();
    match lock(PASS_TIMEOUT) {
        Some(mut outputs) => outputs.pass(true),
        None => return false,
    }
    // Other threads may make passes during the wait for a reader.
    let mut is_done = false;
    sys::wait(FLUSH_TIMEOUT, || {
        let outputs = lock(PASS_TIMEOUT);
        let is_over = outputs.is_none();
        is_done = outputs.is_some_and(|mut outputs| outputs.flush());
        is_done || is_over
    });
    is_done
}

/// Writes everything in memory as a stream to a new file. This includes what the flight recorder
/// retains, and what waits for the sinks, which still get it.
///
/// Copies it first, which takes as much memory again, at most that of the pool. Sinks wait only for
/// the copy, however slow the file is.
///
/// Not for signal handlers: it takes a lock and allocates.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn snapshot(path: impl AsRef<Path>) -> io::Result<()> {
    snapshot_to(File::new(path.as_ref()))
}

/// Does the same as [`snapshot`], with any sink.
///
/// # Errors
/// Returns an error if the sink did not take everything.
pub fn snapshot_to(sink: impl Sink + 'static) -> io::Result<()> {
    own::ensure();
    sample();
    let snapshot = match lock(PASS_TIMEOUT) {
        Some(outputs) => Snapshot::take(&outputs)?,
        None => return Err(held_up()),
    };
    snapshot.write(Box::new(sink))
}

/// Adds a sink. It gets the kinds that [`crate::set`] names, as the first sink does.
///
/// The sink gets open blocks from their beginning.
///
/// # Errors
/// Returns an error if the runtime is not running, or if another sink has delayed a pass for ten
/// seconds.
pub fn add_sink(sink: impl Sink + 'static) -> io::Result<SinkId> {
    own::ensure();
    add(None, |outputs| outputs.add(Box::new(sink), Selection::of(None))).ok_or_else(held_up)
}

/// Adds a sink for the kinds that have an event which the words name. From now on these events are
/// recorded.
///
/// A sink gets all recorded events of its kinds, for whatever reason they are recorded. Its stream
/// states the words as the fact `sink_words`.
///
/// # Errors
/// The same as for [`add_sink`].
pub fn add_sink_for(words: &str, sink: impl Sink + 'static) -> io::Result<SinkId> {
    own::ensure();
    add(Some(words), |outputs| outputs.add(Box::new(sink), Selection::of(Some(words)))).ok_or_else(held_up)
}

fn held_up() -> io::Error {
    io::Error::other("the runtime is not running, or a sink delays it")
}

/// Adds the sink of a client, which nothing waits for.
#[cfg(all(unix, not(miri)))]
pub(crate) fn add_client(words: Option<&str>, sink: impl Sink + 'static) -> Option<SinkId> {
    add(words, |outputs| outputs.add_client(Box::new(sink), Selection::of(words)))
}

fn add(words: Option<&str>, add: impl FnOnce(&mut Outputs) -> u32) -> Option<SinkId> {
    let mut outputs = lock(PASS_TIMEOUT)?;
    let id = add(&mut outputs);
    drop(outputs);
    if let Some(words) = words {
        control::add(id, words);
    }
    own::begin_drain();
    Some(SinkId(id))
}

/// Removes a sink after a last pass, and drops it. Returns its counters if it was in use.
pub fn remove_sink(id: SinkId) -> Option<SinkCounters> {
    control::remove(id.0);
    let removed = lock(PASS_TIMEOUT).and_then(|mut outputs| {
        outputs.pass(true);
        outputs.flush();
        outputs.remove(id.0)
    });
    // The sink is dropped without the lock: the program may have written it, and it may wait for
    // its reader.
    removed.map(|output| output.counters())
}

/// Returns what each sink has taken and lost, in the order in which they were added.
pub fn sink_counters() -> Vec<SinkCounters> {
    lock(PASS_TIMEOUT).map(|outputs| outputs.counters()).unwrap_or_default()
}

/// Lets forks go first, for a moment.
pub(crate) fn yield_to_forks() {
    for _ in 0..100 {
        if FORKS.load(Ordering::Relaxed) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Makes the last pass, at the end of the process.
pub(crate) fn finish() {
    let ended = lock(PASS_TIMEOUT).map(|mut outputs| {
        outputs.pass(true);
        outputs.end()
    });
    state::end();
    // Without the lock. Some of them wait for a slow reader, but all together no longer than one.
    end_sinks();
    drop(ended);
}

/// The right to make passes.
pub(crate) struct Guard(MutexGuard<'static, Outputs>);

impl Guard {
    /// Restarts or forgets the sinks, in the child of a fork.
    pub(crate) fn forget(mut self) {
        self.0.in_child();
        wake::BELL.reset();
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
        wake::set_passing(false);
    }
}

/// Number of threads that want to fork. Passes let them go first, so that the child's telemetry can
/// continue.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Takes the lock of the passes, before a fork.
pub(crate) fn lock_for_fork(patience: Duration) -> Option<Guard> {
    FORKS.fetch_add(1, Ordering::Relaxed);
    let guard = lock(patience);
    FORKS.fetch_sub(1, Ordering::Relaxed);
    guard
}

/// Takes the lock of the passes. Returns `None` if the runtime is not running in this process, or
/// if the lock is not free in time. A signal handler may have interrupted a pass and called `exit`,
/// for example.
pub(crate) fn lock(patience: Duration) -> Option<Guard> {
    if state::is_of_parent() {
        // The sinks are those of the parent, which writes what is recorded.
        return None;
    }
    let since = Instant::now();
    while state::is_running() && !wake::is_passing() {
        let mut guard = match OUTPUTS.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) if since.elapsed() > patience => return None,
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_micros(100));
                continue;
            }
        };
        // The previous owner may have made the last pass.
        if !state::is_running() {
            return None;
        }
        wake::set_passing(true);
        guard.begin();
        return Some(Guard(guard));
    }
    None
}
