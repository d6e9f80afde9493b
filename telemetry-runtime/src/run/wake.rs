//! Wakes the drain, and knows which thread makes a pass.

use core::cell::Cell;

use crate::sync::bell::Bell;
use crate::sys::atomic::{AtomicU32, Ordering};

/// The bell that the drain's thread sleeps at.
pub(crate) static BELL: Bell = Bell::new();

std::thread_local! {
    /// True if this thread makes a pass, and so must not wait for one.
    static PASSES: Cell<bool> = const { Cell::new(false) };
}

/// Makes the drain look for work at once.
pub(crate) fn wake() {
    BELL.ring();
}

/// Number of sweeps that were asked for, and of those that were made.
static ASKED: AtomicU32 = AtomicU32::new(0);
static SWEPT: AtomicU32 = AtomicU32::new(0);

/// Asks the drain to make a sweep at once, and returns the sweep's number. Neither allocates nor
/// locks.
#[cfg_attr(any(not(target_os = "linux"), miri), allow(dead_code))]
pub(crate) fn ask_sweep() -> u32 {
    let number = ASKED.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    wake();
    number
}

/// Returns the number of the last sweep that was asked for. The drain asks before a pass.
pub(crate) fn asked() -> u32 {
    ASKED.load(Ordering::Acquire)
}

/// Returns true if a sweep of this number was made.
pub(crate) fn is_swept(number: u32) -> bool {
    has_come(SWEPT.load(Ordering::Acquire), number)
}

/// Returns true if numbers that wrap around have come as far as one of them.
fn has_come(last: u32, number: u32) -> bool {
    last.wrapping_sub(number).cast_signed() >= 0
}

/// Records that a sweep was made that began after [`asked`] returned this number.
pub(crate) fn set_swept(number: u32) {
    SWEPT.store(number, Ordering::Release);
}

/// Returns true if this thread makes a pass, so that it must not wait for memory.
pub(crate) fn is_passing() -> bool {
    PASSES.get()
}

/// Sets whether this thread makes a pass.
pub(crate) fn set_passing(passes: bool) {
    PASSES.set(passes);
}

#[cfg(test)]
mod tests {
    use super::has_come;

    #[test]
    fn numbers_of_sweeps_wrap_around() {
        for (last, number, expected) in [
            (0, 0, true),
            (5, 4, true),
            (4, 5, false),
            (0, u32::MAX, true),
            (u32::MAX, 0, false),
            (1 << 30, 0, true),
        ] {
            assert_eq!(has_come(last, number), expected, "{last} {number}");
        }
    }
}
