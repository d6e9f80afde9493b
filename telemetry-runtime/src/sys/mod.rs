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
pub(crate) use ring::{RingFile, ring_at};
#[cfg(all(unix, not(miri)))]
pub(crate) use signals::*;
#[cfg(all(unix, not(miri)))]
pub(crate) use unix::*;

#[cfg(any(not(unix), miri))]
mod other;
#[cfg(any(not(unix), miri))]
pub(crate) use other::*;

/// Why a file cannot be the ring.
#[cfg_attr(any(not(unix), miri), expect(dead_code, reason = "there are no ring files"))]
pub(crate) enum NoRing {
    /// A running process has it, or another copy of the runtime in this one.
    Busy,
    /// It is there, and is something else.
    Foreign,
    /// It is an old ring, and where that would go is something else.
    Old,
    /// The system says so.
    System(std::io::Error),
}

impl From<std::io::Error> for NoRing {
    fn from(error: std::io::Error) -> Self {
        NoRing::System(error)
    }
}

impl core::fmt::Display for NoRing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            NoRing::Busy => f.write_str("a running process has it"),
            NoRing::Foreign => {
                f.write_str("found something else there, expected nothing or the ring of an earlier process")
            }
            NoRing::Old => f.write_str(
                "found one of an earlier process, and behind `.old`, where that would go, something else, \
                 expected nothing or an older ring",
            ),
            NoRing::System(error) => error.fmt(f),
        }
    }
}

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
