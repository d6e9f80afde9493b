//! A program that emits from some threads and reads its own stream: small, and with nothing of the system but
//! threads, so that miri can run it. docs/verification.md says how.

use std::collections::BTreeMap;

use telemetry::{Config, Policy, sinks::Memory, telemetry_event};
use telemetry_decode::Reader;

#[telemetry_event("tests/relations/work.toml")]
mod work {}

/// Rounds of each thread: enough for some blocks to be sealed, and to be taken again.
const ROUNDS: u64 = if cfg!(miri) { 300 } else { 20_000 };

fn emit(thread: u64) {
    for number in 0..ROUNDS {
        // Short values and long ones, so that both ways of writing an event are taken.
        work::alloc!(thread, number << (number % 40), number, 7);
        if number % 8 == 0 {
            work::named!(
                thread,
                number,
                number,
                7,
                &"more than what is copied inline"[..(number % 31) as usize]
            );
            work::fix!(thread, number, number, 7);
        }
    }
}

#[test]
fn every_event_is_read_back() {
    let memory = Memory::new(16 << 20);
    let config = Config::new().sink(memory.clone()).control("all").record("all").buffer(64 << 10);
    assert!(config.policy(Policy::Wait(std::time::Duration::from_secs(600))).start());
    std::thread::scope(|scope| {
        for thread in 1..=2 {
            scope.spawn(move || emit(thread));
        }
        (0..10).for_each(|_| _ = telemetry::counters());
        telemetry::flush();
        telemetry::snapshot_to(Memory::new(16 << 20)).expect("a snapshot");
    });
    telemetry::flush();
    let counters = telemetry::counters();
    let emitted = 2 * (ROUNDS + 2 * ROUNDS.div_ceil(8));
    assert_eq!((counters.written, counters.emitted()), (emitted, emitted), "{counters:?}");

    let bytes = memory.bytes();
    let mut events = Reader::from_slice(&bytes).events().expect("a stream");
    let mut next = BTreeMap::new();
    while let Some(event) = events.next().expect("a readable stream") {
        if event.name() != "Alloc" {
            continue;
        }
        let values: Vec<_> = event.values().filter_map(|value| value.number()).collect();
        let number = next.entry(values[0]).or_insert(0);
        assert_eq!(values, [values[0], *number << (*number % 40), *number, 7]);
        *number += 1;
    }
    assert!(next.into_values().eq([i128::from(ROUNDS); 2]));
    assert_eq!(events.completeness().missing(), 0);
}
