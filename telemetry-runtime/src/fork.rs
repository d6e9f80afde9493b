//! A process that forks: the parent goes on as it was, the child is a new session.
//!
//! The child has the parent's memory, but none of its other threads; what is recorded is the parent's to
//! write. So the fork happens while no other thread is inside of anything that matters, and the child
//! forgets everything but the words of the control. It starts anew at its first event.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use std::sync::MutexGuard;
use std::time::Duration;

use crate::block::Block;
use crate::drain::{self, Guard};
use crate::pool::POOL;
use crate::sorter::Sorting;
use crate::start::{self, Config};
use crate::store::STORE;
use crate::{control, image, labels, panic, refill, registry, socket, sys, thread, traceback};

/// How long a fork waits for a pass to end: sinks may be slow.
const PATIENCE: Duration = Duration::from_millis(500);

/// All that must not be halfway done when the memory is copied.
struct Held {
    guard: Guard,
    control: control::Held,
    store: Sorting<'static, Block>,
    labels: labels::Lock<'static>,
    config: MutexGuard<'static, Option<Config>>,
}

/// What the thread that forks holds.
struct Slot(UnsafeCell<Option<Held>>);

// SAFETY: only the thread whose `FORKS` is set uses it, and there is one at most: it has the lock of the
// passes.
unsafe impl Sync for Slot {}

static HELD: Slot = Slot(UnsafeCell::new(None));

std::thread_local! {
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

/// Has forks go through here.
pub(crate) fn begin() {
    sys::at_fork(prepare, in_parent, in_child);
}

extern "C" fn prepare() {
    panic::before_fork();
    let Some(guard) = drain::lock_for_fork(PATIENCE) else { return };
    let Some(control) = control::hold() else { return };
    let Some(store) = STORE.hold() else { return };
    let Some(labels) = labels::hold() else { return };
    let Some(config) = start::hold() else { return };
    FORKS.with(|forks| forks.set(true));
    // SAFETY: this thread has the lock of the passes, so it alone is here.
    unsafe { *HELD.0.get() = Some(Held { guard, control, store, labels, config }) };
}

/// What `prepare` got hold of.
fn take() -> Option<Held> {
    // SAFETY: only the thread that stored it finds its flag set.
    FORKS.with(|forks| forks.replace(false)).then(|| unsafe { (*HELD.0.get()).take() }).flatten()
}

extern "C" fn in_parent() {
    panic::after_fork();
    drop(take());
}

extern "C" fn in_child() {
    // First: with a ring file, what this process has of the parent's is the same memory.
    image::forget();
    panic::after_fork();
    traceback::begin_anew();
    let held = take();
    socket::in_child();
    if !start::is_running() {
        // Nothing had begun, or all was over: the child is a process like any other.
        return;
    }
    let is_whole = thread::begin_anew();
    let Some(Held { guard, control, store, labels, config }) = held.filter(|_| is_whole) else {
        // Somebody was inside of something, for too long. The child has its life without telemetry.
        start::end();
        control::end();
        return;
    };
    STORE.clear();
    registry::forget_all();
    refill::forget_strays();
    POOL.forget();
    start::begin_anew();
    drop((config, labels, store, control));
    // Last: it closes the sinks, which may be the program's.
    guard.forget();
}
