//! Dates in UTC, as text.

use telemetry_format::Calendar;

/// Formats nanoseconds since 1970-01-01 as `2026-11-21T05:47:31.123456789Z`. Earlier times appear
/// as that day.
pub(crate) fn date(ns: i64) -> String {
    let ns = u64::try_from(ns).unwrap_or(0);
    let Calendar { year, month, day, hour, minute, second, .. } = Calendar::from_seconds(ns / 1_000_000_000);
    let ns = ns % 1_000_000_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ns:09}Z")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // These are from `date -u -d @SECONDS`.
        let table = [
            (0, "1970-01-01T00:00:00"),
            (951_782_400, "2000-02-29T00:00:00"),
            (951_868_799, "2000-02-29T23:59:59"),
            (1_709_251_199, "2024-02-29T23:59:59"),
            (1_709_251_200, "2024-03-01T00:00:00"),
            (1_700_000_000, "2023-11-14T22:13:20"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ];
        for (seconds, expected) in table {
            assert_eq!(date(seconds * 1_000_000_000 + 7), format!("{expected}.000000007Z"));
        }
        assert_eq!(date(i64::MAX), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(date(-1), date(0));
    }
}
