//! The bounds of each thread's own stack. They come from the list of the mappings, since the
//! function of the C library allocates, and is not for signal handlers.
#![allow(unsafe_code)]

use core::cell::Cell;

use crate::sys::maps::{self, Maps};

/// Where stack pointers of the main thread may be, below the top of its stack. The stack grows, and
/// the system keeps twice as much free of other mappings.
const MAIN: u64 = 64 << 20;

/// A range of addresses.
type Bounds = (u64, u64);

/// Nothing has been looked up yet; and nothing was found.
const UNKNOWN: Bounds = (0, 0);
const NONE: Bounds = (1, 1);

std::thread_local! {
    static OWN: Cell<Bounds> = const { Cell::new(UNKNOWN) };
}

/// Returns the end of the thread's own stack, if the stack pointer is in it.
#[inline(always)]
pub(crate) fn top(pointer: u64) -> Option<u64> {
    let bounds = OWN.with(Cell::get);
    if pointer.wrapping_sub(bounds.0) < bounds.1.wrapping_sub(bounds.0) {
        return Some(bounds.1);
    }
    if bounds == UNKNOWN { first(pointer) } else { None }
}

/// Looks the bounds of this thread up, unless they are known.
pub(crate) fn prepare() {
    top(0);
}

#[cold]
#[inline(never)]
fn first(pointer: u64) -> Option<u64> {
    let (low, top) = maps::quietly(look_up).unwrap_or(NONE);
    OWN.with(|own| own.set((low, top)));
    (low..top).contains(&pointer).then_some(top)
}

/// Returns the bounds of the thread's own stack: of the main thread, what the system calls so. All
/// other threads have their control block at the top of their stack.
fn look_up() -> Option<Bounds> {
    // SAFETY: none of them takes a pointer.
    let (control, is_main) =
        unsafe { (libc::pthread_self() as u64, libc::syscall(libc::SYS_gettid) as i32 == libc::getpid()) };
    let mut buffer = [0; 512];
    let mut maps = Maps::open(&mut buffer)?;
    while let Some(region) = maps.next() {
        if is_main && region.path == b"[stack]" {
            return Some((region.end.saturating_sub(MAIN), region.end));
        }
        if !is_main && (region.start..region.end).contains(&control) {
            return Some((region.start, control & !15));
        }
    }
    None
}
