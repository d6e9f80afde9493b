//! A program with events that loads a shared library and uses it: `host LIBRARY ROUNDS`.
//!
//! A third argument makes it close the library (`close`), or repeatedly load, use and close it
//! (`again`). With `wait`, it waits to be killed once both can be found.

use std::ffi::{CString, OsStr};
use std::thread;
use std::time::{Duration, Instant};

use telemetry::telemetry_event;

#[telemetry_event("events.toml")]
pub mod events {}

/// The number of threads that use both.
const THREADS: u64 = 4;

fn main() {
    let mut args = std::env::args().skip(1);
    let library = args.next().expect("a library");
    let rounds: u64 = args.next().expect("a number of rounds").parse().expect("a number of rounds");
    let mode = args.next();
    events::started!("before the library");
    if mode.as_deref() == Some("again") {
        return again(&library);
    }
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
    match mode.as_deref() {
        Some("wait") => {
            // For each runtime, a socket and a link to the ring file.
            let dir = std::env::var_os("TELEMETRY_SOCKET").expect("a directory of sockets");
            let since = Instant::now();
            while entries(&dir) < 4 {
                let found = entries(&dir);
                assert!(since.elapsed() < Duration::from_secs(30), "found {found} entries, expected 4");
                thread::sleep(Duration::from_millis(2));
            }
            println!("done");
            loop {
                thread::park();
            }
        }
        Some("close") => {
            // The thread of the library's drain has started by now, and keeps the library loaded.
            thread::sleep(std::time::Duration::from_millis(200));
            // SAFETY: the handle is the library's, and no thread calls its function any longer.
            assert_eq!(unsafe { libc::dlclose(library as *mut libc::c_void) }, 0);
            thread::sleep(std::time::Duration::from_millis(200));
        }
        _ => {}
    }
}

/// The number of sockets and links. The name of a socket that does not listen yet begins with a
/// dot.
fn entries(dir: &OsStr) -> usize {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
}

/// Loads, uses and closes the library right after its first event. The library's threads have not
/// run yet, because this thread keeps the only processor. A thread that used it ends later, and the
/// process forks.
fn again(path: &str) {
    // SAFETY: the set is of the given size.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(usize::try_from(libc::sched_getcpu()).expect("a processor"), &mut one);
        libc::sched_setaffinity(0, size_of_val(&one), &one);
    }
    for round in 0..3 {
        let (library, look_up) = load(path, "plugin_look_up");
        // At first no other thread uses it: its thread-locals may keep the library loaded.
        let (used, is_used) = std::sync::mpsc::channel();
        let (close, is_closed) = std::sync::mpsc::channel::<()>();
        let other = (round > 0).then(|| {
            let other = thread::spawn(move || {
                look_up(2 * round);
                used.send(()).expect("a thread that waits");
                is_closed.recv().expect_err("a thread that closes");
            });
            is_used.recv().expect("a thread that uses the library");
            other
        });
        look_up(2 * round + 1);
        // SAFETY: the handle is the library's, and no thread calls its function any longer.
        assert_eq!(unsafe { libc::dlclose(library as *mut libc::c_void) }, 0);
        drop(close);
        if let Some(other) = other {
            other.join().expect("a thread that ends");
        }
        // SAFETY: the child does nothing but end.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(0);
            }
            let mut status = 0;
            libc::waitpid(child, &mut status, 0);
            assert_eq!(status, 0, "the child ends well");
        }
        // Code that would run without the library has run by now.
        thread::sleep(std::time::Duration::from_millis(20));
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
