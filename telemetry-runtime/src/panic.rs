//! What a panic does before it unwinds or aborts: tells the thread's last events, if that is wished, and
//! has everything written.

use core::cell::Cell;
use std::panic::PanicHookInfo;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::raw_file::RawFile;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use crate::traceback::Traceback;
use crate::{drain, sys};

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Events of a traceback; 0 for none.
static EVENTS: AtomicUsize = AtomicUsize::new(0);
/// The hook has been set.
static SET: AtomicBool = AtomicBool::new(false);
/// The hook is being changed, or a fork is going on.
static CHANGING: AtomicBool = AtomicBool::new(false);

std::thread_local! {
    /// This thread is in one of our hooks.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// This thread has set `CHANGING` because it forks.
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

/// Has every panic, from now on, write what all threads have recorded to the sinks, behind the message of
/// the hook that is set now.
///
/// Programs that abort when they panic need it; others write everything at their end anyway. The runtime
/// does it by itself: in [`Config::start`](crate::Config::start), else at the first event of the process,
/// from a thread of its own. So a program need not call this, unless
///
/// - it sets a panic hook that does not call the one before: then call this behind that;
/// - it may panic in its first moments, before that thread has run, which takes some 100 µs, and on a busy
///   machine longer: then call this, or `Config::start`, first thing in `main`.
///
/// Calling it again does no harm. It does nothing in a thread that panics. Not for signal handlers and
/// allocators: it allocates and takes a lock.
pub fn flush_on_panic() {
    if std::thread::panicking() {
        return;
    }
    // The standard library has no means to change the hook in one step. All is allocated before, so that
    // there is as good as no time for a hook of the program's to come between and be forgotten.
    let before: Arc<OnceLock<Hook>> = Arc::default();
    let ours = before.clone();
    let hook = Box::new(move |info: &PanicHookInfo<'_>| on_panic(info, ours.get()));
    // A fork may take a while.
    if begin_change(|| std::thread::sleep(Duration::from_millis(1))) {
        let _ = before.set(std::panic::take_hook());
        std::panic::set_hook(hook);
        SET.store(true, Ordering::Relaxed);
        CHANGING.store(false, Ordering::Release);
    }
}

/// As [`flush_on_panic`], once in the process.
pub(crate) fn begin() {
    // Two threads may both do it: that is as if the program did it twice.
    if !SET.load(Ordering::Relaxed) {
        flush_on_panic();
    }
}

/// Sets the number of events that a panic tells: at the start of the runtime.
pub(crate) fn set_traceback(events: usize) {
    EVENTS.store(events, Ordering::Relaxed);
}

/// Takes the right to change the hook. False if somebody has it for good: a thread that a signal handler
/// has interrupted, or that is not there in the child of a fork.
fn begin_change(rest: impl Fn()) -> bool {
    for _ in 0..1000 {
        if !CHANGING.swap(true, Ordering::Acquire) {
            return true;
        }
        rest();
    }
    false
}

fn on_panic(info: &PanicHookInfo<'_>, before: Option<&Hook>) {
    let is_inner = INSIDE.replace(true);
    if let Some(before) = before {
        before(info);
    }
    // Else another one of ours stands before this one and does the rest.
    if !is_inner {
        traceback();
        drain::flush_in_panic();
        INSIDE.set(false);
    }
}

/// Has panics of this thread be told by the hook that was set before ours, and do nothing more.
pub(crate) fn only_tell() {
    INSIDE.set(true);
}

/// Tells the last events of this thread, if that is wished.
fn traceback() {
    let events = EVENTS.load(Ordering::Relaxed);
    if events > 0 {
        let heading = format_args!("telemetry: the last events of this thread, the newest last:\n");
        // Who panics has no use for our errors.
        let _ = RawFile::stderr().print(heading);
        Traceback::of_thread(events).to_stderr();
    }
}

/// Before a fork: waits until the hook is not being changed. The standard library holds a lock of its own
/// then, and a child that inherited it could not panic.
pub(crate) fn before_fork() {
    FORKS.set(begin_change(sys::yield_now));
}

/// After a fork, in both processes.
pub(crate) fn after_fork() {
    if FORKS.replace(false) {
        CHANGING.store(false, Ordering::Release);
    }
}
