//! A slot for a running pair, from the reservation of room for both messages to the end of the
//! pair.
//!
//! ```text
//!            under the lock                      by the thread that ends it
//!  Bare ──refill──▶ Ready ──begin──▶ Running ──claim──▶ Ending ──finish──▶ Ended ──settle──▶ Bare
//!                                        └────────── reset ──────▶ Doomed ──finish──▶ Bare
//! ```
//!
//! Ending a pair needs no lock: the ending thread claims the slot by its key and leaves the values
//! there. So a signal handler can end a pair while it interrupts the owner of the lock. The owner
//! posts that end.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use crate::sys::atomic::{AtomicU8, AtomicU64, Ordering, constant};

pub(crate) struct Slot<B, E> {
    state: AtomicU8,
    /// The key of the running pair.
    key: AtomicU64,
    /// The values of the begin, while the pair runs.
    begin: UnsafeCell<MaybeUninit<B>>,
    /// Once the pair has ended, the time of the end and its values.
    ended: AtomicU64,
    end: UnsafeCell<MaybeUninit<E>>,
}

/// There is no room for a pair.
const BARE: u8 = 0;
/// There is room for a pair.
const READY: u8 = 1;
/// A pair has begun.
const RUNNING: u8 = 2;
/// A thread is ending the pair.
const ENDING: u8 = 3;
/// The pair has ended, and its end is not posted yet.
const ENDED: u8 = 4;
/// A thread is ending the pair, but the message is no longer enabled.
const DOOMED: u8 = 5;

impl<B: Copy, E: Copy> Slot<B, E> {
    constant! {
        /// Creates a slot without room for a pair.
        pub(crate) fn new() -> Self {
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
        // Acquire: pairs with the store of the thread that set the state.
        self.state.load(Ordering::Acquire) == state
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.is(BARE)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.is(READY)
    }

    /// Returns true if a pair with this key runs in the slot.
    pub(crate) fn runs(&self, key: u64) -> bool {
        self.is(RUNNING) && self.key.load(Ordering::Relaxed) == key
    }

    /// Returns true if a pair runs in the slot.
    pub(crate) fn is_running(&self) -> bool {
        self.is(RUNNING)
    }

    /// Returns true while a thread ends a pair whose message is no longer enabled.
    pub(crate) fn is_doomed(&self) -> bool {
        self.is(DOOMED)
    }

    /// Gives a bare slot room for a pair. The caller has the lock.
    pub(crate) fn ready(&self) {
        self.state.store(READY, Ordering::Release);
    }

    /// Takes the room from a ready slot. The caller has the lock.
    pub(crate) fn use_up(&self) {
        self.state.store(BARE, Ordering::Release);
    }

    /// Begins a pair in a ready slot. The caller has the lock.
    pub(crate) fn begin(&self, key: u64, values: B) {
        // SAFETY: only the owner of the lock reads or writes a ready slot.
        unsafe { (*self.begin.get()).write(values) };
        self.key.store(key, Ordering::Relaxed);
        // Release: the thread that ends the pair sees the values.
        self.state.store(RUNNING, Ordering::Release);
    }

    /// Claims the end of the pair for the caller, who must then [`finish`](Self::finish) it.
    /// Returns false if no pair with this key runs.
    pub(crate) fn claim(&self, key: u64) -> bool {
        self.runs(key)
            && self.state.compare_exchange(RUNNING, ENDING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Leaves the values of the end for the next owner of the lock. The caller has claimed the
    /// slot. Returns false if the message is no longer enabled.
    pub(crate) fn finish(&self, ticks: u64, end: impl FnOnce(B) -> E) -> bool {
        // SAFETY: only the caller has the claim. The slot was running, so it has the values of a
        // begin.
        unsafe {
            let values = end((*self.begin.get()).assume_init_read());
            (*self.end.get()).write(values);
        }
        self.ended.store(ticks, Ordering::Relaxed);
        // Release: the thread that posts the end sees the values.
        if self.state.compare_exchange(ENDING, ENDED, Ordering::Release, Ordering::Relaxed).is_ok() {
            return true;
        }
        // The slot is doomed, and no other thread changes that.
        self.state.swap(BARE, Ordering::AcqRel);
        false
    }

    /// Takes the end of a pair that has ended, and leaves the slot bare. The caller has the lock.
    pub(crate) fn take_end(&self) -> Option<(u64, E)> {
        if !self.is(ENDED) {
            return None;
        }
        // SAFETY: the thread that ended the pair has written the values and left. Only the owner of
        // the lock uses the slot.
        let values = unsafe { (*self.end.get()).assume_init_read() };
        let ticks = self.ended.load(Ordering::Relaxed);
        self.state.store(BARE, Ordering::Release);
        Some((ticks, values))
    }

    /// Discards the content of the slot. The caller has the lock.
    pub(crate) fn reset(&self) {
        loop {
            let state = self.state.load(Ordering::Acquire);
            // A running pair may be claimed at any moment. A pair that is being ended becomes bare
            // without help.
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

    /// Puts the slot back into its first state: the threads that were inside belong to another
    /// process.
    pub(crate) fn clear(&self) {
        self.state.store(BARE, Ordering::Release);
    }
}
