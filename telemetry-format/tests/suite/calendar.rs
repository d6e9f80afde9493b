//! Dates, against a calendar that counts days.

use telemetry_format::Calendar;

/// The days of a month.
fn days(year: u64, month: u8) -> u8 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u8::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[test]
fn every_day_of_a_thousand_years_has_its_date() {
    // 1970 began on a Thursday.
    let mut next = Calendar { year: 1970, month: 1, day: 1, weekday: 4, hour: 0, minute: 0, second: 0 };
    let mut day: u64 = 0;
    while next.year < 2970 {
        assert_eq!(Calendar::from_seconds(day * 86_400), next);
        let end = Calendar { hour: 23, minute: 59, second: 59, ..next };
        assert_eq!(Calendar::from_seconds(day * 86_400 + 86_399), end);
        day += 1;
        next.weekday = (next.weekday + 1) % 7;
        next.day += 1;
        if next.day > days(next.year, next.month) {
            next = Calendar { day: 1, month: next.month + 1, ..next };
        }
        if next.month > 12 {
            next = Calendar { month: 1, year: next.year + 1, ..next };
        }
    }
}

#[test]
fn every_second_of_a_day_has_its_time() {
    for second in 0..86_400 {
        let read = Calendar::from_seconds(20_000 * 86_400 + second);
        let sum = u64::from(read.hour) * 3_600 + u64::from(read.minute) * 60 + u64::from(read.second);
        assert_eq!(sum, second);
        assert!(read.minute < 60 && read.second < 60, "{read:?}");
    }
}
