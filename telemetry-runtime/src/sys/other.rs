//! Systems without a Unix C library, by means of the standard library. Events before `main` and
//! events inside the program's own allocator are not supported there.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

fn start() -> &'static (Instant, u64) {
    static START: OnceLock<(Instant, u64)> = OnceLock::new();
    START.get_or_init(|| {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        (Instant::now(), wall)
    })
}

pub(crate) fn monotonic_ns() -> u64 {
    start().0.elapsed().as_nanos() as u64
}

pub(crate) fn wall_ns() -> u64 {
    monotonic_ns().wrapping_add(start().1)
}

/// Returns nothing: the standard library has no such clock.
pub(crate) fn monotonic_raw_ns() -> Option<u64> {
    None
}

pub(crate) fn map(len: usize) -> Option<*mut u8> {
    use std::alloc::{GlobalAlloc, Layout, System};
    let layout = Layout::from_size_align(len, 4096).ok()?;
    // SAFETY: the layout is not empty.
    let at = unsafe { System.alloc_zeroed(layout) };
    (!at.is_null()).then_some(at)
}

/// Ring files do not exist here.
pub(crate) struct RingFile;

impl RingFile {
    pub(crate) const fn new() -> RingFile {
        RingFile
    }

    pub(crate) fn open(
        &self,
        _: &core::ffi::CStr,
        _: telemetry_format::RingHead,
    ) -> Result<(), crate::sys::no_ring::NoRing> {
        Err(crate::sys::no_ring::NoRing::System(std::io::ErrorKind::Unsupported.into()))
    }

    pub(crate) fn path(&self) -> Option<&core::ffi::CStr> {
        None
    }

    pub(crate) fn is_open(&self) -> bool {
        false
    }

    pub(crate) fn map(&self, _: u64, _: usize) -> std::io::Result<*mut u8> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn part(&self) {}

    pub(crate) fn close(&self, _: bool) -> bool {
        false
    }
}

pub(crate) fn program(into: &mut impl core::fmt::Write) {
    if let Ok(path) = std::env::current_exe() {
        let _ = into.write_str(&path.to_string_lossy());
    }
}

/// The standard library does not have the calls that tell the page size.
pub(crate) fn page_size() -> Option<u64> {
    None
}

/// As above.
pub(crate) fn kernel(_: &mut impl core::fmt::Write) {}

pub(crate) fn directory(into: &mut crate::sys::text::Buffer<1024>) {
    if let Ok(dir) = std::env::current_dir() {
        let _ = into.push(dir.as_os_str().as_encoded_bytes());
    }
}

pub(crate) fn each_argument(mut each: impl FnMut(&[u8])) {
    std::env::args_os().for_each(|argument| each(argument.as_encoded_bytes()));
}

pub(crate) fn host(into: &mut impl core::fmt::Write) {
    let name = std::env::var("COMPUTERNAME").or_else(|_| std::env::var("HOSTNAME"));
    let _ = into.write_str(&name.unwrap_or_default());
}

pub(crate) fn cpus() -> u64 {
    std::thread::available_parallelism().map_or(0, |n| n.get() as u64)
}

/// Signals have no handlers that emit.
pub(crate) fn may_be_in_handler() -> bool {
    false
}

/// No program has more rights than the user who starts it.
pub(crate) fn is_privileged() -> bool {
    false
}

pub(crate) fn with_env<T>(name: &core::ffi::CStr, f: impl FnOnce(&[u8]) -> T) -> Option<T> {
    std::env::var_os(name.to_str().ok()?).map(|value| f(value.as_encoded_bytes()))
}

/// Returns a variable of the environment that is not empty.
pub(crate) fn env(name: &core::ffi::CStr) -> Option<std::ffi::OsString> {
    std::env::var_os(name.to_str().ok()?).filter(|value| !value.is_empty())
}

pub(crate) fn thread_id() -> u64 {
    0
}

pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    if let Some(own) = std::thread::current().name() {
        let len = own.floor_char_boundary(15.min(own.len()));
        name[..len].copy_from_slice(&own.as_bytes()[..len]);
    }
    name
}

pub(crate) fn at_thread_exit(on_exit: unsafe extern "C" fn(*mut core::ffi::c_void)) -> bool {
    struct Exit(unsafe extern "C" fn(*mut core::ffi::c_void));
    impl Drop for Exit {
        fn drop(&mut self) {
            // SAFETY: this is the runtime's own function, which expects to be called at the end of
            // a thread.
            unsafe { (self.0)(core::ptr::null_mut()) }
        }
    }
    std::thread_local! { static EXIT: std::cell::RefCell<Option<Exit>> = const { std::cell::RefCell::new(None) } }
    EXIT.try_with(|exit| *exit.borrow_mut() = Some(Exit(on_exit))).is_ok()
}

pub(crate) fn pin_library() {}

pub(crate) fn at_fork(_: extern "C" fn(), _: extern "C" fn(), _: extern "C" fn()) {}

/// Frees what [`map`] returned.
///
/// # Safety
/// Nothing may use the memory any more.
pub(crate) unsafe fn unmap(at: *mut u8, len: usize) {
    use std::alloc::{GlobalAlloc, Layout, System};
    if let Ok(layout) = Layout::from_size_align(len, 4096) {
        // SAFETY: by the contract of this function, and `map` allocated it with this layout.
        unsafe { System.dealloc(at, layout) };
    }
}

pub(crate) fn pause() {
    std::thread::sleep(std::time::Duration::from_micros(50));
}

#[cfg(miri)]
pub(crate) fn at_process_exit(_: extern "C" fn()) {}

#[cfg(not(miri))]
pub(crate) fn at_process_exit(at_exit: extern "C" fn()) {
    unsafe extern "C" {
        fn atexit(callback: extern "C" fn()) -> core::ffi::c_int;
    }
    // SAFETY: `atexit` is part of the C library that Rust's standard library links on these
    // systems.
    unsafe { atexit(at_exit) };
}

pub(crate) fn spawn(
    main: extern "C" fn(*mut core::ffi::c_void) -> *mut core::ffi::c_void,
    what: *mut core::ffi::c_void,
) -> bool {
    let what = core::sync::atomic::AtomicPtr::new(what);
    let start = move || {
        main(what.into_inner());
    };
    std::thread::Builder::new().name("telemetry".into()).spawn(start).is_ok()
}

pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

pub(crate) fn yield_now() {
    std::thread::yield_now();
}

pub(crate) fn without_sigpipe<T>(work: impl FnOnce() -> T) -> T {
    work()
}

pub(crate) fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// A file, or standard error.
pub(crate) enum Descriptor {
    Stderr,
    File(std::fs::File),
}

impl Descriptor {
    pub(crate) fn stderr() -> Self {
        Descriptor::Stderr
    }

    /// Creates a file, or empties it. Returns the system's error number on failure.
    pub(crate) fn create(path: &core::ffi::CStr) -> Result<Self, core::ffi::c_int> {
        let path = path.to_str().map_err(|_| crate::sys::errno::INVALID)?;
        std::fs::File::create(path).map(Descriptor::File).map_err(|error| number(&error))
    }

    /// Writes some of the bytes, and returns how many.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, core::ffi::c_int> {
        use std::io::Write;
        let written = match self {
            Descriptor::Stderr => std::io::stderr().write(bytes),
            Descriptor::File(file) => file.write(bytes),
        };
        written.map_err(|error| number(&error))
    }
}

fn number(error: &std::io::Error) -> core::ffi::c_int {
    error.raw_os_error().unwrap_or(crate::sys::errno::IO)
}

/// These systems have no barrier for all threads.
pub(crate) fn register_barrier() -> bool {
    false
}

/// Makes no barrier.
pub(crate) fn barrier() -> bool {
    false
}

/// Does nothing: a program gets no such signals here.
pub(crate) fn count_signal(_: usize, _: fn()) {}

/// Returns 0.
pub(crate) fn signals_so_far(_: usize) -> u32 {
    0
}

/// Closes nothing: there are no children of forks.
#[cfg(unix)]
pub(crate) fn close_shared(_: &impl std::os::fd::AsRawFd) {}
