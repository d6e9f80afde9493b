//! A process that forks: the parent continues unchanged, and the child is a new session.
//!
//! The child has the parent's memory, but none of its other threads. The parent writes what is
//! recorded. So the fork happens while no other thread is inside a critical section, or starts the
//! runtime. The child forgets everything except the words of the control, and starts again at its
//! first event.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use std::sync::MutexGuard;
use std::time::Duration;

use crate::control::switches as control;
use crate::count::list;
use crate::drain::config::{self, Config};
use crate::drain::passes::{self as drain, Guard};
use crate::emit::revoke;
use crate::emit::thread;
use crate::memory::block::Block;
use crate::memory::lanes::LANES;
use crate::memory::mapping;
use crate::memory::pool::POOL;
use crate::memory::registry;
use crate::own::labels;
use crate::own::sample;
use crate::own::sampling;
use crate::postmortem::panic;
use crate::postmortem::traceback;
use crate::process::drain_thread;
use crate::run::reentry::ReentryGuard;
use crate::run::state;
use crate::socket;
use crate::store::counters;
use crate::store::sealed::STORE;
use crate::sync::sorter::Sorting;
use crate::sync::spin;
use crate::sys;
use crate::triggers::list as triggers;

/// How long a fork waits for the start or for a pass to end, since files and sinks may be slow.
const FORK_TIMEOUT: Duration = Duration::from_millis(500);

/// Locks on everything that must not be half-done when the memory is copied.
struct ForkLocks {
    guard: Guard,
    control: control::ControlGuard,
    triggers: triggers::TriggersGuard,
    store: Sorting<'static, Block>,
    labels: labels::Lock<'static>,
    stopping: revoke::Lock,
    lanes: spin::SpinGuard<'static>,
    config: MutexGuard<'static, Option<Config>>,
    listening: Listening,
}

/// The lock of a thread that makes the control socket, if it was free in time.
#[cfg(all(unix, not(miri)))]
type Listening = Option<spin::SpinGuard<'static>>;
#[cfg(any(not(unix), miri))]
type Listening = Option<()>;

/// The locks that the forking thread holds.
struct Slot(UnsafeCell<Option<ForkLocks>>);

// SAFETY: only the thread whose `FORKS` is set uses it. There is at most one such thread, since it
// has the lock of the passes.
unsafe impl Sync for Slot {}

static HELD: Slot = Slot(UnsafeCell::new(None));

std::thread_local! {
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

/// Registers the functions of this file for forks.
pub(crate) fn begin() {
    sys::at_fork(prepare, in_parent, in_child);
}

extern "C" fn prepare() {
    panic::before_fork();
    // Unless this thread starts the runtime itself or has its lock, and forks in the allocator or a
    // handler.
    if ReentryGuard::enter().is_some() {
        sys::wait(FORK_TIMEOUT, || !state::is_starting() || state::is_of_parent());
    }
    let Some(guard) = drain::lock_for_fork(FORK_TIMEOUT) else { return };
    let Some(control) = control::hold() else { return };
    let Some(triggers) = triggers::hold() else { return };
    let Some(store) = STORE.hold() else { return };
    let Some(labels) = labels::hold() else { return };
    let Some(stopping) = revoke::hold() else { return };
    let Some(lanes) = LANES.hold() else { return };
    let Some(config) = config::hold() else { return };
    let listening = socket::hold();
    FORKS.with(|forks| forks.set(true));
    // SAFETY: this thread has the lock of the passes, so no other thread is here.
    unsafe {
        *HELD.0.get() =
            Some(ForkLocks { guard, control, triggers, store, labels, stopping, lanes, config, listening })
    };
}

/// Returns the locks that `prepare` took.
fn take() -> Option<ForkLocks> {
    // SAFETY: only the thread that stored them finds its flag set.
    FORKS.with(|forks| forks.replace(false)).then(|| unsafe { (*HELD.0.get()).take() }).flatten()
}

extern "C" fn in_parent() {
    panic::after_fork();
    drop(take());
}

extern "C" fn in_child() {
    // First: with a ring file, parent and child share this memory.
    mapping::forget();
    panic::after_fork();
    traceback::reset_in_child();
    let held = take();
    socket::in_child();
    if state::is_starting() && ReentryGuard::enter().is_some() {
        // The thread that starts the runtime took too long, and is not here.
        state::end();
    }
    if !state::is_running() {
        // The runtime had not started, or had ended: the child is a process like any other.
        return;
    }
    let is_whole = thread::reset_in_child();
    list::reset_in_child();
    sample::reset_in_child();
    sampling::reset_in_child();
    let Some(ForkLocks { guard, control, triggers, store, labels, stopping, lanes, config, listening }) =
        held.filter(|_| is_whole)
    else {
        // A thread was inside a critical section for too long. The child continues without
        // telemetry.
        state::end();
        control::end();
        return;
    };
    STORE.clear();
    registry::forget_all();
    counters::forget_strays();
    POOL.forget();
    LANES.forget();
    revoke::forget();
    state::reset_in_child();
    drop((listening, config, lanes, stopping, labels, store, control));
    triggers.forget();
    // Last: it closes the sinks, and the program may have written their code.
    guard.forget();
    drain_thread::forget();
}
