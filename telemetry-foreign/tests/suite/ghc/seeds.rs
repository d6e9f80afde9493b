//! The seeds of the fuzz target `ghc`.

use telemetry_foreign::Format;

use super::made::{self, Log, VARIABLE};
use crate::seeds::{Seed, check};

/// The types that the target declares before an input without a header.
const DECLARED: &[(u16, u16, &str)] = &[
    (18, 14, ""),
    (1, 4, ""),
    (9, 0, ""),
    (19, VARIABLE, ""),
    (160, VARIABLE, ""),
    (167, VARIABLE, ""),
    (207, 13, ""),
    (777, VARIABLE, ""),
];

/// Makes a seed without a header.
fn headless() -> Seed {
    let profile = b"\x01\0\0\0\0\0\0\0\x05\0\0\0\x07mods\0\0\0cc\0\0\0\0";
    let log = Log::new(DECLARED)
        .event(9, 5, &[])
        .block(10, 100, 0)
        .event(1, 20, &[0, 0, 0, 7])
        .event(19, 30, "hé".as_bytes())
        .event(160, 40, profile)
        .event(167, 50, b"\0\0\0\x01\0\0\0\0\0\0\0\x09\x01\0\0\0\x05")
        .block(15, 90, 1)
        .event(207, 25, b"\x04\0\0\0\x01\0\0\0\x02\0\0\0\x03")
        .event(777, 35, b"what\0ever")
        .end();
    let header = Log::new(DECLARED).cut().len();
    Seed { name: "headless", input: log[header..].to_vec(), log }
}

#[test]
fn seeds_are_made_logs() {
    let small = made::small().end();
    let cut = small[..small.len() - 40].to_vec();
    let seeds = [
        Seed::of("small", small.clone()),
        Seed::of("every-type", made::every_type().end()),
        Seed::of("odd-types", made::odd_types().end()),
        Seed::of("two-logs", [&small[..], &made::odd_types().end()].concat()),
        Seed::of("cut", cut),
        headless(),
    ];
    check("ghc", Format::GhcEventlog, &seeds);
}
