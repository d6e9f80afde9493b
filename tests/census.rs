//! The macros of censuses: begin, rows and end, or nothing.

use std::cell::Cell;

use telemetry::sinks::Memory;
use telemetry::{Config, telemetry_event};
use telemetry_decode::Reader;

#[telemetry_event("tests/registries/census.toml")]
mod events {}

/// Emits a census. Returns how many classes were counted, or the class at which it failed.
fn count(classes: &[(&'static str, u64)], at: &Cell<usize>) -> Result<usize, &'static str> {
    events::heap_census!(=> for (class, bytes) in classes {
        at.set(at.get() + 1);
        events::census_row!(*class, *bytes);
        if *bytes == 0 {
            return Err(class);
        }
    });
    Ok(at.get())
}

/// Also takes arguments, those of the end after the rows.
fn entries(shard: u32, lengths: &[u32]) {
    let all = Cell::new(0_u32);
    events::entries_census!(shard; all.get() => {
        for length in lengths {
            all.set(all.get() + 1);
            events::entries_row!(*length, 1_u32);
        }
    });
}

#[test]
fn a_census_is_whole_or_has_no_end() {
    let memory = Memory::new(1 << 20);
    Config::new().sink(memory.clone()).control("Object").start().expect("the first call");
    let classes = [("string", 24), ("pair", 16)];
    assert_eq!(count(&classes, &Cell::new(0)), Ok(2));
    assert_eq!(count(&[("pair", 0), ("string", 8)], &Cell::new(0)), Err("pair"));
    // What is off is not even counted.
    entries(1, &[3, 4]);
    telemetry::set("-Object Entry");
    assert_eq!(count(&classes, &Cell::new(0)), Ok(0));
    entries(2, &[3, 4]);
    entries(3, &[]);
    telemetry::flush();
    let bytes = memory.to_vec();
    let mut events = Reader::from_slice(&bytes).events().expect("a stream");
    let mut found = Vec::new();
    while let Some(event) = events.next().expect("a readable stream") {
        if event.registry().name == "census" {
            let values: Vec<String> = event.values().map(|value| value.to_string()).collect();
            found.push(format!("{} {}", event.name(), values.join(" ")).trim().to_string());
        }
    }
    let expected = [
        "CensusBegin",
        "CensusRow string 24",
        "CensusRow pair 16",
        "CensusEnd",
        "CensusBegin",
        "CensusRow pair 0",
        "EntriesBegin 2",
        "EntriesRow 3 1",
        "EntriesRow 4 1",
        "EntriesEnd 2",
        "EntriesBegin 3",
        "EntriesEnd 0",
    ];
    assert_eq!(found, expected);
}
