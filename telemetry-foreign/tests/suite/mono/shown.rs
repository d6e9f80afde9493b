//! The text of logs that were made by hand.

use telemetry_foreign::mono::ReportOptions;

use super::made::{self, BUFFER_LEN, FILE_LEN};
use super::{assert_same, debug, report};

#[test]
fn every_event_of_version_1_is_printed() {
    let log = [made::file_one(), made::buffer(0x7f12_3456_7890, 1_000_000, made::ONE)].concat();
    let (text, damaged) = debug(&log);
    assert_eq!(damaged, []);
    let (first, rest) = text.split_once('\n').unwrap();
    let len = made::ONE.len();
    // All of a small log has been read ahead.
    let offset = FILE_LEN + BUFFER_LEN + len;
    assert_eq!(first, format!("buf: thread:34567890, len: {len}, time: 1000000, file offset: {offset}"));
    let end = "\nMono log profiler data\n\tData version: 1\n";
    assert_same(rest, &format!("{}{end}", made::ONE_SHOWN), "version 1");
}

#[test]
fn every_event_of_version_17_is_printed() {
    let (text, damaged) = debug(&made::seventeen());
    assert_eq!(damaged, []);
    insta::assert_snapshot!(text);
}

#[test]
fn tables_of_version_1() {
    let options = ReportOptions::default().traces(true).verbose(true);
    let (text, damaged) = report(&made::one(), options);
    assert_eq!(damaged, []);
    insta::assert_snapshot!(text);
}

#[test]
fn tables_of_version_17() {
    let (text, damaged) = report(&made::seventeen(), ReportOptions::default().traces(true).verbose(true));
    assert_eq!(damaged, []);
    insta::assert_snapshot!(text);
}
