//! Rust and C in one process, with two registries: both record in the same lanes.

#[telemetry::telemetry_event("registries/hard.toml", c)]
pub mod hard {}

#[telemetry::telemetry_event("registries/events.toml", c)]
pub mod heap {}

unsafe extern "C" {
    /// Emits a step and the end of a block.
    fn step_in_c(number: u32);
}

fn main() {
    hard::step!("rust", 1);
    // SAFETY: it only emits.
    unsafe { step_in_c(2) };
    heap::freed!(0x20_usize);
    hard::step!("rust", 3);
}
