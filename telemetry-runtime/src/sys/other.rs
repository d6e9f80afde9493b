//! Systems without a Unix C library: the standard library's means. Events before `main` and inside
//! the program's own allocator are not supported there.
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

pub(crate) fn map(len: usize) -> Option<*mut u8> {
    use std::alloc::{GlobalAlloc, Layout, System};
    let layout = Layout::from_size_align(len, 4096).ok()?;
    // SAFETY: the layout is not empty; the memory is never given back.
    let at = unsafe { System.alloc_zeroed(layout) };
    (!at.is_null()).then_some(at)
}

pub(crate) fn env<'b>(name: &core::ffi::CStr, into: &'b mut [u8]) -> Option<&'b str> {
    let value = std::env::var(name.to_str().ok()?).ok()?;
    let room = into.get_mut(..value.len())?;
    room.copy_from_slice(value.as_bytes());
    core::str::from_utf8(room).ok()
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
            // SAFETY: the runtime's own function, which expects to be called at a thread's end.
            unsafe { (self.0)(core::ptr::null_mut()) }
        }
    }
    std::thread_local! { static EXIT: std::cell::RefCell<Option<Exit>> = const { std::cell::RefCell::new(None) } }
    EXIT.try_with(|exit| *exit.borrow_mut() = Some(Exit(on_exit))).is_ok()
}

unsafe extern "C" {
    fn atexit(callback: extern "C" fn()) -> core::ffi::c_int;
}

pub(crate) fn at_process_exit(at_exit: extern "C" fn(), _in_child: extern "C" fn()) {
    // SAFETY: part of the C library that Rust's standard library links on these systems.
    unsafe { atexit(at_exit) };
}

pub(crate) fn spawn(main: extern "C" fn(*mut core::ffi::c_void) -> *mut core::ffi::c_void) -> bool {
    let start = move || {
        main(core::ptr::null_mut());
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
