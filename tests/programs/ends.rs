//! Ends in the way that its argument names, without flushing its events.

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
mod work {}

fn emit() {
    for number in 0..1000_u64 {
        work::alloc!(number, number, number, 1);
    }
}

fn main() {
    emit();
    std::thread::spawn(emit).join().expect("a thread that only emits");
    match std::env::args().nth(1).expect("how to end").as_str() {
        "return" => {}
        "return while others emit" => {
            for _ in 0..3 {
                std::thread::spawn(|| (0..u64::MAX).for_each(|number| work::fix!(number, number, number, 1)));
            }
            // Not before they do.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        "exit" => std::process::exit(3),
        "exit in a thread" => {
            std::thread::spawn(|| std::process::exit(3)).join().expect("nothing: the process ends")
        }
        "panic" => panic!("in main"),
        "panic in a thread" => {
            std::thread::spawn(|| panic!("in a thread")).join().expect_err("a panic");
        }
        // The events of a panicking thread, and all others, are written at once.
        "panic and abort" => {
            // After the runtime's own thread has started, which takes microseconds.
            std::thread::sleep(std::time::Duration::from_millis(200));
            emit();
            std::panic::catch_unwind(|| panic!("before an abort")).expect_err("a panic");
            std::process::abort();
        }
        // The build aborts at a panic.
        "abort by panic" => {
            std::thread::sleep(std::time::Duration::from_millis(200));
            emit();
            panic!("which aborts")
        }
        other => panic!("no such end: {other}"),
    }
}
