//! Records every allocation of a program in its global allocator, for `telemetry replay`.
//! It shows how to write a registry for that; `telemetry_std::Allocator` has one that is ready.
//!
//! ```sh
//! TELEMETRY_CONTROL=all TELEMETRY_FILENAME=alloc.tel cargo run --release --example alloc_trace
//! telemetry replay --compare alloc.tel
//! ```
//!
//! With `TELEMETRY_CONTROL` in its environment, a program records from its first allocation on,
//! which happens before `main`.

mod tracing;
mod work;

use std::io::Write;

use telemetry::telemetry_event;
use tracing::Tracing;

#[telemetry_event("examples/alloc_trace/events.toml")]
pub mod events {}

#[global_allocator]
static ALLOCATOR: Tracing = Tracing::new();

fn main() {
    let words = work::work(2, 2_000);
    // Allocations after this are not recorded, so that the counts are exact.
    telemetry::reset("all");
    telemetry::flush();
    let counters = telemetry::counters::total();
    let lost = counters.lost_pool + counters.lost_reentrant + counters.lost_sink;
    let _ = writeln!(
        std::io::stdout(),
        "{words} words; {} events written, {lost} lost; {} bytes requested",
        counters.written,
        ALLOCATOR.asked_bytes()
    );
    if counters.emitted() == 0 {
        eprintln!("alloc_trace: no event is on; help: TELEMETRY_CONTROL=all records every allocation");
    }
}
