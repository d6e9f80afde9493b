//! The allocator that counts.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

use crate::events;

/// An allocator that counts what another one allocates.
///
/// It always counts: the bytes that are live, the allocations of four classes of sizes, and the
/// frees. If the kind `Allocation` is on, each call is an event, too, which `telemetry replay`
/// knows. If the kind `AllocationStack` is on, so is each allocation with its call stack.
#[derive(Debug, Default, Clone, Copy)]
pub struct Allocator<A = System> {
    inner: A,
}

impl Allocator {
    /// Counts what the system's allocator allocates.
    pub const fn system() -> Self {
        Allocator { inner: System }
    }
}

impl<A> Allocator<A> {
    /// Counts what another allocator allocates.
    pub const fn new(inner: A) -> Self {
        Allocator { inner }
    }
}

// SAFETY: every call is passed to the inner allocator with the caller's arguments, and its results
// are returned. Emitters and counters do not allocate.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the inner allocator.
        let pointer = unsafe { self.inner.alloc(layout) };
        allocated(pointer, layout);
        pointer
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { self.inner.alloc_zeroed(layout) };
        allocated(pointer, layout);
        pointer
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // Before another thread can get the memory.
        events::free!(pointer, layout.size());
        events::FREES.add(1);
        events::LIVE_BYTES.sub(layout.size() as i64);
        // SAFETY: as above.
        unsafe { self.inner.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { self.inner.realloc(old, layout, size) };
        if !pointer.is_null() {
            events::realloc!(old, pointer, size, layout.align() as u32);
            events::LIVE_BYTES.add(size as i64 - layout.size() as i64);
        }
        pointer
    }
}

#[inline]
fn allocated(pointer: *mut u8, layout: Layout) {
    if pointer.is_null() {
        return;
    }
    let size = layout.size();
    events::alloc!(pointer, size, layout.align() as u32);
    events::stack_alloc!(pointer, size);
    events::LIVE_BYTES.add(size as i64);
    match size {
        0..=64 => events::SMALL_ALLOCATIONS.add(1),
        65..=1024 => events::MEDIUM_ALLOCATIONS.add(1),
        1025..=32_768 => events::LARGE_ALLOCATIONS.add(1),
        _ => events::HUGE_ALLOCATIONS.add(1),
    }
}
