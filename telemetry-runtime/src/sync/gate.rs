//! Decides who may write a lane's block: the lane's thread while it is inside, or the drain once it
//! has stopped the lane.
//!
//! To stop a quiet lane, the drain marks the address that the lane writes to next. The fast path
//! loads and compares that address anyway. Then one barrier makes all threads see the marks, and
//! makes the drain see which threads are inside. If a lane is outside and its mark still stands,
//! the lane meets the mark before it writes again.
#![allow(unsafe_code)]

use crate::sys::atomic::{AtomicBool, AtomicPtr, Ordering, compiler_fence, constant};

/// The flag and the address of a lane.
pub(crate) struct Gate<T> {
    /// Set while the thread is inside the lane.
    busy: AtomicBool,
    /// Where the next event of the block goes.
    at: AtomicPtr<T>,
}

/// A bit that no address of a program has. Addresses of 32 bits have no such bit, and those lanes
/// are never stopped.
const MARK: usize = if usize::BITS == 64 { 1 << (usize::BITS - 1) } else { 0 };

impl<T> Gate<T> {
    constant! {
        /// Creates a gate with no address and with no thread inside.
        pub(crate) fn new() -> Gate<T> {
            Gate { busy: AtomicBool::new(false), at: AtomicPtr::new(core::ptr::null_mut()) }
        }
    }

    /// Enters the lane. Returns false if this thread is inside already.
    #[inline(always)]
    pub(crate) fn enter(&self) -> bool {
        if self.is_inside() {
            return false;
        }
        self.busy.store(true, Ordering::Relaxed);
        // A signal handler of this thread sees the flag, and what follows is read after it. The
        // drain makes its own barrier, so the processor need not wait here.
        compiler_fence(Ordering::SeqCst);
        true
    }

    /// Returns true if this thread is inside.
    #[inline(always)]
    fn is_inside(&self) -> bool {
        #[cfg(loom)]
        return self.busy.load(Ordering::Relaxed);
        // Not as an atomic, so that the compiler makes one instruction of the load and the test.
        // SAFETY: only this thread writes the flag. Its signal handlers leave it as they find it.
        #[cfg(not(loom))]
        unsafe {
            self.busy.as_ptr().read()
        }
    }

    /// Leaves the lane, and passes the caller's result through.
    #[inline(always)]
    pub(crate) fn leave<R>(&self, result: R) -> R {
        compiler_fence(Ordering::SeqCst);
        // Release: a thread that finds no other inside sees what was done there.
        self.busy.store(false, Ordering::Release);
        result
    }

    /// Returns the address, which is higher than all others if the lane is stopped. For the thread
    /// inside.
    #[inline(always)]
    pub(crate) fn at(&self) -> *mut T {
        self.at.load(Ordering::Relaxed)
    }

    /// Moves the address on, or to another block, and thereby removes a mark. For the thread
    /// inside.
    #[inline(always)]
    pub(crate) fn set(&self, at: *mut T) {
        // Loom would let this thread see a mark that is older than the store.
        #[cfg(loom)]
        self.at.swap(at, Ordering::Relaxed);
        #[cfg(not(loom))]
        self.at.store(at, Ordering::Relaxed);
    }

    /// Asks the lane to stop. This is the first of the drain's three steps, before the barrier.
    pub(crate) fn mark(&self) {
        let marked = |at: *mut T| Some(at.map_addr(|addr| addr | MARK));
        let _ = self.at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, marked);
    }

    /// Returns true if the lane is stopped. This is the last step, after the barrier. The flag
    /// alone does not decide: an emission that was in progress has moved the address on.
    pub(crate) fn is_stopped(&self) -> bool {
        !self.is_busy() && is_marked(self.at())
    }

    /// Returns true while the thread is inside.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }
}

/// Returns true if the drain has marked this address of a lane.
pub(crate) fn is_marked<T>(at: *mut T) -> bool {
    at.addr() & MARK != 0
}

/// Returns the address without the mark.
pub(crate) fn unmarked<T>(at: *mut T) -> *mut T {
    at.map_addr(|addr| addr & !MARK)
}
