//! The seeds of the fuzz target `mono`. The first byte of each says how the target reads the rest.

use telemetry_foreign::Format;

use super::made::{self, buffer};
use crate::seeds::{Seed, check};

/// Puts headers before the input.
const HEADERS: u8 = 1;
/// Makes these headers those of data version 17.
const SEVENTEEN: u8 = 2;
/// Prints a report with traces.
const TRACES: u8 = 4;

/// Makes a seed whose target reads the log itself.
fn whole(name: &'static str, mode: u8, log: Vec<u8>) -> Seed {
    Seed { name, input: [&[mode], &log[..]].concat(), log }
}

/// Makes a seed of events, which get headers from the target.
fn events(name: &'static str, mode: u8, file: Vec<u8>, events: &[u8]) -> Seed {
    Seed { name, input: [&[mode], events].concat(), log: [file, buffer(0, 0, events)].concat() }
}

#[test]
fn seeds_are_made_logs() {
    let (one, seventeen) = (made::one(), made::seventeen());
    let seeds = [
        whole("one", TRACES, one.clone()),
        whole("seventeen", TRACES, seventeen.clone()),
        whole("three-logs", 0, [&one[..], &seventeen, &one].concat()),
        whole("cut", 0, one[..one.len() - 20].to_vec()),
        events("events-of-one", HEADERS | TRACES, made::file_one(), made::ONE),
        events("events-of-seventeen", HEADERS | SEVENTEEN | TRACES, made::file_seventeen(), made::SEVENTEEN),
    ];
    check("mono", Format::Mono, &seeds);
}
