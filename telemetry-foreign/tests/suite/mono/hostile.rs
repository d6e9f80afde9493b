//! Damaged logs: no panic, every byte accounted for, and everything before and after the damage
//! read.

use telemetry_decode::Order;
use telemetry_decode::completeness::Damage;
use telemetry_foreign::mono::ReportOptions;

use super::made::{self, BUFFER_LEN, FILE_LEN, buffer, file_one};
use super::{debug, events, report};

/// Reads a log in every way. Returns its events and its damage.
fn check(log: &[u8]) -> (Vec<String>, Vec<Damage>) {
    let (lines, completeness) = events(log, Order::Stream);
    assert_eq!(completeness.bytes.total(), log.len() as u64, "{completeness}");
    // Such a log has no end mark.
    assert!(!completeness.is_complete(), "{completeness}");
    let (by_time, _) = events(log, Order::Time);
    assert_eq!(by_time.len(), lines.len());
    let (_, damaged) = debug(log);
    assert_eq!(completeness.damage.len(), damaged.len(), "{damaged:?}");
    let options = ReportOptions::default().traces(true).verbose(true);
    assert_eq!(report(log, options).1, damaged);
    for damage in &damaged {
        assert!(damage.range.start <= damage.range.end && damage.range.end <= log.len() as u64, "{damage:?}");
    }
    (lines, damaged)
}

/// Makes a log of three buffers, of which the middle one has these events.
fn with(middle: &[u8]) -> Vec<u8> {
    [file_one(), buffer(1, 10, b"\x06\x01"), buffer(2, 20, middle), buffer(3, 30, b"\x16\x01")].concat()
}

fn names(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.split(' ').nth(2).unwrap()).collect()
}

#[test]
fn nothing_is_no_log() {
    let (lines, completeness) = events(b"", Order::Time);
    assert!(lines.is_empty() && !completeness.is_complete());
}

#[test]
fn logs_that_are_cut_anywhere() {
    for log in [made::one(), made::seventeen()] {
        let whole = check(&log).0;
        for len in 0..log.len() {
            let (lines, damaged) = check(&log[..len]);
            // A cut between buffers cannot be told from an end.
            let read = lines.iter().filter(|line| !line.contains("Buffer") && !line.contains("Order"));
            assert!(read.clone().all(|line| whole.contains(line)), "{len}");
            assert!(lines.len() <= whole.len() && (damaged.len() <= 1 || len == 0), "{len}: {damaged:?}");
        }
    }
}

#[test]
fn logs_with_any_bit_flipped() {
    for log in [made::one(), made::seventeen()] {
        for bit in 0..log.len() * 8 {
            let mut flipped = log.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (_, damaged) = debug(&flipped);
            assert_eq!(report(&flipped, ReportOptions::default()).1, damaged, "{bit}");
            if bit % 17 == 0 {
                check(&flipped);
            }
        }
    }
}

#[test]
fn what_stands_around_damage_is_read() {
    let cases: [(&[u8], &str, &[&str]); 7] = [
        (b"\x00\x01\x20\x00\x18\xff\x01", "unknown event code 0xff", &["Alloc"]),
        (b"\x22\x01\x09\x00", "unknown event code 0x22 of sort 9", &[]),
        (
            b"\x06\x01\x31\x01\xff\xff\xff\xff\x0f\x00",
            "a list of 4294967295 elements, expected at most 3072",
            &["HeapStart"],
        ),
        (b"\x06\x01\x22\x01\x02\x00\x00no end", "an event that does not end in its buffer", &["HeapStart"]),
        (
            b"\x06\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
            "an event that does not end in its buffer",
            &[],
        ),
        (b"\x23\x01\x00\x13", "an event that does not end in its buffer", &["MethodEnter"]),
        (b"\x10\x01\x20\x00\x18\x00\x09\x00", "an event that does not end in its buffer", &[]),
    ];
    for (middle, why, read) in cases {
        let (lines, damaged) = check(&with(middle));
        let mut expected = vec!["Buffer", "HeapStart", "Buffer"];
        expected.extend(read);
        expected.extend(["Buffer", "HeapEnd"]);
        assert_eq!(names(&lines), expected, "{why}");
        let [damage] = &damaged[..] else { panic!("{damaged:?}") };
        assert_eq!(damage.cause.to_string(), why);
        let start = FILE_LEN + 2 * BUFFER_LEN + 2;
        assert_eq!(damage.range.end, (start + middle.len()) as u64);
        assert!(damage.range.start >= start as u64);
    }
}

#[test]
fn lengths_of_buffers_that_are_wrong() {
    let log = with(b"\x06\x01\x16\x01");
    let (whole, _) = check(&log);
    let at = FILE_LEN + BUFFER_LEN + 2 + 4;
    for len in [0, 1, 3, 5, 65_535, 1 << 30, i32::MAX, -1, i32::MIN] {
        let mut wrong = log.clone();
        wrong[at..at + 4].copy_from_slice(&len.to_le_bytes());
        let (lines, damaged) = check(&wrong);
        assert!(!damaged.is_empty(), "{len}");
        // If the length leads into an event, or nowhere, the next header shows where the buffer
        // ends.
        if ![0, 1, 3].contains(&len) {
            assert_eq!(lines, whole, "{len}");
        }
        assert_eq!(names(&lines).last(), Some(&"HeapEnd"), "{len}");
    }
}

#[test]
fn what_is_no_header_is_passed_over() {
    let mut log = made::one();
    let (whole, _) = check(&log);
    // The file's id, its version, and a buffer's id.
    log[0] ^= 0x80;
    let (lines, damaged) = check(&log);
    assert_eq!((lines, damaged.len()), (whole.clone(), 1));
    log[0] ^= 0x80;
    log[6] = 3;
    let (lines, damaged) = check(&log);
    assert_eq!((lines.len(), damaged.len()), (0, 1));
    assert_eq!(damaged[0].cause.to_string(), "data version 3, expected 1 or 17");
    log[6] = 1;
    log[FILE_LEN] ^= 1;
    let (lines, damaged) = check(&log);
    assert_eq!(damaged.len(), 1);
    assert_eq!(damaged[0].cause.to_string(), "the bytes 004c504d, expected that of a buffer, 014c504d");
    assert_eq!(names(&lines)[1..], names(&whole)[4..]);
}

#[test]
fn bytes_behind_the_log_are_reported() {
    let log = [made::one(), b"trailing".to_vec()].concat();
    let (lines, damaged) = check(&log);
    assert_eq!(lines, check(&made::one()).0);
    let [damage] = &damaged[..] else { panic!("{damaged:?}") };
    assert_eq!(damage.range, (log.len() - 8) as u64..log.len() as u64);
}

#[test]
fn logs_one_behind_the_other_are_two_runs() {
    let log = [made::one(), made::seventeen(), made::one()].concat();
    let (lines, damaged) = check(&log);
    assert_eq!(damaged, []);
    let one = |log: &[u8]| events(log, Order::Stream).0.len();
    assert_eq!(lines.len(), 2 * one(&made::one()) + one(&made::seventeen()));
}

#[test]
fn names_that_are_no_utf_8_do_no_harm() {
    let (lines, damaged) = check(&with(b"\x22\x01\x02\x00\x00\xff\xfe\x80\0"));
    assert_eq!((names(&lines)[3], damaged), ("ImageLoad", vec![]));
}
