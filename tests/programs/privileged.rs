//! Prints its rights and emits, by the environment or by the program's own configuration.
#![allow(clippy::print_stdout)]

use telemetry::{Config, telemetry_event};

#[telemetry_event("work.toml")]
mod work {}

fn main() {
    // SAFETY: takes no arguments and cannot fail.
    println!("user {}", unsafe { libc::geteuid() });
    match std::env::args().nth(1).as_deref() {
        Some("control") => _ = Config::new().control("all").start(),
        Some(path) => _ = Config::new().control("all").output(path).start(),
        None => {}
    }
    for number in 0..10_u64 {
        work::alloc!(number, number, number, 1);
    }
    println!("control {:?}", telemetry::get());
}
