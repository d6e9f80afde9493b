//! Any events of any registry.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use telemetry_columns::Builder;
use telemetry_testing::made::{Plan, make, registry};
use telemetry_testing::registries::registries;

use crate::text::check;

#[test]
fn every_type() {
    for seed in 0..20 {
        let plan = Plan { seed, events: 2000, sessions: 2, lose: 7, ..Plan::default() };
        check(&make(&registry(), &plan).stream, |tables| Builder::new(tables).rows(300));
    }
}

#[test]
fn a_stream_that_is_empty_or_ends_anywhere() {
    let stream = make(&registry(), &Plan { events: 300, ..Plan::default() }).stream;
    assert!(check(&[], Builder::new).is_empty());
    for len in (0..stream.len()).step_by(97) {
        check(&stream[..len], Builder::new);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_registry(
        registry in registries(),
        seed in any::<u64>(),
        rows in 1..400_usize,
        bytes in 1..100_000_usize,
        compress in any::<bool>(),
    ) {
        let plan = Plan { seed, sessions: 2, threads: 3, events: 700, compress, ..Plan::default() };
        check(&make(&registry, &plan).stream, |tables| Builder::new(tables).rows(rows).bytes(bytes));
    }

    #[test]
    fn damaged_streams(seed in any::<u64>(), damage in vec((any::<Index>(), any::<u8>()), 1..9)) {
        let plan = Plan { seed, sessions: 2, events: 300, ..Plan::default() };
        let mut stream = make(&registry(), &plan).stream;
        for (at, byte) in damage {
            let at = at.index(stream.len());
            stream[at] ^= byte;
        }
        check(&stream, |tables| Builder::new(tables).rows(100));
    }
}
