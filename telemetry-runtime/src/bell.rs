//! Has the drain's thread sleep until it is time or somebody rings.
#![allow(unsafe_code)]

use core::ptr::null_mut;
use std::thread::Thread;
use std::time::Duration;

use crate::sync::{AtomicBool, AtomicPtr, Ordering, constant};

/// For one thread to wait at. Ringing neither allocates nor locks, so any thread may do it anywhere.
pub(crate) struct Bell {
    /// It has rung, and nobody has answered yet.
    rung: AtomicBool,
    /// Who waits; never freed, since a ringer may hold it.
    thread: AtomicPtr<Thread>,
}

impl Bell {
    constant! {
        /// Nobody waits.
        pub(crate) fn new() -> Bell {
            Bell { rung: AtomicBool::new(false), thread: AtomicPtr::new(null_mut()) }
        }
    }

    /// Sleeps for so long, or until the bell rings; a ring before counts.
    pub(crate) fn wait(&self, longest: Duration) {
        if self.has_rung() {
            return;
        }
        if self.thread.load(Ordering::Relaxed).is_null() {
            let this = Box::into_raw(Box::new(std::thread::current()));
            self.thread.store(this, Ordering::Release);
            // Whoever rang before now found nobody.
            return;
        }
        std::thread::park_timeout(longest);
    }

    /// True if it has rung and nobody has answered yet.
    pub(crate) fn has_rung(&self) -> bool {
        self.rung.load(Ordering::Relaxed)
    }

    /// Said before looking at what rings are for: whoever comes later rings again.
    pub(crate) fn answer(&self) {
        // Acquire: pairs with the ring.
        self.rung.swap(false, Ordering::Acquire);
    }

    /// Wakes who waits.
    pub(crate) fn ring(&self) {
        // Release: who answers sees what it was rung for.
        if self.rung.swap(true, Ordering::Release) {
            return;
        }
        // SAFETY: what is stored is never freed.
        if let Some(thread) = unsafe { self.thread.load(Ordering::Acquire).as_ref() } {
            thread.unpark();
        }
    }

    /// Forgets who waits: the thread is another process's.
    pub(crate) fn reset(&self) {
        self.rung.store(false, Ordering::Relaxed);
        self.thread.store(null_mut(), Ordering::Release);
    }
}
