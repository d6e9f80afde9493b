//! An allocator that tells of everything that is asked of it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::events;

/// The system's allocator, with an event for each call. An event takes no memory of it, and nothing is
/// counted or computed while events are off.
///
/// That a block is free is told before it is, that it is taken after it is: so two threads that have it one
/// after the other are told of in that order.
pub(crate) struct Tracing {
    asked_bytes: AtomicU64,
}

impl Tracing {
    /// The allocator.
    pub(crate) const fn new() -> Tracing {
        Tracing { asked_bytes: AtomicU64::new(0) }
    }

    /// Bytes that were asked for while somebody wanted to know.
    pub(crate) fn asked_bytes(&self) -> u64 {
        self.asked_bytes.load(Ordering::Relaxed)
    }

    /// Counts what an event is about to tell of memory that there is.
    fn asked(&self, block: *mut u8, size: usize) -> usize {
        if !block.is_null() {
            self.asked_bytes.fetch_add(size as u64, Ordering::Relaxed);
        }
        size
    }
}

// SAFETY: the system's allocator, whose results are passed on.
unsafe impl GlobalAlloc for Tracing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the system allocator's, here and below.
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
        // The old address is no pointer any more.
        events::resized!(old as usize, block, self.asked(block, size), layout.align() as u32);
        block
    }
}
