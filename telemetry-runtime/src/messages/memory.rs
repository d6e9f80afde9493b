//! The one place that the memory of messages comes from: straight from the system, since posting may happen inside
//! of the program's own allocator.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::sync::{AtomicU64, Ordering};
use crate::sys;

/// What memory is taken in: the least page of any system that there is.
pub(super) const PAGE: usize = 4096;

static HELD: AtomicU64 = AtomicU64::new(0);

/// Bytes that messages hold at the moment: what is queued, and what is allocated ahead. 0 where none is enabled.
pub fn held() -> u64 {
    HELD.load(Ordering::Relaxed)
}

/// Takes so many bytes of zeros, a multiple of [`PAGE`], or nothing if there is no memory.
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

/// Gives back what [`take`] gave.
///
/// # Safety
/// It must be of [`take`], of so many bytes, and nothing may use it any more.
pub(super) unsafe fn give(at: NonNull<u8>, bytes: usize) {
    HELD.fetch_sub(bytes as u64, Ordering::Relaxed);
    #[cfg(test)]
    failing::count(-(bytes as i64));
    // SAFETY: the caller's promise.
    unsafe { sys::unmap(at.as_ptr(), bytes) };
}

/// Has allocations fail in tests: those of the calling thread, from one on, so many times.
#[cfg(test)]
pub(super) mod failing {
    use std::cell::Cell;

    std::thread_local! {
        /// Allocations until the first failure, failures after that, allocations so far.
        static PLAN: Cell<(u64, u64, u64)> = const { Cell::new((u64::MAX, 0, 0)) };
        /// Bytes that it took, less those that it gave back.
        static BYTES: Cell<i64> = const { Cell::new(0) };
    }

    pub(super) fn count(bytes: i64) {
        BYTES.set(BYTES.get() + bytes);
    }

    /// Bytes that this thread took, less those that it gave back.
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

    /// The allocation of this index fails, and so many in all.
    pub(in crate::messages) fn at(index: u64, failures: u64) {
        PLAN.set((index, failures, 0));
    }

    /// Allocations that this thread made since.
    pub(in crate::messages) fn made() -> u64 {
        PLAN.get().2
    }
}
