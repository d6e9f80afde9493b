//! Python reads what Rust reads.

use proptest::prelude::*;

use crate::arbitrary::registries;
use crate::dump::Compared;
use crate::made::{Plan, make, relation, shuffle};

#[test]
fn every_sort_of_a_whole_stream() {
    let registry = relation();
    let mut compared = Compared::new(&registry);
    for seed in 0..12 {
        let made = make(&registry, &Plan { seed, events: 100, ..Plan::default() });
        compared.check(&made.stream, &format!("seed {seed}"));
        compared.check(&shuffle(&made.stream, seed), &format!("seed {seed}, shuffled"));
        compared.check_columns(&made.stream, &format!("columns of seed {seed}"));
    }
    let many = Plan {
        events: 9000,
        threads: 9,
        sessions: 3,
        block_size: 4096,
        flush: 90,
        lose: 500,
        ..Plan::default()
    };
    compared.check(&make(&registry, &many).stream, "many lanes");
    compared.check_columns(&make(&registry, &Plan { flush: 0, ..many }).stream, "columns of many lanes");
    let one = Plan { events: 9000, threads: 9, block_size: 4096, ..Plan::default() };
    compared.check(&make(&registry, &one).stream, "many lanes of one session");
    compared.check(&make(&registry, &Plan { events: 0, ..Plan::default() }).stream, "no events");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn any_registry(
        registry in registries(),
        seed in any::<u64>(),
        sessions in 1..3_u64,
        block_size in 1..2000_usize,
        flush in 0..9_u64,
        lose in 0..9_u64,
        end in any::<bool>(),
    ) {
        let plan = Plan { seed, sessions, threads: 3, events: 80, block_size, flush, lose, end };
        let (made, mut compared) = (make(&registry, &plan), Compared::new(&registry));
        compared.check(&made.stream, &format!("{plan:?}"));
        compared.check_columns(&made.stream, &format!("{plan:?}"));
    }
}
