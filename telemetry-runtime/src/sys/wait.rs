//! Waits that neither allocate nor lock, and the number of the waiting thread.

#[cfg(any(not(unix), miri))]
use crate::sys::other::{monotonic_ns, pause, yield_now};
#[cfg(all(unix, not(miri)))]
use crate::sys::threads::{pause, yield_now};
#[cfg(all(unix, not(miri)))]
use crate::sys::unix::monotonic_ns;

/// Returns a number that no other running thread has. It is never 0.
pub(crate) fn me() -> usize {
    std::thread_local! { static PLACE: u8 = const { 0 } }
    PLACE.with(|place| core::ptr::from_ref(place).addr())
}

/// Waits until `is_so` returns true, for `longest` at most. Neither allocates nor locks.
pub(crate) fn wait(longest: core::time::Duration, mut is_so: impl FnMut() -> bool) {
    let mut since = None;
    for attempt in 0_u32.. {
        if is_so() {
            return;
        }
        if attempt < 100 {
            yield_now();
            continue;
        }
        let now = monotonic_ns();
        if u128::from(now - *since.get_or_insert(now)) > longest.as_nanos() {
            return;
        }
        pause();
    }
}

/// Sleeps while a word has the expected value, for `longest` at most.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn sleep_at(word: &crate::sys::atomic::AtomicU32, expected: u32, longest: core::time::Duration) {
    wait(longest, || word.load(crate::sys::atomic::Ordering::Acquire) != expected);
}

/// Does nothing, since no thread sleeps for long.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn wake_at(_: &crate::sys::atomic::AtomicU32) {}
