//! A pair that may run: from the room for its two messages to the end of it.
//!
//! ```text
//!            under the lock                      by whoever ends it
//!  Bare ──refill──▶ Ready ──begin──▶ Running ──claim──▶ Ending ──finish──▶ Ended ──settle──▶ Bare
//!                                        └────────── reset ──────▶ Doomed ──finish──▶ Bare
//! ```
//!
//! What ends a pair needs no lock: it claims the slot by its key and leaves the values there. So an end that
//! interrupts a thread inside of the lock, in a signal handler, is not lost; who has the lock posts it.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use crate::sync::{AtomicU8, AtomicU64, Ordering, constant};

pub(super) struct Slot<B, E> {
    state: AtomicU8,
    /// What the pair runs by, once it has begun.
    key: AtomicU64,
    /// Of a pair that runs: what its begin said.
    begin: UnsafeCell<MaybeUninit<B>>,
    /// Of a pair that has ended, when and what with.
    ended: AtomicU64,
    end: UnsafeCell<MaybeUninit<E>>,
}

/// Without room for a pair.
const BARE: u8 = 0;
/// With room for a pair.
const READY: u8 = 1;
/// A pair has begun.
const RUNNING: u8 = 2;
/// It is being ended.
const ENDING: u8 = 3;
/// It has ended, and its end is to be posted.
const ENDED: u8 = 4;
/// It is being ended, but nobody wants to hear of it any more.
const DOOMED: u8 = 5;

impl<B: Copy, E: Copy> Slot<B, E> {
    constant! {
        /// Without room for a pair.
        pub(super) fn new() -> Self {
            Slot {
                state: AtomicU8::new(BARE),
                key: AtomicU64::new(0),
                begin: UnsafeCell::new(MaybeUninit::uninit()),
                ended: AtomicU64::new(0),
                end: UnsafeCell::new(MaybeUninit::uninit()),
            }
        }
    }

    fn is(&self, state: u8) -> bool {
        // Acquire: pairs with whoever brought it into the state.
        self.state.load(Ordering::Acquire) == state
    }

    pub(super) fn is_bare(&self) -> bool {
        self.is(BARE)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.is(READY)
    }

    /// True if a pair of the key runs in it.
    pub(super) fn runs(&self, key: u64) -> bool {
        self.is(RUNNING) && self.key.load(Ordering::Relaxed) == key
    }

    /// True if any pair runs in it.
    pub(super) fn is_running(&self) -> bool {
        self.is(RUNNING)
    }

    /// True while somebody ends a pair in it that nobody wants to hear of any more.
    pub(super) fn is_doomed(&self) -> bool {
        self.is(DOOMED)
    }

    /// It has room for a pair now. Under the lock, of a bare one.
    pub(super) fn ready(&self) {
        self.state.store(READY, Ordering::Release);
    }

    /// It no longer has. Under the lock, of a ready one.
    pub(super) fn use_up(&self) {
        self.state.store(BARE, Ordering::Release);
    }

    /// A pair begins. Under the lock, of a ready one.
    pub(super) fn begin(&self, key: u64, values: B) {
        // SAFETY: in a slot that is ready nobody reads or writes but who has the lock.
        unsafe { (*self.begin.get()).write(values) };
        self.key.store(key, Ordering::Relaxed);
        // Release: who ends the pair sees the values.
        self.state.store(RUNNING, Ordering::Release);
    }

    /// Takes the end of the pair for the caller, who must [`finish`](Self::finish) it. False if none of the key runs.
    pub(super) fn claim(&self, key: u64) -> bool {
        self.runs(key)
            && self.state.compare_exchange(RUNNING, ENDING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Leaves what the end says, for whoever has the lock next. Of one that the caller has claimed. False if nobody
    /// wants it any more.
    pub(super) fn finish(&self, ticks: u64, end: impl FnOnce(B) -> E) -> bool {
        // SAFETY: the claim is the caller's alone, and the slot was running, so that it has a begin's values.
        unsafe {
            let values = end((*self.begin.get()).assume_init_read());
            (*self.end.get()).write(values);
        }
        self.ended.store(ticks, Ordering::Relaxed);
        // Release: who posts the end sees the values.
        if self.state.compare_exchange(ENDING, ENDED, Ordering::Release, Ordering::Relaxed).is_ok() {
            return true;
        }
        // Doomed: nobody else changes that.
        self.state.swap(BARE, Ordering::AcqRel);
        false
    }

    /// The end of a pair that has ended, which leaves the slot bare. Under the lock.
    pub(super) fn take_end(&self) -> Option<(u64, E)> {
        if !self.is(ENDED) {
            return None;
        }
        // SAFETY: who ended the pair has written it and left; but for the one with the lock nobody touches the slot.
        let values = unsafe { (*self.end.get()).assume_init_read() };
        let ticks = self.ended.load(Ordering::Relaxed);
        self.state.store(BARE, Ordering::Release);
        Some((ticks, values))
    }

    /// Whatever was in it is of no interest any more. Under the lock.
    pub(super) fn reset(&self) {
        loop {
            let state = self.state.load(Ordering::Acquire);
            // A pair that runs may be claimed at any moment; one that is being ended becomes bare by itself.
            let next = match state {
                DOOMED => return,
                ENDING => DOOMED,
                _ => BARE,
            };
            if self.state.compare_exchange(state, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// As at first: the threads that were inside are another process's.
    pub(super) fn clear(&self) {
        self.state.store(BARE, Ordering::Release);
    }
}
