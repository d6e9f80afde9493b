//! Logs that no MPS ever wrote: readers finish, say what is wrong and where, and read the rest.

use telemetry_decode::Order;
use telemetry_decode::names::Numbers;
use telemetry_foreign::mps::{self, MpsLog};

use super::made::{
    self,
    Is::{N, S},
    beginning, event, sync,
};
use super::shown::{Shown, shown, shown_by};

/// Reads in every way. Every byte is accounted for, every event that the survey counted is
/// returned, and in time order times do not go back.
fn check(log: &[u8]) -> Shown {
    check_orders(log).0
}

/// Does the same. Returns the events in the order of the log, and by time.
fn check_orders(log: &[u8]) -> (Shown, Shown) {
    mps::recognize(&log[..log.len().min(4096)]);
    let lenient = shown_by(MpsLog::new().lenient(true), log, Order::Stream);
    let time = shown(log, Order::Time);
    let stream = shown(log, Order::Stream);
    for Shown { completeness, counted, .. } in [&lenient, &time, &stream] {
        assert_eq!(completeness.bytes.total(), log.len() as u64);
        assert_eq!(completeness.events, *counted);
        let damaged: u64 =
            completeness.damage.iter().map(|damage| damage.range.end - damage.range.start).sum();
        assert_eq!(damaged, completeness.bytes.damaged);
        assert!(completeness.damage.iter().all(|damage| !damage.cause.to_string().is_empty()));
    }
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&time.text), sorted(&stream.text));
    (stream, time)
}

/// Counts the lines of a text that another one has, too, in the same order.
fn common(text: &str, of: &str) -> usize {
    let mut rest = of.lines();
    text.lines()
        .filter(|line| rest.clone().any(|other| other == *line) && rest.any(|other| other == *line))
        .count()
}

#[test]
fn nothing() {
    let found = check(&[]);
    assert_eq!((found.text.as_str(), found.sessions.len()), ("", 0));
    assert!(!found.completeness.is_complete());
}

#[test]
fn cut_anywhere() {
    let log = made::small();
    let mut ends = vec![0];
    while let Some(head) = log.get(ends[ends.len() - 1]..).filter(|rest| !rest.is_empty()) {
        ends.push(ends[ends.len() - 1] + usize::from(u16::from_le_bytes([head[2], head[3]])));
    }
    for len in 0..log.len() {
        let found = check(&log[..len]);
        let whole = ends.iter().filter(|end| **end <= len).count() - 1;
        let lines: String = made::SMALL.lines().take(whole).map(|line| format!("{line}\n")).collect();
        assert_eq!(found.text, lines, "cut at {len}");
        let cut: Vec<_> = found.completeness.damage.iter().map(|damage| damage.range.clone()).collect();
        let rest = ends[whole] as u64..len as u64;
        let expected: Vec<_> = (!rest.is_empty()).then_some(rest).into_iter().collect();
        assert_eq!(cut, expected, "cut at {len}");
        assert!(!found.completeness.is_complete(), "cut at {len}");
        assert!(found.completeness.may_be_truncated() || whole == 0, "cut at {len}");
    }
}

/// A bit changes at most one event, and the next one if it is in a size. All others are read.
#[test]
fn every_bit_flipped() {
    let log = made::small();
    for bit in 0..log.len() * 8 {
        let mut flipped = log.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let found = check(&flipped);
        let is_refused = found
            .completeness
            .damage
            .first()
            .is_some_and(|damage| damage.cause.to_string().contains("EventInit"));
        let read = common(&found.text, made::SMALL);
        assert!(is_refused || read >= 18, "bit {bit}: {read} of 20 lines\n{}", found.text);
        if !is_refused {
            assert!(found.counted >= 18);
        }
    }
}

#[test]
fn sizes_that_none_can_have() {
    let log = made::small();
    // PoolInit in the second batch.
    let first = beginning(0).len();
    let at = first + 16 + 32 + 56;
    assert_eq!(log[at], 0x2d);
    let sizes = [0, 1, 8, 15, 16, 17, 24, 40, 47, 49, 56, 1_000, 32_768, 65_528, 65_535];
    for size in sizes {
        let mut log = log.clone();
        log[at + 2..at + 4].copy_from_slice(&u16::to_le_bytes(size));
        let found = check(&log);
        let [damage] = &found.completeness.damage[..] else { panic!("size {size}: one damage") };
        assert_eq!(damage.cause.to_string(), format!("PoolInit (code 45) of size {size}, expected 48"));
        assert_eq!(damage.range, at as u64..at as u64 + 48, "size {size}");
        assert_eq!(common(&found.text, made::SMALL), 19, "size {size}");
    }
}

#[test]
fn unknown_codes() {
    let log = made::small();
    let at = beginning(0).len() + 16;
    for code in [0, 93, 184, 185, 0x7fff, 0xffff_u16] {
        let mut log = log.clone();
        log[at..at + 2].copy_from_slice(&code.to_le_bytes());
        let found = check(&log);
        assert!(found.completeness.damage.is_empty());
        assert_eq!(found.text.lines().nth(4), Some(format!("0000000000000834 {code:4X}").as_str()));
        assert_eq!((found.counted, common(&found.text, made::SMALL)), (20, 19));
        // With an impossible size it is damage.
        log[at + 2] = 33;
        let found = check(&log);
        let why = format!("code {code}, size 33, expected a code from 1 to 92 and a multiple of 8 from 16");
        assert_eq!(found.completeness.damage[0].cause.to_string(), why);
        assert_eq!((found.counted, common(&found.text, made::SMALL)), (19, 19));
    }
}

#[test]
fn unknown_codes_alone() {
    let unknown = |ticks| {
        let mut bytes = event("PoolFinish", ticks, &[N(1), N(2)]);
        bytes[0] = 99;
        bytes
    };
    let many: Vec<u8> = (0..5_000).flat_map(unknown).collect();
    let log = [beginning(0), many.clone(), sync(9_000, 2_000)].concat();
    let found = check(&log);
    assert_eq!((found.counted, found.completeness.damage.len()), (5_004, 0));
    let found = check(&many);
    assert_eq!(found.counted, 5_000);
}

#[test]
fn strings_that_are_none() {
    let bytes = |string: &[u8]| {
        let mut bytes = event("Intern", 2_000, &[N(2), S("0123456789")]);
        bytes[24..24 + string.len()].copy_from_slice(string);
        [beginning(1_000), bytes, sync(3_000, 2_000)].concat()
    };
    let found = check(&bytes(b"\xff\xfe\xc3"));
    assert!(found.completeness.is_whole());
    let strings = |number| found.sessions[0].labels.string_of(Numbers::of("mps", "string_id"), number);
    assert_eq!(strings(2), Some("\u{fffd}\u{fffd}\u{fffd}3456789"));
    // A string that ends early does not fit the size, and neither does one without an end.
    for string in [&b"0\0"[..], b"0123456789xxxxxx"] {
        let found = check(&bytes(string));
        let damage = &found.completeness.damage[0];
        assert_eq!(
            damage.cause.to_string(),
            "Intern (code 33) of size 40, expected one that fits its string, up to 288"
        );
        assert_eq!((damage.range.end - damage.range.start, found.counted), (40, 4));
    }
}

#[test]
fn bytes_behind_the_end() {
    let log = made::small();
    for (len, garbage) in (1..200).map(|len| (len, vec![0xa7_u8; len])) {
        let found = check(&[&log[..], &garbage].concat());
        assert_eq!(found.text, made::SMALL);
        assert_eq!(found.completeness.damage[0].range, log.len() as u64..(log.len() + len) as u64);
    }
}

#[test]
fn two_logs_joined() {
    let log = made::small();
    let twice = check(&[&log[..], &log].concat());
    assert_eq!(twice.text, [made::SMALL; 2].concat());
    assert_eq!((twice.sessions.len(), twice.completeness.is_whole()), (2, true));
    assert_ne!(twice.sessions[0].id, twice.sessions[1].id);
    // The first one is cut anywhere, so that the second one begins at an odd place.
    for cut in (0..log.len()).step_by(7) {
        let joined = check(&[&log[..cut], &log].concat());
        assert!(joined.text.ends_with(made::SMALL), "cut at {cut}");
    }
}

#[test]
fn clocks_in_no_order() {
    let mut random = 1_u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random >> 20
    };
    let events: Vec<u8> = (0..20_000).flat_map(|_| event("PoolFinish", next(), &[N(1), N(2)])).collect();
    let falling: Vec<u8> = (0..20_000).rev().flat_map(|n| event("PoolFinish", n, &[N(1), N(2)])).collect();
    for log in [events, falling] {
        let (stream, time) = check_orders(&log);
        assert_eq!(stream.counted, 20_000);
        assert!(time.text.lines().is_sorted(), "a line begins with its clock reading");
    }
}

/// Arbitrary bytes are read in linear time. Otherwise this test would not end.
#[test]
fn garbage_is_read_to_its_end() {
    let mut random = 7_u32;
    let noise = std::iter::repeat_with(|| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 24) as u8
    });
    let noise: Vec<u8> = noise.take(4 << 20).collect();
    for log in [noise, vec![0; 4 << 20], vec![0xff; 4 << 20], [0x99, 0, 16, 0].repeat(1 << 20)] {
        let found = shown(&log, Order::Stream);
        assert_eq!(found.completeness.bytes.total(), log.len() as u64);
    }
}
