//! What the runtime needs from the system, one file per family. Miri, which knows no C library, has what there
//! is without one.

#[cfg(all(unix, not(miri)))]
mod descriptor;
#[cfg(all(unix, not(miri)))]
mod ring;
#[cfg(all(unix, not(miri)))]
mod signals;
#[cfg(all(unix, not(miri)))]
mod unix;
#[cfg(all(unix, not(miri)))]
pub(crate) use descriptor::Descriptor;
#[cfg(all(unix, not(miri)))]
pub(crate) use ring::RingFile;
#[cfg(all(unix, not(miri)))]
pub(crate) use signals::*;
#[cfg(all(unix, not(miri)))]
pub(crate) use unix::*;

#[cfg(any(not(unix), miri))]
mod other;
#[cfg(any(not(unix), miri))]
pub(crate) use other::*;

/// Waits until something is so, or for so long at most. Neither allocates nor locks.
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

/// Sleeps while a word is what is expected, for so long at most.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn sleep_at(word: &crate::sync::AtomicU32, expected: u32, longest: core::time::Duration) {
    wait(longest, || word.load(crate::sync::Ordering::Acquire) != expected);
}

/// Nobody sleeps for long.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn wake_at(_: &crate::sync::AtomicU32) {}

/// Says something on standard error. Not by `eprintln!`, which panics where nobody listens.
pub(crate) fn complain(text: core::fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "telemetry: {text}");
}
