//! Unix: calls libc directly, because nothing on an event's path may allocate or take a lock.
#![allow(unsafe_code)]

use crate::sys::atomic::{AtomicU64, Ordering};

/// Returns the time of the monotonic clock in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Returns nanoseconds since 1970-01-01 UTC, advancing with the monotonic clock.
pub(crate) fn wall_ns() -> u64 {
    static OFFSET: AtomicU64 = AtomicU64::new(0);
    let monotonic = monotonic_ns();
    let mut offset = OFFSET.load(Ordering::Relaxed);
    if offset == 0 {
        let fresh = clock(libc::CLOCK_REALTIME).wrapping_sub(monotonic);
        offset = match OFFSET.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => fresh,
            Err(theirs) => theirs,
        };
    }
    monotonic.wrapping_add(offset)
}

/// Returns the time of the clock that no correction reaches, in nanoseconds. Tracers of the system
/// can use it.
pub(crate) fn monotonic_raw_ns() -> Option<u64> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    let time = Some(clock(libc::CLOCK_MONOTONIC_RAW));
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    let time = None;
    time
}

fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local timespec.
    unsafe { libc::clock_gettime(id, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Maps `len` bytes of zeros. Returns `None` if there is no memory. Pages cost nothing until they
/// are touched.
pub(crate) fn map(len: usize) -> Option<*mut u8> {
    // Other systems do not reserve memory for a mapping anyway.
    #[cfg(not(any(target_os = "freebsd", target_os = "dragonfly")))]
    const UNRESERVED: libc::c_int = libc::MAP_NORESERVE;
    #[cfg(any(target_os = "freebsd", target_os = "dragonfly"))]
    const UNRESERVED: libc::c_int = 0;
    // SAFETY: asks for a new private mapping anywhere; touches no existing memory.
    let at = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | UNRESERVED,
            -1,
            0,
        )
    };
    (at != libc::MAP_FAILED).then_some(at.cast())
}

/// Returns true if the program has rights that the user who started it does not have. That user
/// sets the environment, so it is not to be trusted then.
pub(crate) fn is_privileged() -> bool {
    // The kernel says so once. The C library searches its list for it at each call.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let is_privileged = {
        static KNOWN: crate::sys::atomic::AtomicU8 = crate::sys::atomic::AtomicU8::new(0);
        if KNOWN.load(Ordering::Relaxed) == 0 {
            // SAFETY: takes no pointer.
            let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
            KNOWN.store(1 + u8::from(is_privileged), Ordering::Relaxed);
        }
        KNOWN.load(Ordering::Relaxed) == 2
    };
    #[cfg(any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "openbsd",
        target_os = "netbsd",
        target_os = "dragonfly"
    ))]
    // SAFETY: takes no arguments and cannot fail.
    let is_privileged = unsafe { libc::issetugid() } != 0;
    #[cfg(not(any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "openbsd",
        target_os = "netbsd",
        target_os = "dragonfly"
    )))]
    // SAFETY: the calls take no arguments and cannot fail.
    let is_privileged = unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() };
    is_privileged
}

/// Passes the value of an environment variable, which may be any bytes, to `f`. Does not allocate.
/// A [privileged](is_privileged) program has no variables.
pub(crate) fn with_env<T>(name: &core::ffi::CStr, f: impl FnOnce(&[u8]) -> T) -> Option<T> {
    if is_privileged() {
        return None;
    }
    // SAFETY: the name ends in NUL. The result points into the environment, which a program may
    // only change while no other thread reads it.
    let value = unsafe {
        let at = libc::getenv(name.as_ptr());
        if at.is_null() {
            return None;
        }
        core::ffi::CStr::from_ptr(at)
    };
    Some(f(value.to_bytes()))
}

/// Returns a variable of the environment that is not empty.
pub(crate) fn env(name: &core::ffi::CStr) -> Option<std::ffi::OsString> {
    use std::os::unix::ffi::OsStrExt;
    with_env(name, |value| std::ffi::OsStr::from_bytes(value).to_owned()).filter(|value| !value.is_empty())
}

/// Writes a path as an absolute one. Does not allocate. Returns `None` if there is no room for it.
pub(crate) fn absolute<const N: usize>(path: &[u8], into: &mut crate::sys::text::Buffer<N>) -> Option<()> {
    if !path.starts_with(b"/") {
        let mut dir = [0_u8; 1024];
        // SAFETY: the buffer has the given length.
        if unsafe { libc::getcwd(dir.as_mut_ptr().cast(), dir.len()) }.is_null() {
            return None;
        }
        into.push(core::ffi::CStr::from_bytes_until_nul(&dir).ok()?.to_bytes()).ok()?;
        into.push(b"/").ok()?;
    }
    into.push(path.strip_prefix(b"./").unwrap_or(path)).ok()
}

/// Calls `at_exit` when the process calls `exit`.
pub(crate) fn at_process_exit(at_exit: extern "C" fn()) {
    // SAFETY: the function may be called at any time, and lives as long as the program.
    unsafe { libc::atexit(at_exit) };
}

/// Calls `at_exit` with the status when the process calls `exit`, before all functions that are
/// registered already.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn at_process_status(at_exit: extern "C" fn(libc::c_int, *mut core::ffi::c_void)) {
    // The crate `libc` does not have it.
    unsafe extern "C" {
        fn on_exit(
            at_exit: extern "C" fn(libc::c_int, *mut core::ffi::c_void),
            with: *mut core::ffi::c_void,
        ) -> libc::c_int;
    }
    // SAFETY: as above. The function does not use its second argument.
    unsafe { on_exit(at_exit, core::ptr::null_mut()) };
}

/// Calls the functions before a `fork`, and after it in the parent and in the child.
pub(crate) fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: as above.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

/// Frees what [`map`] returned.
///
/// # Safety
/// Nothing may use the memory any more.
pub(crate) unsafe fn unmap(at: *mut u8, len: usize) {
    // SAFETY: by the contract of this function.
    unsafe { libc::munmap(at.cast(), len) };
}

/// Returns 64 bits that no other run has.
pub(crate) fn random() -> u64 {
    let mut bytes = [0u8; 8];
    #[cfg(target_os = "linux")]
    // SAFETY: the buffer has the given length.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), 8, 0) } == 8;
    #[cfg(not(target_os = "linux"))]
    // SAFETY: the buffer has the given length, which is below the call's limit of 256.
    let got = unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), 8) } == 0;
    if got {
        return u64::from_le_bytes(bytes);
    }
    let place = &bytes as *const _ as u64;
    (wall_ns() ^ place.rotate_left(32) ^ u64::from(std::process::id())).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Closes a descriptor whose owner is never dropped, because it belonged to a thread of the parent.
pub(crate) fn close_shared(owner: &impl std::os::fd::AsRawFd) {
    // SAFETY: the descriptor is open, and nothing in this process uses it again.
    unsafe { libc::close(owner.as_raw_fd()) };
}
