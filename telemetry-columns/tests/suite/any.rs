//! Any events of any registry.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use telemetry_columns::{Batches, Builder, Tables};
use telemetry_decode::Reader;
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
fn columns_that_are_wanted_alone_are_the_same() {
    let stream = make(&registry(), &Plan { seed: 3, events: 2000, sessions: 2, ..Plan::default() }).stream;
    let batches = |only: Option<&str>| {
        let events = Reader::from_slice(&stream).events().unwrap();
        let builder = Builder::new(Tables::of(events.registries())).rows(300);
        let builder = if let Some(name) = only { builder.only([name]) } else { builder };
        Batches::with(events, builder).collect::<Result<Vec<_>, _>>().unwrap()
    };
    let whole = batches(None);
    let mut names: Vec<_> =
        whole.iter().flat_map(|batch| &batch.table().columns).map(|one| &one.name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let find = |batches: &[telemetry_columns::Batch]| {
            let rows = |batch: &telemetry_columns::Batch| {
                let table = batch.table().name.clone();
                (table, batch.rows(), batch.column(name).cloned())
            };
            let found = batches.iter().map(rows).filter(|(_, _, column)| column.is_some());
            // Text in other columns ends batches earlier, so they may come in another order.
            let mut found: Vec<_> = found.map(|found| format!("{found:?}")).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(find(&batches(Some(name))), find(&whole), "{name}");
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
