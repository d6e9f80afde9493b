//! The cost of messages: `cargo bench --bench messages`.
//!
//! Ratios to the floor F, taken within one run, as in `record`. A pair is two events and two
//! messages. Its figures are the cost beyond the same events without messages.

#![allow(missing_docs, clippy::print_stdout)]

mod common;

use std::hint::black_box;

use common::{Goal, Row, fields, floor, table, time};
use telemetry::{
    messages::{Posted, memory_used},
    telemetry_event,
};

#[telemetry_event("tests/registries/heard.toml")]
pub mod heard {}

use heard::messages::{Gc, begin, end};

const EVENTS: u64 = 3_000_000;
const PAIRS: u64 = 1_000_000;
const QUEUED: u64 = 10_000_000;
const ROUNDS: usize = 9;

fn main() {
    let null = if cfg!(unix) { "/dev/null" } else { "NUL" };
    telemetry::Config::new().output(null).buffer(1 << 20).start().unwrap();
    let mut rows = [
        ("F", "ns", Goal::Less),
        ("a pair posted, beyond its events recorded", "F", Goal::AtMost(13.6)),
        ("a pair posted, its events off", "F", Goal::AtMost(13.6)),
        ("a pair neither posted nor recorded", "F", Goal::Less),
        ("a message fetched", "F", Goal::AtMost(4.5)),
        ("memory of 10 M queued", "own size", Goal::AtMost(1.5)),
        ("resident memory of 10 M queued", "own size", Goal::AtMost(1.5)),
    ]
    .map(|(name, unit, goal)| Row::new(name, unit, goal));
    for _ in 0..ROUNDS {
        let base = time(EVENTS, floor());
        telemetry::set("all");
        let plain = pairs();
        Gc::enable();
        let both = pairs();
        Gc::disable();
        telemetry::reset("all");
        let off = pairs();
        Gc::enable();
        let alone = pairs();
        let get =
            time(2 * PAIRS, |n| assert_eq!((0..n).filter_map(|_| black_box(Gc::get())).count() as u64, n));
        Gc::disable();
        let (held, resident) = memory();
        for (row, (figure, base)) in rows.iter_mut().zip([
            (base, 1.0),
            (both - plain, base),
            (alone, base),
            (off, base),
            (get, base),
            (held, 1.0),
            (resident, 1.0),
        ]) {
            row.add(figure, base);
        }
    }
    let sizes = [size_of::<Posted<begin::Gc>>(), size_of::<Posted<end::Gc>>()];
    table(rows.into());
    println!(
        "\nA begin has {} bytes, an end {}: the values of their events, and a time.",
        sizes[0], sizes[1]
    );
    assert_eq!(Gc::dropped(), 0);
}

/// Nanoseconds of the two events of a pair.
fn pairs() -> f64 {
    time(PAIRS, post)
}

fn post(pairs: u64) {
    for i in 0..pairs {
        let (trace, condemned, live, ..) = fields(i);
        heard::trace_start!(trace, heard::Why::Full, condemned, live);
        heard::trace_end!(trace, live, condemned);
    }
}

/// Memory of queued messages relative to their own size: mapped and resident.
fn memory() -> (f64, f64) {
    let before = resident();
    Gc::enable();
    post(QUEUED / 2);
    assert_eq!(Gc::queued(), QUEUED);
    let own = QUEUED / 2 * (size_of::<Posted<begin::Gc>>() + size_of::<Posted<end::Gc>>()) as u64;
    let (held, grown) = (memory_used(), resident().saturating_sub(before));
    Gc::disable();
    assert_eq!(memory_used(), 0);
    (held as f64 / own as f64, grown as f64 / own as f64)
}

/// Resident bytes of this process; 0 where the system does not report them.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
