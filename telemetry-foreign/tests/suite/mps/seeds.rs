//! The seeds of the fuzz target `mps`.

use telemetry_foreign::Format;

use super::made::{self, Is::N, event, init_of, sync};
use crate::seeds::{Seed, check};

#[test]
fn seeds_are_made_logs() {
    let small = made::small();
    let mut unknown = event("PoolFinish", 2_000, &[N(1), N(2)]);
    unknown[0] = 99;
    let unknown = [made::beginning(1_000), unknown, sync(3_000, 2_000)].concat();
    let newer = [
        init_of(10, [2, 0, 1, 95, 19, 64, 1_000_000]),
        sync(20, 1),
        event("PoolInit", 100, &[N(1), N(2), N(3), N(4)]),
        sync(120, 2),
    ];
    let mut damaged = small.clone();
    damaged[made::beginning(0).len() + 16 + 2] = 33;
    let seeds = [
        Seed::of("small.log", small.clone()),
        Seed::of("unknown-code.log", unknown),
        Seed::of("newer.log", newer.concat()),
        Seed::of("two-runs.log", [&small[..small.len() - 24], &small].concat()),
        Seed::of("damaged.log", damaged),
    ];
    check("mps", Format::Mps, &seeds);
}
