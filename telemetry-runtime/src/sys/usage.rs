//! What the system says that the process uses.
#![allow(unsafe_code)]

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
use crate::sys::machine::page_size;

/// The numbers of a process, from its start on; 0 where the system does not say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Bytes of memory that are resident now.
    pub(crate) resident: u64,
    /// Processor time in the program and in the system, in nanoseconds.
    pub(crate) user: u64,
    pub(crate) system: u64,
    /// Page faults without and with input or output.
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    /// Context switches of threads that waited, and of threads that could run.
    pub(crate) waits: u64,
    pub(crate) preemptions: u64,
}

/// Returns what the process uses.
#[cfg(all(unix, not(miri)))]
pub(crate) fn usage() -> Usage {
    // SAFETY: zeros are valid, and the call fills them.
    let found = unsafe {
        let mut found: libc::rusage = core::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &mut found) < 0 {
            return Usage::default();
        }
        found
    };
    // None of the numbers is negative. Their types differ between systems.
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
    let nanoseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    #[allow(clippy::unnecessary_cast)]
    Usage {
        resident: resident(),
        user: nanoseconds(found.ru_utime),
        system: nanoseconds(found.ru_stime),
        minor_faults: found.ru_minflt as u64,
        major_faults: found.ru_majflt as u64,
        waits: found.ru_nvcsw as u64,
        preemptions: found.ru_nivcsw as u64,
    }
}

#[cfg(any(not(unix), miri))]
pub(crate) fn usage() -> Usage {
    Usage::default()
}

/// Returns the resident memory in bytes. Does not allocate.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
fn resident() -> u64 {
    let mut text = [0_u8; 128];
    // SAFETY: the path ends in NUL, the buffer has the given length, and only this code uses the
    // descriptor.
    let len = unsafe {
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return 0;
        }
        let len = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        len
    };
    let text = text.get(..usize::try_from(len).unwrap_or(0)).unwrap_or_default();
    // The second number is the resident pages.
    let pages = core::str::from_utf8(text).ok().and_then(|text| text.split(' ').nth(1)?.parse().ok());
    pages.unwrap_or(0_u64) * page_size().unwrap_or(4096)
}

#[cfg(all(unix, not(miri), not(any(target_os = "linux", target_os = "android"))))]
fn resident() -> u64 {
    0
}
