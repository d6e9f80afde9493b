//! Threads: their names and ends, how they start, sleep and wake each other, and a barrier for all.
#![allow(unsafe_code)]

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::sys::atomic::AtomicU32;
use crate::sys::atomic::{AtomicUsize, Ordering};

/// Returns the system's number of this thread.
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

/// Returns the name of this thread, padded with NUL.
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: the buffer has the given length, and the call needs 16 bytes on Linux.
    unsafe {
        libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len());
    }
    name
}

/// The system does not tell.
#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
pub(crate) fn thread_name() -> [u8; 16] {
    [0; 16]
}

/// The key whose destructor runs at the end of a thread, plus 1; 0 is none yet.
static KEY: AtomicUsize = AtomicUsize::new(0);

/// Calls `on_exit` at the end of this thread, after the destructors of its thread-locals.
///
/// Uses a key, not a thread-local with `Drop`. The destructors of keys run last, so that events of
/// other destructors still find their lanes. To set a key neither allocates nor locks.
pub(crate) fn at_thread_exit(on_exit: unsafe extern "C" fn(*mut core::ffi::c_void)) -> bool {
    let mut key = KEY.load(Ordering::Acquire);
    if key == 0 {
        let mut fresh: libc::pthread_key_t = 0;
        // SAFETY: the pointer is to a local key.
        if unsafe { libc::pthread_key_create(&mut fresh, Some(on_exit)) } != 0 {
            return false;
        }
        key = match KEY.compare_exchange(0, fresh as usize + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh as usize + 1,
            Err(theirs) => {
                // SAFETY: another thread was first, and this key was never used.
                unsafe { libc::pthread_key_delete(fresh) };
                theirs
            }
        };
    }
    // SAFETY: the key exists. For any value but null the system calls the destructor.
    unsafe { libc::pthread_setspecific((key - 1) as libc::pthread_key_t, core::ptr::dangling()) == 0 }
}

/// Starts a detached thread that calls `main` with `what`. Uses neither the program's allocator nor
/// its thread-locals.
pub(crate) fn spawn(
    main: extern "C" fn(*mut core::ffi::c_void) -> *mut core::ffi::c_void,
    what: *mut core::ffi::c_void,
) -> bool {
    // SAFETY: all signals are blocked while the thread starts. The thread inherits the mask and so
    // never runs a handler of the program; the mask is then restored. `main` lives as long as the
    // program, and knows the type of its argument.
    unsafe {
        let (mut all, mut before) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let mut thread = core::mem::zeroed();
        let failed = libc::pthread_create(&mut thread, core::ptr::null(), main, what);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
        if failed == 0 {
            libc::pthread_detach(thread);
        }
        failed == 0
    }
}

/// Sleeps for a moment.
pub(crate) fn pause() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
    // SAFETY: the pointer is to a local timespec. The remaining time after a signal is not needed.
    unsafe { libc::nanosleep(&time, core::ptr::null_mut()) };
}

/// Registers the process for [`barrier`]. Returns false if the system has none. May take some
/// milliseconds.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn register_barrier() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// Makes every thread of the process pass a memory barrier before this returns. Returns false if it
/// did not.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn barrier() -> bool {
    membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// These systems have no such barrier.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn register_barrier() -> bool {
    false
}

/// Makes no barrier.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn barrier() -> bool {
    false
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    // SAFETY: takes no arguments, and its result does not matter.
    unsafe { libc::sched_yield() };
}

/// Sleeps while a word has the expected value, for `longest` at most, or until a thread wakes the
/// sleepers.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn sleep_at(word: &AtomicU32, expected: u32, longest: core::time::Duration) {
    let time = libc::timespec {
        tv_sec: longest.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: longest.subsec_nanos() as _,
    };
    // SAFETY: the word outlives the call, which reads it and the time.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            &time,
        );
    }
}

/// Wakes all threads that sleep at a word. Neither allocates nor locks.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn wake_at(word: &AtomicU32) {
    // SAFETY: only the address of the word is used.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX);
    }
}
