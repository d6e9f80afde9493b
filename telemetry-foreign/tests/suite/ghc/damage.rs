//! Damaged and truncated logs.

use telemetry_decode::{Completeness, Order, Reader};
use telemetry_foreign::ghc::GhcLog;

use super::made::{self, Log, VARIABLE};
use super::shown;

/// Reads a log in both orders: it must end, and every byte must be accounted for.
#[track_caller]
fn check(log: &[u8], what: &str) -> (Vec<String>, Completeness) {
    let mut of_both = Vec::new();
    for order in [Order::Time, Order::Stream] {
        let mut events = Reader::from_log(log, GhcLog::new()).order(order).events().expect("readable");
        let mut lines = Vec::new();
        while let Some(event) = events.next().expect("readable") {
            lines.push(format!("{} {} {} {}", event.ticks(), event.offset(), event.thread(), event.name()));
            assert_eq!(event.values().len(), event.schema().params.len(), "{what}");
        }
        let completeness = events.completeness();
        assert_eq!(completeness.bytes.total(), log.len() as u64, "{what}: {completeness:?}");
        let counted: u64 = events.log_counts().expect("a log").iter().map(|count| count.count).sum();
        assert_eq!(counted, lines.len() as u64, "{what}");
        of_both.push((lines, completeness));
    }
    let (mut in_stream, _) = of_both.pop().unwrap_or_else(|| unreachable!("two orders"));
    let (by_time, completeness) = of_both.pop().unwrap_or_else(|| unreachable!("two orders"));
    let mut sorted = by_time.clone();
    sorted.sort();
    in_stream.sort();
    assert_eq!(sorted, in_stream, "{what}: the same events in both orders");
    (by_time, completeness)
}

/// Returns the damage of a log: from, until, why.
fn said(completeness: &Completeness) -> Vec<String> {
    let damage = completeness.damage.iter();
    damage.map(|damage| format!("{}..{} {}", damage.range.start, damage.range.end, damage.cause)).collect()
}

#[test]
fn logs_that_are_cut_are_read_to_the_cut() {
    let log = made::small().end();
    let (whole, _) = check(&log, "whole");
    let header = log.windows(4).position(|bytes| bytes == b"datb").expect("a header") + 4;
    for cut in 0..log.len() {
        let (events, completeness) = check(&log[..cut], &format!("cut at {cut}"));
        assert!(!completeness.is_complete(), "cut at {cut}");
        if cut == 0 {
            continue;
        }
        let last = completeness.damage.last().expect("something is said");
        assert_eq!(last.range.end, cut as u64, "{completeness:?}");
        if cut >= header {
            // All events before the cut, and no others.
            let before = |line: &&String| {
                let offset: usize = line.split(' ').nth(1).and_then(|at| at.parse().ok()).expect("an offset");
                offset < last.range.start as usize
            };
            let expected: Vec<_> = whole.iter().filter(before).collect();
            assert_eq!(events.iter().collect::<Vec<_>>(), expected, "cut at {cut}");
        }
    }
}

#[test]
fn a_bit_that_is_wrong_costs_its_block_at_most() {
    let log = made::small().end();
    let (whole, _) = check(&log, "whole");
    let blocks = [0, 1, 2].map(|number| {
        let marks = log
            .windows(2)
            .enumerate()
            .filter(|(at, bytes)| *bytes == [0, 18] && log[at + 2..at + 9] == [0; 7]);
        marks.map(|(at, _)| at).filter(|at| *at > 250).nth(number).expect("three blocks")
    });
    for bit in 0..log.len() * 8 {
        let mut flipped = log.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let what = format!("bit {} of byte {}", bit % 8, bit / 8);
        let (events, _) = check(&flipped, &what);
        let of = blocks.iter().rposition(|at| *at <= bit / 8);
        let Some(of) = of else { continue };
        let range = blocks[of]..blocks.get(of + 1).copied().unwrap_or(log.len());
        for line in &whole {
            let at: usize = line.split(' ').nth(1).and_then(|at| at.parse().ok()).expect("an offset");
            // After a block with a wrong length, the capability of events is unknown.
            let place = format!(" {at} ");
            assert!(
                range.contains(&at) || events.iter().any(|event| event.contains(&place)),
                "{what}: {line} is not read"
            );
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let types = &[(18, 14, "Block marker"), (19, VARIABLE, "User message"), (164, VARIABLE, "Sample")];
    let start = Log::new(types).cut().len();
    let log = || Log::new(types).block(1, 100, 0).event(19, 10, b"first");
    let cases: Vec<(&str, Vec<u8>, usize, Vec<String>)> = vec![
        ("nothing", Vec::new(), 0, vec![]),
        (
            "half a mark",
            b"hd".to_vec(),
            0,
            vec!["0..2 the end of the log, expected `hdrb` (68647262)".into()],
        ),
        (
            "a type that is not declared",
            log().event(99, 20, b"").block(30, 90, 1).event(19, 40, b"x").end(),
            4,
            vec![format!(
                "{}..{} an event of type 99, which the log does not declare",
                start + 41,
                start + 51
            )],
        ),
        (
            "text that is not UTF-8",
            log().event(19, 20, b"\xff\xfe").end(),
            3,
            vec![format!("{0}..{0} an event `UserMsg` whose `msg` is not UTF-8", start + 41)],
        ),
        (
            "a string without an end",
            log().event(164, 20, b"\x01\0\0\0\0\0\0\0\x05abc").event(19, 30, b"y").end(),
            3,
            vec![format!(
                "{}..{} an event `HeapProfSampleString` whose `label` cannot be read: no NUL ends it",
                start + 41,
                start + 65
            )],
        ),
        (
            "a payload that is too short",
            log().event(164, 20, b"\x01\0").end(),
            2,
            vec![format!(
                "{}..{} an event `HeapProfSampleString` whose `residency` cannot be read: the payload ends before it",
                start + 41,
                start + 55
            )],
        ),
        (
            "no end mark",
            log().cut(),
            2,
            vec![format!("{0}..{0} the log ends without its end mark", start + 41)],
        ),
        (
            "bytes behind the end",
            [log().end(), b"more".to_vec()].concat(),
            2,
            vec![format!("{}..{} bytes behind the log's end mark", start + 43, start + 47)],
        ),
    ];
    for (what, log, events, expected) in cases {
        let (found, completeness) = check(&log, what);
        let of_log = found.iter().filter(|line| !line.ends_with("EventType")).count();
        assert_eq!((of_log, said(&completeness)), (events, expected), "{what}");
    }
}

#[test]
fn a_type_that_cannot_be_read_costs_no_other() {
    let mut log = made::small().end();
    // The header claims a description that is longer than the log.
    log[16..20].copy_from_slice(&[0x7f, 0, 0, 0]);
    let (text, completeness) = shown(&log);
    // Its events are as usual.
    assert!(text.contains("200: cap 0: creating thread 7\n"), "{text}");
    assert_eq!(completeness.damage.len(), 1, "{completeness:?}");
    assert!(completeness.damage[0].cause.to_string().contains("a description of 2130706432 bytes"));
}

#[test]
fn sizes_of_nothing_and_of_everything() {
    for size in [0, 1, 13, 14, 15, 0x7fff, 0x8000, 0xfffe, 0xffff] {
        for tag in [0, 2, 10, 18, 19, 164, 210, 777] {
            let types = &[(tag, size, "odd"), (9, 0, "Starting GC")];
            for payload in [0, 1, 300, 65_535] {
                let log =
                    Log::new(types).event(9, 1, &[]).event(tag, 2, &vec![0; payload]).event(9, 3, &[]).end();
                check(&log, &format!("size {size} of type {tag} with {payload} bytes"));
            }
        }
    }
}

#[test]
fn times_of_any_order_need_no_more_memory() {
    let types = &[(18, 14, "Block marker"), (9, 0, "Starting GC")];
    // One time far ahead, and times that go down from block to block.
    let mut log = Log::new(types).block(1, 90_000_000, 0).event(9, u64::MAX - 5, &[]);
    for number in 0..20_000_u64 {
        log = log.event(9, 1000 + number, &[]);
    }
    for number in 0..2000_u64 {
        log = log.block(80_000 - number, 90_000, 1).event(9, 80_000 - number, &[]);
    }
    let (lines, _) = check(&log.end(), "any order");
    assert_eq!(lines.len(), 2 + 2 + 20_000 + 4000);
}

proptest::proptest! {
    #[test]
    fn noise_behind_a_header_is_read_to_its_end(noise in proptest::collection::vec(0..40_u8, 0..600)) {
        let log = [made::small().cut(), noise].concat();
        check(&log, "noise");
    }
}
