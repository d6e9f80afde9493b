//! Stops where a debugger can break, with events of two threads in memory, and continues.

use std::ffi::{CString, c_char, c_int};

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
mod work {}

unsafe extern "C" {
    fn telemetry_set(words: *const c_char) -> c_int;
    fn telemetry_reset(words: *const c_char) -> c_int;
    fn telemetry_get(words: *mut c_char, size: usize) -> usize;
    fn telemetry_dump(path: *const c_char) -> c_int;
    fn telemetry_flush();
    fn telemetry_describe_last(events: c_int);
}

/// The function where debuggers break.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn stand_still(number: u64) {
    std::hint::black_box(number);
}

/// The function in C where debuggers break, in the library that the environment names, if any.
fn stand_still_in_c() {
    let Ok(path) = std::env::var("STANDSTILL_LIBRARY") else { return };
    let path = CString::new(path).expect("no NUL");
    // SAFETY: the library has a function of this name that takes and gives nothing.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "no library {path:?}");
        let function = libc::dlsym(library, c"stand_still_in_c".as_ptr());
        assert!(!function.is_null(), "no function in {path:?}");
        std::mem::transmute::<*mut libc::c_void, extern "C" fn()>(function)();
    }
}

/// The results of the functions for invalid arguments.
fn misuse() {
    let text = |text: &str| CString::new(text).expect("no NUL");
    let (empty, long, full) = (text(""), text(&"x".repeat(5000)), text("/dev/full"));
    let latin = CString::new(b"\xe4".to_vec()).expect("no NUL");
    // SAFETY: all pointers are null or to texts that end in NUL.
    let numbers = unsafe {
        telemetry_describe_last(-1);
        telemetry_describe_last(0);
        [
            telemetry_set(std::ptr::null()),
            telemetry_set(latin.as_ptr()),
            telemetry_set(long.as_ptr()),
            telemetry_reset(std::ptr::null()),
            telemetry_reset(empty.as_ptr()),
            telemetry_dump(std::ptr::null()),
            telemetry_dump(long.as_ptr()),
            telemetry_dump(empty.as_ptr()),
            telemetry_dump(full.as_ptr()),
        ]
    };
    println!("{numbers:?}");
    let (everything, words) = (text("all"), text("Fix größe"));
    let mut buffer = [1_u8; 8];
    // SAFETY: the texts end in NUL, and the buffer is as long as is said.
    let lengths = unsafe {
        telemetry_reset(everything.as_ptr());
        telemetry_set(words.as_ptr());
        let at = buffer.as_mut_ptr().cast::<c_char>();
        let lengths = [telemetry_get(std::ptr::null_mut(), 8), telemetry_get(at, 0), telemetry_get(at, 8)];
        telemetry_reset(everything.as_ptr());
        lengths
    };
    let got = std::ffi::CStr::from_bytes_until_nul(&buffer).expect("a NUL");
    let [null, none, cut] = lengths;
    println!("{null} {none} {cut} `{}`", got.to_str().expect("UTF-8"));
}

fn main() {
    let emit = |thread: u32| (0..1000_u64).for_each(|number| work::alloc!(number, 0_u64, number, thread));
    emit(1);
    let (done, wait) = std::sync::mpsc::channel();
    let (over, rest) = std::sync::mpsc::channel::<()>();
    let other = std::thread::Builder::new().name("other".into()).spawn(move || {
        emit(2);
        done.send(()).expect("a main thread");
        // This thread lives while the debugger looks.
        let _ = rest.recv();
    });
    wait.recv().expect("a thread that emits");
    if std::env::args().nth(1).as_deref() == Some("misuse") {
        misuse();
    }
    stand_still_in_c();
    stand_still(1000);
    work::tick!();
    work::tick!();
    // SAFETY: takes nothing.
    unsafe { telemetry_flush() };
    stand_still(2000);
    drop(over);
    other.expect("a thread").join().expect("an end");
}
