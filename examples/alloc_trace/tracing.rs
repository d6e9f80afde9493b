//! An allocator that emits an event for each call.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::events;

/// The system's allocator, with an event for each call. Emitting does not allocate, and nothing is
/// counted or computed while events are off.
///
/// A free is emitted before it happens and an allocation after it happened. So a block that passes
/// from one thread to another is recorded in that order.
pub(crate) struct Tracing {
    asked_bytes: AtomicU64,
}

impl Tracing {
    /// The allocator.
    pub(crate) const fn new() -> Tracing {
        Tracing { asked_bytes: AtomicU64::new(0) }
    }

    /// Bytes that were requested while events were on.
    pub(crate) fn asked_bytes(&self) -> u64 {
        self.asked_bytes.load(Ordering::Relaxed)
    }

    /// Counts the bytes of a successful allocation, and returns them for its event.
    fn asked(&self, block: *mut u8, size: usize) -> usize {
        if !block.is_null() {
            self.asked_bytes.fetch_add(size as u64, Ordering::Relaxed);
        }
        size
    }
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Tracing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is that of the system's allocator.
        let block = unsafe { System.alloc(layout) };
        events::allocated!(block, self.asked(block, layout.size()), layout.align() as u32);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { System.alloc_zeroed(layout) };
        events::allocated!(block, self.asked(block, layout.size()), layout.align() as u32);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        events::freed!(block, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { System.realloc(old, layout, size) };
        // The old address is no longer a valid pointer.
        events::resized!(old as usize, block, self.asked(block, size), layout.align() as u32);
        block
    }
}
