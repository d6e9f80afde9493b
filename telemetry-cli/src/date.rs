//! Dates of the proleptic Gregorian calendar, in UTC.

const DAY: u64 = 86_400;

/// `2026-11-21T05:47:31.123456789Z` of nanoseconds since 1970-01-01.
pub(crate) fn rfc_3339(ns: u64) -> String {
    let (seconds, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let (mut day, second) = (seconds / DAY, seconds % DAY);
    let mut year = 1970;
    while day >= days_of_year(year) {
        day -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while day >= days_of_month(year, month) {
        day -= days_of_month(year, month);
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{ns:09}Z", day + 1)
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

#[cfg(test)]
mod tests {
    use super::rfc_3339;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // As `date -u -d @SECONDS` prints them.
        let table = [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_799, "2000-02-29 23:59:59"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (1_700_000_000, "2023-11-14 22:13:20"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (18_446_744_073, "2554-07-21 23:34:33"),
        ];
        for (seconds, expected) in table {
            assert_eq!(rfc_3339(seconds * 1_000_000_000), format!("{expected}.000000000Z").replace(' ', "T"));
        }
        assert_eq!(rfc_3339(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }
}
