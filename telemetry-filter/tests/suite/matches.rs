//! What conditions find.

use telemetry_decode::Order;

use crate::written::{matching, skipped, stream};

/// All events: two names of strings, three evictions, a clearing, a beat.
const ALL: usize = 7;

/// Checks the microseconds of the events that match each condition, in both orders.
fn check(table: &[(&str, &[i64])]) {
    let stream = stream();
    for (condition, expected) in table {
        for order in [Order::Time, Order::Stream] {
            let (mut found, filtered) = matching(&stream, condition, order).unwrap();
            found.sort_unstable();
            assert_eq!(found, *expected, "{condition}, {order:?}");
            assert_eq!(filtered as usize, ALL - found.len(), "{condition}, {order:?}");
        }
    }
}

#[test]
fn whole_numbers() {
    check(&[
        ("size > 100", &[2, 3]),
        ("size >= 100", &[1, 2, 3, 4]),
        ("size < 101", &[1, 4]),
        ("size <= 99.5", &[]),
        ("size > 99.5", &[1, 2, 3, 4]),
        ("size == 100.5", &[]),
        ("size != 100.5", &[1, 2, 3, 4]),
        ("size == 4k", &[2]),
        ("4KiB == size", &[2]),
        ("size == 18446744073709551615", &[3]),
        ("size > 18446744073709551615", &[]),
        ("size < 18446744073709551616", &[1, 2, 3, 4]),
        ("size >= 0x8000000000000000", &[3]),
        ("size >= -1", &[1, 2, 3, 4]),
        ("size in (100, 4096, -7)", &[1, 2, 4]),
        ("entry == 0x7f02", &[2]),
        ("delta < 0", &[1]),
        ("delta == -5", &[1]),
        ("delta in (-5, 7)", &[1, 3]),
        ("delta <= 0", &[1, 2]),
        ("size > limit", &[1, 3]),
        ("size == limit", &[2]),
        ("limit >= delta", &[1, 2, 3]),
        ("delta > size", &[]),
    ]);
}

#[test]
fn times_in_the_unit_of_a_parameter() {
    check(&[
        ("age > 1ms", &[2, 3]),
        ("age == 1.5ms", &[2]),
        ("age > 1500ns", &[2, 3]),
        ("age >= 2s", &[3]),
        ("age < 1.5us", &[1]),
    ]);
}

#[test]
fn names() {
    check(&[
        ("why == Full", &[1]),
        ("why != Full", &[2, 3]),
        ("why == -1", &[3]),
        ("why in (Full, Unknown)", &[1, 3]),
        ("why >= Full", &[1, 2]),
        ("access has Write", &[2, 3]),
        ("access has Both", &[2]),
        ("not access has Read", &[3]),
        ("access == Read", &[1]),
        ("is_dirty", &[1]),
        ("not is_dirty", &[2, 3]),
        ("is_dirty == false", &[2, 3]),
        ("is_dirty != false", &[1]),
    ]);
}

#[test]
fn floats() {
    check(&[
        ("ratio > 0", &[1]),
        ("ratio == 0.5", &[1]),
        ("ratio < 1", &[1, 3]),
        ("ratio == -1.5", &[3]),
        ("ratio != 0.5", &[2, 3]),
        // A NaN is neither less nor greater than a number.
        ("not ratio > 0", &[2, 3]),
        ("not ratio <= 0", &[1, 2]),
        ("ratio < delta", &[3]),
    ]);
}

#[test]
fn texts() {
    check(&[
        ("name == 'alpha'", &[1]),
        ("name != \"alpha\"", &[2, 3]),
        ("name == ''", &[3]),
        ("name contains 'ta'", &[2]),
        ("name ~ '^a.*a$'", &[1]),
        ("name ~ '^b.ta$'", &[2]),
        ("name in ('alpha', '')", &[1, 3]),
        ("owner == 'arena'", &[1]),
        ("owner == 9", &[3]),
        // A number without a string has none that differs.
        ("owner != 'arena'", &[2]),
        ("not owner == 'arena'", &[2]),
        ("owner ~ 'o+'", &[2]),
        ("sizes contains 2", &[1]),
        ("not sizes contains 2", &[2, 3]),
        ("sizes contains 70000", &[3]),
    ]);
}

#[test]
fn fields() {
    check(&[
        ("event == Evicted", &[1, 2, 3]),
        ("event == cache:evicted", &[1, 2, 3]),
        ("event in (Beat, 2)", &[4, 5]),
        ("event != Evicted", &[0, 0, 4, 5]),
        ("event ~ '^C'", &[4]),
        ("kind == Lookup", &[1, 2, 3]),
        ("kind == 1", &[0, 0, 4, 5]),
        ("registry == cache and event contains 'eat'", &[5]),
        ("registry != cache", &[]),
        ("thread == main", &[1, 2, 3]),
        ("thread == 'GC'", &[0, 0, 4, 5]),
        ("thread == 2 and time >= 5us", &[5]),
        ("thread != main and size > 0", &[4]),
        ("session == 7 and session == cachet and event == Beat", &[5]),
        ("session == 8", &[]),
        ("time < 2us", &[0, 0, 1]),
        ("time == 3000", &[3]),
        ("not time < 5us", &[5]),
        ("time > 1h", &[]),
        // The parameter, not the time of the event.
        ("`time` == 3", &[4]),
    ]);
}

#[test]
fn words_between() {
    check(&[
        ("size > 100 and why == Full or event == Beat", &[5]),
        ("size >= 100 and (why == Full or event == Cleared)", &[1, 4]),
        ("not (size > 100 or why == Full)", &[]),
        // `Cleared` has no `why`: neither the comparison nor its opposite is true.
        ("not (size > 100 and why == Full)", &[1, 2, 3, 4]),
        ("not (why == Full)", &[2, 3]),
    ]);
}

#[test]
fn blocks_that_cannot_match_are_skipped() {
    let stream = stream();
    for (condition, skips) in [
        ("thread == main", true),
        ("not thread == gc", true),
        ("session == 8", true),
        ("kind == Lookup", true),
        ("time >= 4us", true),
        ("not time < 4us", true),
        ("size > 0 and thread == gc", true),
        ("size > 0", false),
        ("time >= 4us or thread == main", false),
    ] {
        assert_eq!(skipped(&stream, condition) > 0, skips, "{condition}");
    }
}
