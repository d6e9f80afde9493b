//! A program that emits from several threads and reads its own stream. It is small, and uses
//! nothing of the system but threads, so miri can run it: see docs/verification.md.

use std::collections::BTreeMap;

use telemetry::{Config, Policy, sinks::Memory, telemetry_event};
use telemetry_decode::Reader;

#[telemetry_event("tests/registries/work.toml")]
mod work {}

/// Rounds of each thread: enough to seal some blocks and reuse them.
const ROUNDS: u64 = if cfg!(miri) { 300 } else { 20_000 };

fn emit(thread: u64) {
    for number in 0..ROUNDS {
        // Short and long values, so that both paths of an emitter are taken.
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
    config.policy(Policy::Wait(std::time::Duration::from_secs(600))).start().unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=2 {
            scope.spawn(move || emit(thread));
        }
        (0..10).for_each(|_| _ = telemetry::counters::total());
        telemetry::flush();
        telemetry::recorder::snapshot_to(Memory::new(16 << 20)).expect("a snapshot");
    });
    telemetry::flush();
    let counters = telemetry::counters::total();
    let emitted = 2 * (ROUNDS + 2 * ROUNDS.div_ceil(8));
    assert_eq!((counters.written, counters.emitted()), (emitted, emitted), "{counters:?}");

    let bytes = memory.to_vec();
    let mut events = Reader::from_slice(&bytes).events().expect("a stream");
    let mut next = BTreeMap::new();
    while let Some(event) = events.next().expect("a readable stream") {
        if event.name() != "Alloc" {
            continue;
        }
        let values: Vec<_> = event.values().filter_map(|value| value.as_i128()).collect();
        let number = next.entry(values[0]).or_insert(0);
        assert_eq!(values, [values[0], *number << (*number % 40), *number, 7]);
        *number += 1;
    }
    assert!(next.into_values().eq([i128::from(ROUNDS); 2]));
    assert_eq!(events.completeness().missing(), 0);
}
