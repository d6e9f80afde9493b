//! Waiting in tasks: a thread of the runtime wakes them.
//!
//! A waker runs code of the program's executor, which may allocate and lock. Emitters stand in allocators and signal
//! handlers, so that they ring a bell, which does neither, and the thread that sleeps there does the waking.

use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::channel::{Channel, Either};
use super::list::AnyChannel;
use super::values::Values;
use crate::bell::Bell;
use crate::sync::{AtomicBool, Ordering};
use crate::sys;

static BELL: Bell = Bell::new();
/// Some task waits.
static AWAITED: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicBool = AtomicBool::new(false);
static WAITING: Mutex<Tasks> = Mutex::new(Vec::new());

/// What tasks wait for.
type Tasks = Vec<(&'static dyn AnyChannel, Waker)>;

impl<B: Copy + Send + Values, E: Copy + Send + Values, const LIMIT: usize> Channel<B, E, LIMIT> {
    /// The next message, as soon as there is one. For any executor. The task sleeps for ever while the message is not
    /// enabled.
    pub async fn next(&'static self) -> Either<B, E> {
        poll_fn(|context| {
            if let Some(message) = self.get() {
                return Poll::Ready(message);
            }
            wait(self, context.waker());
            // One that was posted before somebody waited.
            self.get().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// A message was posted.
pub(super) fn ring() {
    if AWAITED.load(Ordering::Relaxed) {
        BELL.ring();
    }
}

/// Has a waker called once there is a message.
fn wait(channel: &'static dyn AnyChannel, waker: &Waker) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |(of, other): &(&'static dyn AnyChannel, Waker)| {
        std::ptr::addr_eq(*of, channel) && other.will_wake(waker)
    };
    if !waiting.iter().any(same) {
        waiting.push((channel, waker.clone()));
    }
    // Before the caller looks again, under the lock of the channel: who posts after that sees it.
    AWAITED.store(true, Ordering::Relaxed);
    if !BEGUN.swap(true, Ordering::Relaxed) {
        let thread = std::thread::Builder::new().name("telemetry-wake".to_string());
        if thread.spawn(run).is_err() {
            BEGUN.store(false, Ordering::Relaxed);
        }
    }
}

fn run() {
    // Its code is in a library that may be closed.
    sys::stay_loaded();
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
    /// Of the thread that forks.
    static HELD: RefCell<Option<MutexGuard<'static, Tasks>>> = const { RefCell::new(None) };
}

/// Before a fork: nobody else is amid a change of the list.
pub(super) fn hold() {
    HELD.replace(Some(WAITING.lock().unwrap_or_else(PoisonError::into_inner)));
}

/// In the parent.
pub(super) fn let_go() {
    HELD.take();
}

/// In the child of a fork: the thread is the parent's, and so are the tasks.
pub(super) fn begin_anew() {
    if let Some(mut waiting) = HELD.take() {
        // Their executor is no more: none of its code is to run.
        std::mem::forget(std::mem::take(&mut *waiting));
    }
    BEGUN.store(false, Ordering::Relaxed);
    AWAITED.store(false, Ordering::Relaxed);
    BELL.reset();
}
