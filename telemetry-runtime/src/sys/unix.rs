//! Unix: straight to libc, because nothing on an event's path may allocate or take a lock.
#![allow(unsafe_code)]

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::sync::AtomicU32;
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
    // Elsewhere no memory is set aside for a mapping anyway.
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

/// The path of the program.
pub(crate) fn program(into: &mut impl core::fmt::Write) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let mut path = [0_u8; 1024];
        // SAFETY: the buffer is of the given length.
        let len = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
        let text = path.get(..usize::try_from(len).unwrap_or(0)).unwrap_or_default();
        let _ = into.write_str(core::str::from_utf8(text).unwrap_or_default());
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    if let Ok(path) = std::env::current_exe() {
        let _ = into.write_str(&path.to_string_lossy());
    }
}

/// The name of the machine.
pub(crate) fn host(into: &mut impl core::fmt::Write) {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is one byte longer than the given length, so that it ends in NUL.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let name = core::ffi::CStr::from_bytes_until_nul(&name).unwrap_or_default();
    let _ = into.write_str(name.to_str().unwrap_or_default());
}

/// Processors in use; 0 if the system does not say.
pub(crate) fn cpus() -> u64 {
    // SAFETY: takes no pointer.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(0)
}

/// What `f` makes of an environment variable, whatever bytes it has, without allocating.
pub(crate) fn with_env<T>(name: &core::ffi::CStr, f: impl FnOnce(&[u8]) -> T) -> Option<T> {
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

/// A path from the root on, without allocating; nothing if there is no room for it.
pub(crate) fn absolute<const N: usize>(path: &[u8], into: &mut crate::text::Buffer<N>) -> Option<()> {
    if !path.starts_with(b"/") {
        let mut dir = [0_u8; 1024];
        // SAFETY: the buffer is of the given length.
        if unsafe { libc::getcwd(dir.as_mut_ptr().cast(), dir.len()) }.is_null() {
            return None;
        }
        into.push(core::ffi::CStr::from_bytes_until_nul(&dir).ok()?.to_bytes()).ok()?;
        into.push(b"/").ok()?;
    }
    into.push(path.strip_prefix(b"./").unwrap_or(path)).ok()
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
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: the buffer is of the given length, and 16 is what the call needs on Linux.
    unsafe {
        libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len());
    }
    name
}

/// Nobody tells.
#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
pub(crate) fn thread_name() -> [u8; 16] {
    [0; 16]
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

/// Has the shared library that this code is in stay loaded, if it is in one: threads of it run to the end of the
/// process, and so may hooks of the system's. Allocates.
pub(crate) fn stay_loaded() {
    let library = object_of(stay_loaded as *const core::ffi::c_void);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: takes no pointer.
    let program = object_of(unsafe { libc::getauxval(libc::AT_ENTRY) } as *const core::ffi::c_void);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let program: Option<libc::Dl_info> = None;
    if let Some(library) = library
        && program.is_none_or(|program| program.dli_fbase != library.dli_fbase)
    {
        // SAFETY: the name ends in NUL. To load what is loaded runs nothing.
        unsafe { libc::dlopen(library.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

/// What an address is in: the program or a library, with its name.
fn object_of(address: *const core::ffi::c_void) -> Option<libc::Dl_info> {
    // SAFETY: the address is only looked up, and the result is filled in where it is of use.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        (libc::dladdr(address, &mut found) != 0 && !found.dli_fname.is_null()).then_some(found)
    }
}

/// Has `at_exit` called at `exit`.
pub(crate) fn at_process_exit(at_exit: extern "C" fn()) {
    // SAFETY: the function is sound to call at any time and lives as long as the program.
    unsafe { libc::atexit(at_exit) };
}

/// Has functions called before a `fork`, and after it in the parent and in the child.
pub(crate) fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: as above.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

/// Gives back what [`map`] gave.
///
/// # Safety
/// Nothing may use the memory any more.
pub(crate) unsafe fn unmap(at: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(at.cast(), len) };
}

/// Starts a thread that nobody joins, without touching the program's allocator or thread-locals. `main` is
/// given `what`.
pub(crate) fn spawn(
    main: extern "C" fn(*mut core::ffi::c_void) -> *mut core::ffi::c_void,
    what: *mut core::ffi::c_void,
) -> bool {
    // SAFETY: all signals are blocked while the thread starts, so that it, which inherits the mask,
    // never runs a handler of the program; the mask is then put back as it was. `main` lives as long as
    // the program, and knows what it is given.
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

/// Sleeps for a moment.
pub(crate) fn pause() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
    // SAFETY: the pointer is to a timespec of our own; the rest, if a signal cuts it short, is not wanted.
    unsafe { libc::nanosleep(&time, core::ptr::null_mut()) };
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    // SAFETY: takes no arguments; its result does not matter.
    unsafe { libc::sched_yield() };
}

/// Sleeps while a word is what is expected, for so long at most, or until somebody wakes those who sleep at it.
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

/// Wakes all who sleep at a word. Neither allocates nor locks.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn wake_at(word: &AtomicU32) {
    // SAFETY: only the address of the word is used.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX);
    }
}
