//! Wakes tasks that wait for messages, from a thread of the runtime.
//!
//! A waker runs code of the program's executor, which may allocate and take locks. Emitters run in
//! allocators and signal handlers. So they ring a bell, which does neither, and the thread that
//! waits there wakes the tasks.

use core::task::Waker;
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::model::channel::AnyChannel;
use crate::sync::bell::Bell;
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};

static BELL: Bell = Bell::new();
/// True if a task waits.
static AWAITED: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicBool = AtomicBool::new(false);
static WAITING: Mutex<Tasks> = Mutex::new(Vec::new());

/// Tasks, each with the message that it waits for.
type Tasks = Vec<(&'static dyn AnyChannel, Waker)>;

/// Wakes the tasks that wait for a message, after one was posted.
pub(super) fn ring() {
    if AWAITED.load(Ordering::Relaxed) {
        BELL.ring();
    }
}

/// Calls a waker once there is a message.
pub(super) fn wait(channel: &'static dyn AnyChannel, waker: &Waker) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |(of, other): &(&'static dyn AnyChannel, Waker)| {
        std::ptr::addr_eq(*of, channel) && other.will_wake(waker)
    };
    if !waiting.iter().any(same) {
        waiting.push((channel, waker.clone()));
    }
    // Before the caller checks again under the lock of the channel: a thread that posts after that
    // sees it.
    AWAITED.store(true, Ordering::Relaxed);
    if !BEGUN.swap(true, Ordering::Relaxed) {
        // The code of the thread may be in a library that the program closes.
        sys::pin_library();
        let thread = std::thread::Builder::new().name("telemetry-wake".to_string());
        if thread.spawn(run).is_err() {
            BEGUN.store(false, Ordering::Relaxed);
        }
    }
}

fn run() {
    loop {
        BELL.wait(Duration::from_secs(3600));
        BELL.answer();
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        let (ready, rest) = std::mem::take(&mut *waiting).into_iter().partition(|(of, _)| of.queued() > 0);
        let ready: Vec<(_, Waker)> = ready;
        *waiting = rest;
        AWAITED.store(!waiting.is_empty(), Ordering::Relaxed);
        drop(waiting);
        ready.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

std::thread_local! {
    /// The lock that the forking thread holds.
    static HELD: RefCell<Option<MutexGuard<'static, Tasks>>> = const { RefCell::new(None) };
}

/// Before a fork: no other thread is changing the list.
pub(super) fn hold() {
    HELD.replace(Some(WAITING.lock().unwrap_or_else(PoisonError::into_inner)));
}

/// After a fork, in the parent.
pub(super) fn let_go() {
    HELD.take();
}

/// After a fork, in the child: the thread belongs to the parent, and so do the tasks.
pub(super) fn reset_in_child() {
    if let Some(mut waiting) = HELD.take() {
        // Their executor does not exist any more, so none of its code may run.
        std::mem::forget(std::mem::take(&mut *waiting));
    }
    BEGUN.store(false, Ordering::Relaxed);
    AWAITED.store(false, Ordering::Relaxed);
    BELL.reset();
}
