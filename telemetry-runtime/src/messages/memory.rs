//! The memory of messages, which comes from the system alone: posting may happen inside the
//! program's own allocator.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::sys;
use crate::sys::atomic::{AtomicU64, Ordering};

/// The unit of allocation, which is the smallest page of any system.
pub(super) const PAGE: usize = 4096;

static HELD: AtomicU64 = AtomicU64::new(0);

/// Returns the number of bytes that messages have: queued ones, and what is allocated ahead. It is
/// 0 while none is enabled.
pub fn held() -> u64 {
    HELD.load(Ordering::Relaxed)
}

/// Allocates `bytes` zeros, a multiple of [`PAGE`]. Returns `None` if there is no memory.
pub(super) fn take(bytes: usize) -> Option<NonNull<u8>> {
    #[cfg(test)]
    if failing::fails() {
        return None;
    }
    let at = NonNull::new(sys::map(bytes)?)?;
    HELD.fetch_add(bytes as u64, Ordering::Relaxed);
    #[cfg(test)]
    failing::count(bytes as i64);
    Some(at)
}

/// Frees what [`take`] returned.
///
/// # Safety
/// `at` must come from [`take`] with the same length. Nothing may use the memory any more.
pub(super) unsafe fn give(at: NonNull<u8>, bytes: usize) {
    HELD.fetch_sub(bytes as u64, Ordering::Relaxed);
    #[cfg(test)]
    failing::count(-(bytes as i64));
    // SAFETY: by the contract of this function.
    unsafe { sys::unmap(at.as_ptr(), bytes) };
}

/// Makes a number of allocations of the calling thread fail in tests, from an index on.
#[cfg(test)]
pub(super) mod failing {
    use std::cell::Cell;

    std::thread_local! {
        /// Allocations until the first failure, failures after that, and allocations so far.
        static PLAN: Cell<(u64, u64, u64)> = const { Cell::new((u64::MAX, 0, 0)) };
        /// Number of bytes that this thread has allocated and not freed.
        static BYTES: Cell<i64> = const { Cell::new(0) };
    }

    pub(super) fn count(bytes: i64) {
        BYTES.set(BYTES.get() + bytes);
    }

    /// Returns the number of bytes that this thread has allocated and not freed.
    pub(in crate::messages) fn held() -> i64 {
        BYTES.get()
    }

    pub(super) fn fails() -> bool {
        let (before, failures, made) = PLAN.get();
        match (before, failures) {
            (1.., _) => PLAN.set((before - 1, failures, made + 1)),
            (0, 1..) => {
                PLAN.set((0, failures - 1, made));
                return true;
            }
            (0, 0) => PLAN.set((u64::MAX, 0, made + 1)),
        }
        false
    }

    /// Makes the allocation with this index fail, and `failures` in all.
    pub(in crate::messages) fn at(index: u64, failures: u64) {
        PLAN.set((index, failures, 0));
    }

    /// Returns the number of allocations that this thread has made since.
    pub(in crate::messages) fn made() -> u64 {
        PLAN.get().2
    }
}
