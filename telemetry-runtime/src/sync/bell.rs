//! Lets the drain's thread sleep until its time has come or another thread rings.
#![allow(unsafe_code)]

use core::ptr::null_mut;
use std::thread::Thread;
use std::time::Duration;

use crate::sys::atomic::{AtomicBool, AtomicPtr, Ordering, constant};

/// A bell that one thread waits at. Ringing neither allocates nor locks, so any thread may ring
/// anywhere.
pub(crate) struct Bell {
    /// True if the bell has rung and the thread has not answered yet.
    rung: AtomicBool,
    /// The thread that waits. It is never freed, since a ringing thread may be using it.
    thread: AtomicPtr<Thread>,
}

impl Bell {
    constant! {
        /// Creates a bell that no thread waits at.
        pub(crate) fn new() -> Bell {
            Bell { rung: AtomicBool::new(false), thread: AtomicPtr::new(null_mut()) }
        }
    }

    /// Sleeps for `longest`, or until the bell rings. A ring from before the call counts.
    pub(crate) fn wait(&self, longest: Duration) {
        if self.has_rung() {
            return;
        }
        if self.thread.load(Ordering::Relaxed).is_null() {
            let this = Box::into_raw(Box::new(std::thread::current()));
            self.thread.store(this, Ordering::Release);
            // A thread that rang before now found no thread to wake.
            return;
        }
        std::thread::park_timeout(longest);
    }

    /// Returns true if the bell has rung and the thread has not answered yet.
    pub(crate) fn has_rung(&self) -> bool {
        self.rung.load(Ordering::Relaxed)
    }

    /// Answers a ring. The thread calls this before it looks for work, so that work added later
    /// rings again.
    pub(crate) fn answer(&self) {
        // Acquire: pairs with the store of the ring.
        self.rung.swap(false, Ordering::Acquire);
    }

    /// Wakes the thread that waits.
    pub(crate) fn ring(&self) {
        // Release: the thread that answers sees what the bell was rung for.
        if self.rung.swap(true, Ordering::Release) {
            return;
        }
        // SAFETY: the stored thread is never freed.
        if let Some(thread) = unsafe { self.thread.load(Ordering::Acquire).as_ref() } {
            thread.unpark();
        }
    }

    /// Forgets the thread that waits, because it belongs to another process.
    pub(crate) fn reset(&self) {
        self.rung.store(false, Ordering::Relaxed);
        self.thread.store(null_mut(), Ordering::Release);
    }
}
