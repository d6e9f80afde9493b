//! What the tests ask of the system: limits, disks, signals, forks.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::path::Path;

/// Files may not grow beyond this many bytes.
pub(crate) fn limit_file_size(bytes: u64) {
    limit(libc::RLIMIT_FSIZE, bytes);
}

/// A write beyond the limit is an error and not the end of the process.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal has no handler that could be unsound.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The process may have this many more bytes of memory than it has now.
pub(crate) fn limit_memory(more: u64) {
    let text = std::fs::read_to_string("/proc/self/statm").expect("what the kernel says of us");
    let pages = text.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    limit(libc::RLIMIT_AS, pages.expect("a number of pages") * 4096 + more);
}

fn limit(which: libc::__rlimit_resource_t, bytes: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given a limit of our own.
    let set = unsafe {
        libc::getrlimit(which, &mut limit);
        limit.rlim_cur = bytes.min(limit.rlim_max);
        libc::setrlimit(which, &limit)
    };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
}

/// Makes a directory a disk of 512 KiB, for this process only.
pub(crate) fn mount_small_disk(at: &Path) -> io::Result<()> {
    std::fs::create_dir_all(at)?;
    let path = CString::new(at.as_os_str().as_encoded_bytes())?;
    let check = |result| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: all strings end in NUL; the mounts are this process's own and end with it.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS))?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::mount(c"none".as_ptr(), c"/".as_ptr(), std::ptr::null(), private, std::ptr::null()))?;
        let size = c"size=512k".as_ptr().cast();
        check(libc::mount(c"tmpfs".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, size))
    }
}
