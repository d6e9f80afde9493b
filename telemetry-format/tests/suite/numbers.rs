//! Numbers and mistakes, as people read them.

use std::fmt::Display;

use telemetry_format::{Count, Grouped, Malformed};

fn check(shown: impl Display, expected: &str) {
    assert_eq!(shown.to_string(), expected);
}

#[test]
fn digits_are_in_groups_of_three() {
    check(Grouped::from(0_u64), "0");
    check(Grouped::from(999_u64), "999");
    check(Grouped::from(1_000_u64), "1,000");
    check(Grouped::from(u64::MAX), "18,446,744,073,709,551,615");
    check(Grouped::from(0_i64), "0");
    check(Grouped::from(12_345_i64), "12,345");
    check(Grouped::from(-1_i64), "-1");
    check(Grouped::from(i64::MIN), "-9,223,372,036,854,775,808");
    check(format_args!("{:>6}|{:<6}|", Grouped::from(1_000_u64), Grouped::from(7_u64)), " 1,000|7     |");
}

#[test]
fn a_noun_is_plural_but_for_one() {
    check(Count(0, "event"), "0 events");
    check(Count(1, "event"), "1 event");
    check(Count(2_000, "event"), "2,000 events");
}

#[test]
fn mistakes_say_what_was_found() {
    check(Malformed::Truncated, "the bytes end inside a value");
    check(Malformed::Length(4_096), "a length of 4,096 reaches beyond the block");
    check(Malformed::Value(2), "a value is not one of its type");
    check(Malformed::Utf8, "a string is not UTF-8");
}
