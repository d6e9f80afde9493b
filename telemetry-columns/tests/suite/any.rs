//! Any events of any registry.

use proptest::prelude::*;
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
}
