//! Emits on several threads until it is killed. After each event it writes the number of the
//! thread's events to a file that is mapped like the ring file.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
mod work {}

const THREADS: usize = 4;

/// The numbers of the threads, in the file `told`.
fn told() -> &'static [AtomicU64] {
    let file = std::fs::File::options().read(true).write(true).create(true).truncate(true).open("told");
    let file = file.expect("a file");
    file.set_len(4096).expect("room in the file");
    // SAFETY: a new mapping of a file that never becomes shorter.
    unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        assert_ne!(at, libc::MAP_FAILED);
        std::slice::from_raw_parts(at.cast(), THREADS)
    }
}

fn main() {
    // Nanoseconds between events, so that the pool holds all of them; 0 for no pause.
    let pause: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let told = told();
    std::thread::scope(|scope| {
        for (thread, told) in told.iter().enumerate() {
            scope.spawn(move || {
                for number in 0.. {
                    work::alloc!(number, number << (number % 40), number, thread as u32);
                    told.store(number + 1, Ordering::Release);
                    if pause > 0 {
                        std::thread::sleep(Duration::from_nanos(pause));
                    }
                }
            });
        }
    });
}
