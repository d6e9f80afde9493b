//! Unix: straight to libc, because nothing on an event's path may allocate or take a lock.
#![allow(unsafe_code)]

use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// The monotonic clock in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970-01-01 UTC, advancing with the monotonic clock.
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

fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of our own.
    unsafe { libc::clock_gettime(id, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Maps `len` bytes of zeros, or nothing if there is no memory. Pages cost nothing until touched.
pub(crate) fn map(len: usize) -> Option<*mut u8> {
    // SAFETY: asks for a new private mapping anywhere; touches no existing memory.
    let at = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (at != libc::MAP_FAILED).then_some(at.cast())
}

/// Copies an environment variable into `into` without allocating. Longer ones are not used.
pub(crate) fn env<'b>(name: &core::ffi::CStr, into: &'b mut [u8]) -> Option<&'b str> {
    // SAFETY: the name ends in NUL. The result points into the environment, which a program may
    // only change while no other thread reads it; we copy it at once.
    let value = unsafe {
        let at = libc::getenv(name.as_ptr());
        if at.is_null() {
            return None;
        }
        core::ffi::CStr::from_ptr(at)
    };
    let bytes = value.to_bytes();
    let room = into.get_mut(..bytes.len())?;
    room.copy_from_slice(bytes);
    core::str::from_utf8(room).ok()
}

/// The system's number for this thread.
pub(crate) fn thread_id() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // SAFETY: takes no arguments and cannot fail.
        unsafe { libc::gettid() as u64 }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        // SAFETY: takes no arguments and cannot fail.
        unsafe { libc::pthread_self() as u64 }
    }
}

/// The name of this thread, NUL-padded.
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    // SAFETY: the buffer is of the given length, and 16 is what the call needs on Linux.
    unsafe {
        libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len());
    }
    name
}

/// Key whose destructor runs at the end of a thread, plus 1; 0 is none yet.
static KEY: AtomicUsize = AtomicUsize::new(0);

/// Has `on_exit` called at the end of this thread, after the destructors of its thread-locals.
///
/// Keys, not a thread-local with `Drop`: theirs run last, so that events of other destructors still
/// find their lanes; and setting one neither allocates nor locks.
pub(crate) fn at_thread_exit(on_exit: unsafe extern "C" fn(*mut core::ffi::c_void)) -> bool {
    let mut key = KEY.load(Ordering::Acquire);
    if key == 0 {
        let mut fresh: libc::pthread_key_t = 0;
        // SAFETY: the pointer is to a key of our own.
        if unsafe { libc::pthread_key_create(&mut fresh, Some(on_exit)) } != 0 {
            return false;
        }
        key = match KEY.compare_exchange(0, fresh as usize + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh as usize + 1,
            Err(theirs) => {
                // SAFETY: another thread was first; ours was never used.
                unsafe { libc::pthread_key_delete(fresh) };
                theirs
            }
        };
    }
    // SAFETY: the key exists; any value but null has the destructor called.
    unsafe { libc::pthread_setspecific((key - 1) as libc::pthread_key_t, core::ptr::dangling()) == 0 }
}

/// Has `at_exit` called at `exit`, and `in_child` in the child of a `fork`.
pub(crate) fn at_process_exit(at_exit: extern "C" fn(), in_child: extern "C" fn()) {
    // SAFETY: both functions are sound to call at any time and live as long as the program.
    unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(None, None, Some(in_child));
    }
}

/// Starts a thread that nobody joins, without touching the program's allocator or thread-locals.
pub(crate) fn spawn(main: extern "C" fn(*mut core::ffi::c_void) -> *mut core::ffi::c_void) -> bool {
    // SAFETY: all signals are blocked while the thread starts, so that it, which inherits the mask,
    // never runs a handler of the program; the mask is then put back as it was. `main` takes no
    // argument and lives as long as the program.
    unsafe {
        let (mut all, mut before) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let mut thread = core::mem::zeroed();
        let failed = libc::pthread_create(&mut thread, core::ptr::null(), main, core::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
        if failed == 0 {
            libc::pthread_detach(thread);
        }
        failed == 0
    }
}

/// Sixty-four bits that no other run has.
pub(crate) fn random() -> u64 {
    let mut bytes = [0u8; 8];
    #[cfg(target_os = "linux")]
    // SAFETY: the buffer is of the given length.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), 8, 0) } == 8;
    #[cfg(not(target_os = "linux"))]
    // SAFETY: the buffer is of the given length, below the call's limit of 256.
    let got = unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), 8) } == 0;
    if got {
        return u64::from_le_bytes(bytes);
    }
    let place = &bytes as *const _ as u64;
    (wall_ns() ^ place.rotate_left(32) ^ u64::from(std::process::id())).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    // SAFETY: takes no arguments; its result does not matter.
    unsafe { libc::sched_yield() };
}
