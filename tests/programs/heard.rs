//! Receives messages about its own events in each variety; some of the events are on critical
//! paths.

use telemetry::telemetry_event;

#[telemetry_event("heard.toml")]
pub mod heard {}

use heard::messages::{Gc, Low, Step};

fn main() {
    assert!(Gc::enable() && Step::enable() && Low::enable());
    heard::trace_start!(1_u64, heard::Why::Full, 2_u64, 3_u64);
    heard::step_begin!();
    heard::low!(4_u64);
    heard::step_end!(5);
    heard::trace_end!(1_u64, 6_u64, 7_u64);
    heard::unheard!(8_u64);
    let mut heard = 0;
    while let Some(message) = Gc::get() {
        assert_eq!((message.trace(), message.condemned_size()), (1, 2));
        heard += 1;
    }
    while Step::get().is_some() {
        heard += 1;
    }
    while let Some(low) = Low::get() {
        assert_eq!(low.0.get(), 4);
        heard += 1;
    }
    let (dropped, recorded) = (Gc::dropped() + Step::dropped() + Low::dropped(), telemetry::counters::total().emitted());
    println!("\nnumber heard={heard}\n\nnumber dropped={dropped}\n\nnumber recorded={recorded}");
}
