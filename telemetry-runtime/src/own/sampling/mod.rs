//! Samples of threads: what each does when its timer expires.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod threads;
mod words;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
use telemetry_format::Notice;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) use self::threads::{begin, reset_in_child, warn};
pub(crate) use self::words::{EXPECTED, Sampling};
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
use crate::sys;

/// Reports that threads are not sampled here.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
pub(crate) fn begin(_: Sampling) {
    let text = format_args!("no thread is sampled: only Linux on x86-64 and aarch64 has the timers for it");
    sys::report(Notice::SamplingFailed, text);
}

/// Has nothing to report.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
pub(crate) fn warn() {}

/// Has nothing to forget.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
pub(crate) fn reset_in_child() {}
