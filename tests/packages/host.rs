//! A program that loads a shared library and uses it beside what it tells itself: `host LIBRARY ROUNDS`, and a
//! third argument has it wait to be killed (`wait`) or close the library (`close`).

use std::ffi::CString;
use std::thread;

use telemetry::telemetry_event;

#[telemetry_event("events.toml")]
pub mod events {}

/// So many threads use both.
const THREADS: u64 = 4;

fn main() {
    let mut args = std::env::args().skip(1);
    let library = args.next().expect("a library");
    let rounds: u64 = args.next().expect("a number of rounds").parse().expect("a number of rounds");
    events::started!("before the library");
    let (library, look_up) = load(&library, "plugin_look_up");
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            thread::spawn(move || {
                for key in number * rounds..(number + 1) * rounds {
                    events::started!("beside the library");
                    look_up(key);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread that ends"));
    match args.next().as_deref() {
        Some("wait") => {
            println!("done");
            loop {
                thread::park();
            }
        }
        Some("close") => {
            // Its drain's thread has begun by now, which keeps what it needs.
            thread::sleep(std::time::Duration::from_millis(200));
            // SAFETY: the handle is the library's, and nobody calls its function any more.
            assert_eq!(unsafe { libc::dlclose(library as *mut libc::c_void) }, 0);
            thread::sleep(std::time::Duration::from_millis(200));
        }
        _ => {}
    }
}

/// A library, and a function of it.
fn load(library: &str, name: &str) -> (usize, extern "C" fn(u64)) {
    let (library, name) = (CString::new(library).expect("a path"), CString::new(name).expect("a name"));
    // SAFETY: both are strings that end in NUL, and the function of the name has the type.
    unsafe {
        let library = libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!library.is_null(), "the library can be loaded");
        let function = libc::dlsym(library, name.as_ptr());
        assert!(!function.is_null(), "the library has the function");
        (library as usize, std::mem::transmute::<*mut libc::c_void, extern "C" fn(u64)>(function))
    }
}
