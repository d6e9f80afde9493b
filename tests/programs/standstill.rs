//! Stops where a debugger can break, with events of two threads in memory, and goes on.

use std::ffi::{CString, c_char, c_int};

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
mod work {}

unsafe extern "C" {
    fn telemetry_set(words: *const c_char) -> c_int;
    fn telemetry_reset(words: *const c_char) -> c_int;
    fn telemetry_dump(path: *const c_char) -> c_int;
    fn telemetry_flush();
    fn telemetry_describe_last(events: c_int);
}

/// Where debuggers break.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn stand_still(number: u64) {
    std::hint::black_box(number);
}

/// What the functions say to arguments that are none.
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
}

fn main() {
    let emit = |thread: u32| (0..1000_u64).for_each(|number| work::alloc!(number, 0_u64, number, thread));
    emit(1);
    let (done, wait) = std::sync::mpsc::channel();
    let (over, rest) = std::sync::mpsc::channel::<()>();
    let other = std::thread::Builder::new().name("other".into()).spawn(move || {
        emit(2);
        done.send(()).expect("a main thread");
        // There while the debugger looks.
        let _ = rest.recv();
    });
    wait.recv().expect("a thread that emits");
    if std::env::args().nth(1).as_deref() == Some("misuse") {
        misuse();
    }
    stand_still(1000);
    work::tick!();
    work::tick!();
    // SAFETY: takes nothing.
    unsafe { telemetry_flush() };
    stand_still(2000);
    drop(over);
    other.expect("a thread").join().expect("an end");
}
