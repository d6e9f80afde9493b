//! Conversion of ticks to nanoseconds.

use proptest::prelude::*;
use telemetry_decode::{Clock, Reader};

use crate::made::{Plan, START, blocks, make, registry};

/// The rates of real clocks, and the times of their readings.
#[test]
fn rates() {
    for (per_second, ticks, ns) in [
        (1_000_000_000, 5, 5),
        (3_000_000_000, 3_000_000_001, 1_000_000_000),
        (2_899_886_000, 2_899_886_000 * 86_400 * 365, 1_000_000_000 * 86_400 * 365),
        (24_000_000, 1, 42),
        (1_000, 7, 7_000_000),
        (1, 7, 7_000_000_000),
    ] {
        let clock = Clock::ticks(1000, START, per_second);
        assert_eq!(clock.ns(1000 + ticks), ns, "{per_second}");
        assert_eq!(clock.ns(1000), 0);
        assert_eq!(clock.wall_ns(1000 + ticks), START as i64 + ns);
        assert!((clock.ticks_per_second() / per_second as f64 - 1.0).abs() < 1e-9, "{per_second}");
        assert_eq!(clock.ns(1000_u64.wrapping_sub(ticks)), -ns);
    }
    assert_eq!(Clock::nanoseconds(7, START).ns(u64::MAX / 4), (u64::MAX / 4 - 7) as i64);
}

/// The pairs of readings that are used.
#[test]
fn refinement() {
    let second = 1_000_000_000;
    let start = Clock::ticks(0, START, second);
    let rate = |clock: Clock| clock.ticks_per_second().round();
    let refined = |pairs: &[(u64, u64)]| {
        let mut clock = start;
        pairs.iter().for_each(|(ticks, ns)| clock.refine(*ticks, START + ns));
        rate(clock)
    };
    let (slow, slower) = (second * 10 / 11, second * 10 / 12);
    assert_eq!(refined(&[(10 * second, 11 * second)]), slow as f64, "farther than the estimate");
    assert_eq!(
        refined(&[(10 * second, 11 * second), (19 * second, 24 * second)]),
        slow as f64,
        "not twice as far"
    );
    assert_eq!(
        refined(&[(10 * second, 11 * second), (20 * second, 24 * second)]),
        slower as f64,
        "twice as far"
    );
    assert_eq!(refined(&[(900_000, 990_000)]), second as f64, "too near");
    assert_eq!(refined(&[(10 * second, 30 * second)]), second as f64, "the wall clock was set");
    assert_eq!(refined(&[(10 * second, 0), (0, 10 * second), (0, 0)]), second as f64, "no span");
    let mut any = start;
    any.refine_farthest(10 * second, START + 11 * second);
    any.refine_farthest(11 * second, START + 132 * second / 10);
    assert_eq!(rate(any), slower as f64, "the farthest");
    let mut exact = Clock::nanoseconds(0, START);
    exact.refine(10 * second, START + 11 * second);
    assert_eq!(exact.ns(5), 5, "nanoseconds are exact");
}

proptest! {
    /// Odd pairs and rates do not panic, and time never goes back.
    #[test]
    fn anything(start in any::<(u64, u64)>(), rate in any::<u64>(), pairs in any::<[(u64, u64); 4]>(), ticks in any::<[u64; 2]>()) {
        let mut clock = Clock::ticks(start.0, start.1, rate);
        for (ticks, wall) in pairs {
            clock.refine(ticks, wall);
            clock.refine_farthest(ticks, wall);
            let _ = (clock.wall_ns(ticks), clock.ticks_per_second());
        }
        let since = |ticks: u64| ticks.wrapping_sub(start.0) as i64;
        let (a, b) = if since(ticks[0]) <= since(ticks[1]) { (ticks[0], ticks[1]) } else { (ticks[1], ticks[0]) };
        assert!(clock.ns(a) <= clock.ns(b));
    }
}

/// A damaged session block loses its facts, but not its time.
#[test]
fn a_damaged_session_block_still_says_when_it_began() {
    let made = make(&registry(), &Plan::default());
    let session = blocks(&made.stream)[0].clone();
    let mut broken = made.stream.clone();
    broken[session.end - 1] ^= 1;
    let (mut whole, mut broken) =
        (Reader::from_slice(&made.stream).events().unwrap(), Reader::from_slice(&broken).events().unwrap());
    while let Some(expected) = whole.next().unwrap() {
        let found = broken.next().unwrap().unwrap();
        assert_eq!(found.session().clock.start_ticks(), expected.session().clock.start_ticks());
        assert!(
            (found.time_ns() - expected.time_ns()).abs() <= 1,
            "{} {}",
            found.time_ns(),
            expected.time_ns()
        );
        assert!(!found.session().declared);
    }
    assert!(broken.next().unwrap().is_none());
}
