//! Dates in UTC.

use jiff::Timestamp;

/// Formats nanoseconds since 1970-01-01 as `2026-11-21T05:47:31.123456789Z`.
pub(crate) fn rfc_3339(ns: u64) -> String {
    // Every number of 64 bits is in the range of timestamps.
    format!("{:.9}", Timestamp::from_nanosecond(ns.into()).unwrap_or(Timestamp::MAX))
}

/// Formats the dates of events. Most events are in the same second as the last one, so its text is
/// cached.
#[derive(Default)]
pub(crate) struct Moments {
    /// A second, and its date up to the decimal point.
    last: Option<(u64, String)>,
}

impl Moments {
    /// Appends the date of a number of nanoseconds since 1970-01-01. Earlier times appear as that
    /// day.
    #[inline]
    pub(crate) fn append(&mut self, out: &mut Vec<u8>, ns: i64) {
        let ns = u64::try_from(ns).unwrap_or(0);
        let (second, mut fraction) = (ns / 1_000_000_000, (ns % 1_000_000_000) as u32);
        let text = match &mut self.last {
            Some((last, text)) if *last == second => text,
            last => {
                let mut text = rfc_3339(second * 1_000_000_000);
                text.truncate(text.len() - "000000000Z".len());
                &mut last.insert((second, text)).1
            }
        };
        out.extend_from_slice(text.as_bytes());
        let mut digits = *b"000000000Z";
        for digit in digits[..9].iter_mut().rev() {
            *digit = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        out.extend_from_slice(&digits);
    }
}

#[cfg(test)]
mod tests {
    use super::{Moments, rfc_3339};

    #[test]
    fn moments_equal_dates() {
        let mut moments = Moments::default();
        for ns in
            [0, 1, 999_999_999, 1_000_000_000, 1_795_240_051_123_456_789, 1_795_240_051_000_000_001, i64::MAX]
        {
            let mut out = Vec::new();
            moments.append(&mut out, ns);
            assert_eq!(String::from_utf8(out).unwrap(), rfc_3339(ns as u64));
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        // These are from `date -u -d @SECONDS`.
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
