//! What happens in a panic before it unwinds or aborts: an event says that, and everything is
//! written to the sinks. Before that, prints the thread's last events if the user wants them.

use core::cell::Cell;
use std::panic::PanicHookInfo;
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::drain::passes::{PASS_TIMEOUT, lock};
use crate::own::registry as own;
use crate::postmortem::traceback::Traceback;
use crate::run::state;
use crate::run::wake::is_passing;
use crate::sys;
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::raw_file::RawFile;

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Number of events of a traceback; 0 for none.
static EVENTS: AtomicUsize = AtomicUsize::new(0);
/// True once the hook has been set.
static SET: AtomicBool = AtomicBool::new(false);
/// True while a thread changes the hook, or forks.
static CHANGING: AtomicBool = AtomicBool::new(false);

std::thread_local! {
    /// True while this thread is in one of the runtime's hooks.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    /// True if this thread has set `CHANGING` because it forks.
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

/// Makes every panic from now on write what all threads have recorded to the sinks. It does so
/// after the hook that is set now has run.
///
/// Programs that abort in a panic need it; others write everything at their end anyway. The runtime
/// calls it by itself: in [`Config::start`](crate::Config::start), else at the first event of the
/// process, from its own thread. So a program need not call this, except in three cases:
///
/// - The program sets a panic hook that does not call the previous one. Then call this after that.
/// - The program sets a panic hook just after its first event. The standard library cannot change
///   a hook in one step, so that hook could be lost. Then call this before the first event.
/// - The program may panic before that thread has run, which takes some 100 µs, and more on a busy
///   machine. Then call this, or `Config::start`, first in `main`.
///
/// A second call does no harm. In a thread that panics it does nothing. Do not call it in signal
/// handlers and allocators: it allocates and takes a lock.
pub fn flush_on_panic() {
    if std::thread::panicking() {
        return;
    }
    // A hook that the program sets between these two steps would be lost. Everything is allocated
    // first, so that there is next to no time between them.
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

/// Calls [`flush_on_panic`], once in the process.
pub(crate) fn begin() {
    // Two threads may both do it, which is as if the program called it twice.
    if !SET.load(Ordering::Relaxed) {
        flush_on_panic();
    }
}

/// Sets the number of events that a panic prints. Called at the start of the runtime.
pub(crate) fn set_traceback(events: usize) {
    EVENTS.store(events, Ordering::Relaxed);
}

/// Takes the right to change the hook. Returns false if a thread keeps it. A signal handler may
/// have interrupted that thread, or it may not exist in the child of a fork.
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
    let is_inner = IS_INSIDE.replace(true);
    if let Some(before) = before {
        before(info);
    }
    // Otherwise another of the runtime's hooks runs before this one and does the rest.
    if !is_inner {
        traceback();
        // After the traceback, where the event would say what the line above it says.
        report(info);
        flush_in_panic();
        IS_INSIDE.set(false);
    }
}

/// Emits the panic. A panic alone does not start the runtime.
fn report(info: &PanicHookInfo<'_>) {
    if state::is_running() {
        let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
        own::panicked(info.payload_as_str().unwrap_or_default(), file, line);
    }
}

/// Leaves panics of this thread to the hook that was set before the runtime's.
pub(crate) fn only_tell() {
    IS_INSIDE.set(true);
}

/// Prints the last events of this thread, if the user wants that.
fn traceback() {
    let events = EVENTS.load(Ordering::Relaxed);
    if events > 0 {
        let heading = format_args!("telemetry: the last events of this thread, the newest last:\n");
        // A panicking thread has no use for errors of the runtime.
        let _ = RawFile::stderr().print(heading);
        Traceback::current_thread(events).write_to_stderr();
    }
}

/// Waits until no thread changes the hook, before a fork. The standard library holds its own lock
/// during the change, and a child that inherited the lock could not panic.
pub(crate) fn before_fork() {
    FORKS.set(begin_change(sys::yield_now));
}

/// Allows changes of the hook again, after a fork, in both processes.
pub(crate) fn after_fork() {
    if FORKS.replace(false) {
        CHANGING.store(false, Ordering::Release);
    }
}

/// Makes a pass in a new thread. The panicking thread cannot make it: a second panic, in a sink of
/// the program, would abort the process. It waits for a limited time, since the sink may need a
/// lock that it holds.
fn flush_in_panic() {
    fn pass() {
        if let Some(mut outputs) = lock(Duration::from_secs(1)) {
            outputs.pass(true);
            outputs.flush();
        }
    }
    // A pass that panics cannot wait for another one, and without a running runtime there is
    // nothing to write.
    if is_passing() || !state::is_running() {
        return;
    }
    let (done, is_done) = channel();
    let thread = std::thread::Builder::new().name("telemetry-panic".into()).spawn(move || {
        only_tell();
        pass();
        // The panicking thread may have stopped waiting.
        let _ = done.send(());
    });
    match thread {
        Ok(_) => _ = is_done.recv_timeout(PASS_TIMEOUT),
        Err(_) => pass(),
    }
}
