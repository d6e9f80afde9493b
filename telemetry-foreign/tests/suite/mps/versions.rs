//! Logs of other versions of the MPS.

use telemetry_decode::Order;
use telemetry_foreign::mps::MpsLog;

use super::made::{self, Is::N, event, init_of, sync};
use super::shown::{shown, shown_by};

/// Makes a log whose EventInit has these numbers.
fn log(numbers: [u64; 7]) -> Vec<u8> {
    let pool = event("PoolInit", 100, &[N(1), N(2), N(3), N(4)]);
    [init_of(10, numbers), sync(20, 1), pool, sync(120, 2)].concat()
}

#[test]
fn other_versions_are_refused_unless_it_is_asked_for() {
    let cases = [
        ([1, 0, 0, 92, 19, 64, 1_000_000], "events of version 1.0.0 of the MPS, expected 2.0.0"),
        ([2, 3, 0, 92, 19, 64, 1_000_000], "events of version 2.3.0 of the MPS, expected 2.0.0"),
        ([2, 0, 0, 92, 19, 32, 1_000_000], "words of 32 bits, expected 64"),
        ([2, 0, 0, 143, 19, 64, 1_000_000], "version 2.0.0 with 143 as the highest code, expected 92"),
        ([2, 0, 1, 90, 19, 64, 1_000_000], "version 2.0.1 with 90 as the highest code, expected 92"),
    ];
    for (numbers, why) in cases {
        let log = log(numbers);
        let found = shown(&log, Order::Time);
        let cause = found.completeness.damage[0].cause.to_string();
        assert_eq!(cause, format!("EventInit at 0 says {why}; help: --lenient reads what has a known form"));
        assert_eq!((found.text.as_str(), found.counted), ("", 0));
        assert_eq!(found.completeness.bytes.damaged, log.len() as u64);
        let lenient = shown_by(MpsLog::new().lenient(true), &log, Order::Time);
        assert_eq!(lenient.text.lines().count(), 4, "{}", lenient.text);
        assert!(lenient.completeness.damage.is_empty());
    }
    // Further events alone are accepted.
    let newer = shown(&log([2, 0, 1, 95, 19, 64, 1_000_000]), Order::Time);
    assert_eq!((newer.text.lines().count(), newer.counted), (4, 4));
}

/// A refused run leaves the one before it as it is.
#[test]
fn a_run_that_is_refused_does_not_touch_others() {
    let small = made::small();
    let both = [&small[..], &log([1, 0, 0, 92, 19, 64, 1_000_000])].concat();
    let found = shown(&both, Order::Stream);
    assert_eq!(found.text, made::SMALL);
    assert_eq!(found.completeness.damage[0].range, small.len() as u64..both.len() as u64);
    assert_eq!((found.counted, found.completeness.bytes.total()), (20, both.len() as u64));
}

/// An event with further parameters has its known ones. One that has lost some is unknown.
#[test]
fn other_forms_are_read_if_it_is_asked_for() {
    let mut longer = event("PoolFinish", 100, &[N(0xaa), N(0xbb)]);
    longer.extend_from_slice(&7_u64.to_le_bytes());
    longer[2] += 8;
    let log = [made::beginning(10), longer, sync(120, 2_000), sync(130, 2_001)].concat();
    let strict = shown(&log, Order::Stream);
    let damage = &strict.completeness.damage[0];
    assert_eq!(damage.cause.to_string(), "PoolFinish (code 43) of size 40, expected 32");
    assert_eq!((damage.range.end - damage.range.start, strict.counted), (40, 5));
    let lenient = shown_by(MpsLog::new().lenient(true), &log, Order::Stream);
    assert!(lenient.text.contains("0000000000000064   2B AA BB\n"), "{}", lenient.text);
    assert_eq!(lenient.counted, 6);
}
