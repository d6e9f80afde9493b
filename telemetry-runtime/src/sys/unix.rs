//! Unix: calls libc directly, because nothing on an event's path may allocate or take a lock.
#![allow(unsafe_code)]

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::sys::atomic::AtomicU32;
use crate::sys::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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

/// Writes the path of the program.
pub(crate) fn program(into: &mut impl core::fmt::Write) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let mut path = [0_u8; 1024];
        // SAFETY: the buffer has the given length.
        let len = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
        let text = path.get(..usize::try_from(len).unwrap_or(0)).unwrap_or_default();
        let _ = into.write_str(core::str::from_utf8(text).unwrap_or_default());
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    if let Ok(path) = std::env::current_exe() {
        let _ = into.write_str(&path.to_string_lossy());
    }
}

/// Returns the number of bytes in a page of memory.
pub(crate) fn page_size() -> Option<u64> {
    // SAFETY: takes no pointer.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()
}

/// Writes the name and release of the kernel.
pub(crate) fn kernel(into: &mut impl core::fmt::Write) {
    // SAFETY: zeros are valid, and the call fills them with text that ends in NUL.
    let found = unsafe {
        let mut found: libc::utsname = core::mem::zeroed();
        if libc::uname(&mut found) < 0 {
            return;
        }
        found
    };
    for (before, text) in [("", &found.sysname), (" ", &found.release)] {
        // SAFETY: the text ends in NUL.
        let text = unsafe { core::ffi::CStr::from_ptr(text.as_ptr()) };
        let _ = into.write_str(before);
        let _ = into.write_str(text.to_str().unwrap_or_default());
    }
}

/// Writes the working directory. Writes nothing if there is none, or if its path is too long.
pub(crate) fn directory(into: &mut crate::sys::text::Buffer<1024>) {
    let mut dir = [0_u8; 1024];
    // SAFETY: the buffer has the given length.
    if !unsafe { libc::getcwd(dir.as_mut_ptr().cast(), dir.len()) }.is_null() {
        let dir = core::ffi::CStr::from_bytes_until_nul(&dir).unwrap_or_default();
        let _ = into.push(dir.to_bytes());
    }
}

/// Maximum number of bytes of a process's arguments that are read.
#[cfg(any(target_os = "linux", target_os = "android"))]
const MAX_ARGUMENTS_LEN: usize = 1 << 16;

/// Calls `each` with each argument of the process, the program's name first. Does not allocate.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn each_argument(each: impl FnMut(&[u8])) {
    let Some(at) = map(MAX_ARGUMENTS_LEN) else { return };
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends in NUL. Only this code uses the descriptor, and the memory, which has
    // the given length.
    let text = unsafe {
        let file = libc::open(c"/proc/self/cmdline".as_ptr(), flags);
        let mut len = 0;
        while let Ok(more @ 1..) =
            usize::try_from(libc::read(file, at.add(len).cast(), MAX_ARGUMENTS_LEN - len))
        {
            len += more;
        }
        if file >= 0 {
            libc::close(file);
        }
        core::slice::from_raw_parts(at, len)
    };
    text.strip_suffix(b"\0").unwrap_or(text).split(|&byte| byte == 0).for_each(each);
    // SAFETY: nothing uses the memory any more.
    unsafe { unmap(at, MAX_ARGUMENTS_LEN) };
}

/// Other systems do not tell without an allocation.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn each_argument(_: impl FnMut(&[u8])) {}

/// Writes the name of the machine.
pub(crate) fn host(into: &mut impl core::fmt::Write) {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is one byte longer than the given length, so that it ends in NUL.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let name = core::ffi::CStr::from_bytes_until_nul(&name).unwrap_or_default();
    let _ = into.write_str(name.to_str().unwrap_or_default());
}

/// Returns the number of processors in use, or 0 if the system does not say.
pub(crate) fn cpus() -> u64 {
    // SAFETY: takes no pointer.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(0)
}

/// Returns the user that owns the files that this process creates.
pub(crate) fn user() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns true if the program has rights that the user who started it does not have. That user
/// sets the environment, so it is not to be trusted then.
pub(crate) fn is_privileged() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: takes no pointer.
    let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
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

/// Keeps the shared library that contains this code loaded, if there is one. Threads of the library
/// run to the end of the process, and so may its hooks. Called before such a thread is started. In
/// a library, takes the loader's lock and allocates.
pub(crate) fn pin_library() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if is_in_program(pin_library as *const () as usize) || DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    if let Some(library) = object_of(pin_library as *const core::ffi::c_void) {
        // SAFETY: the name ends in NUL. To load a library that is loaded runs no code of it.
        unsafe { libc::dlopen(library.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

/// Returns true if the program's own headers contain an address. Needs no lock.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_in_program(address: usize) -> bool {
    #[cfg(target_pointer_width = "32")]
    use libc::Elf32_Phdr as Phdr;
    #[cfg(target_pointer_width = "64")]
    use libc::Elf64_Phdr as Phdr;
    // SAFETY: takes no pointers.
    let (at, len) = unsafe { (libc::getauxval(libc::AT_PHDR) as usize, libc::getauxval(libc::AT_PHNUM)) };
    if at == 0 {
        return false;
    }
    // SAFETY: the kernel says that there are `len` headers, which stay mapped as long as the
    // program runs.
    let headers = unsafe { core::slice::from_raw_parts(at as *const Phdr, len as usize) };
    // The distance between where the program is and where it was linked to be.
    let own = headers.iter().find(|header| header.p_type == libc::PT_PHDR);
    let moved = own.map_or(0, |own| at.wrapping_sub(own.p_vaddr as usize));
    headers.iter().filter(|header| header.p_type == libc::PT_LOAD).any(|header| {
        let from = moved.wrapping_add(header.p_vaddr as usize);
        address.wrapping_sub(from) < header.p_memsz as usize
    })
}

/// Always false, since these systems do not tell. To keep the program loaded does no harm.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_in_program(_address: usize) -> bool {
    false
}

/// Finds the program or the library that contains an address, and its name.
fn object_of(address: *const core::ffi::c_void) -> Option<libc::Dl_info> {
    // SAFETY: the address is only looked up, and the result is used only if the call has filled it
    // in.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        (libc::dladdr(address, &mut found) != 0 && !found.dli_fname.is_null()).then_some(found)
    }
}

/// Calls `at_exit` when the process calls `exit`.
pub(crate) fn at_process_exit(at_exit: extern "C" fn()) {
    // SAFETY: the function may be called at any time, and lives as long as the program.
    unsafe { libc::atexit(at_exit) };
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
