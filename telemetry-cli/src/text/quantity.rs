//! Quantities on the command line: durations and numbers of bytes.

use std::time::Duration;

/// Units of time, in nanoseconds.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a time since the session's start, in nanoseconds. A number without a unit means
/// nanoseconds, and may have groups as `print` shows them: `1,500,000`.
pub(crate) fn time_ns(text: &str) -> Result<i64, String> {
    nanoseconds(text, Some(1)).ok_or_else(|| {
        format!("expected a time of whole nanoseconds such as `1.5s`, `20ms`, `2m` or `1500`, found `{text}`")
    })
}

/// Reads a duration, which has a unit and is above zero.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let ns = nanoseconds(text, None).and_then(|ns| u64::try_from(ns).ok()).filter(|ns| *ns > 0);
    ns.map(Duration::from_nanos)
        .ok_or_else(|| format!("expected a duration such as `30s`, `1m` or `1.5h`, found `{text}`"))
}

/// Reads a number of bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let expected =
        || format!("expected a number of bytes such as `65536`, `64k`, `16M` or `2G`, found `{text}`");
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| expected())?;
    number.checked_mul(1 << shift).ok_or_else(expected)
}

/// Reads an exact number of nanoseconds. `bare` is the unit of a number without one.
fn nanoseconds(text: &str, bare: Option<i128>) -> Option<i64> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let end = text.find(|char: char| !matches!(char, '0'..='9' | '.' | ',' | '_')).unwrap_or(text.len());
    let unit = match text[end..].trim_start() {
        "" => bare?,
        word => UNITS.iter().find(|(name, _)| *name == word)?.1,
    };
    let (whole, fraction) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
    let fraction = fraction.trim_end_matches('0');
    if !whole.starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    let mut number = 0_i128;
    for digit in whole.chars().filter(|char| !matches!(char, ',' | '_')).chain(fraction.chars()) {
        let digit = digit.to_digit(10)?;
        number = number.checked_mul(10)?.checked_add(digit.into())?;
    }
    let number = number.checked_mul(unit)?.checked_mul(sign)?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    if number % scale == 0 { i64::try_from(number / scale).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_exactly() {
        let table = [
            ("0", Some(0)),
            ("1500", Some(1500)),
            ("1_500_000", Some(1_500_000)),
            ("1,500,000", Some(1_500_000)),
            ("1.5s", Some(1_500_000_000)),
            ("0.000000001s", Some(1)),
            ("1.50000000000s", Some(1_500_000_000)),
            ("20ms", Some(20_000_000)),
            ("300us", Some(300_000)),
            ("300µs", Some(300_000)),
            ("7ns", Some(7)),
            ("-5ms", Some(-5_000_000)),
            ("5m", Some(300_000_000_000)),
            ("1 s", Some(1_000_000_000)),
            ("1.5 h", Some(5_400_000_000_000)),
            ("2min", Some(120_000_000_000)),
            ("9223372036.854775807s", Some(i64::MAX)),
            ("9223372036.854775808s", None),
            ("99999999999999999999999999999999999999h", None),
            ("0.0000000001s", None),
            ("1.5", None),
            ("1.5ns", None),
            ("", None),
            ("s", None),
            (".5s", None),
            ("--5", None),
            ("1e3", None),
            ("_1", None),
            ("1.5.5s", None),
            ("0.1_5s", None),
            ("1 day", None),
        ];
        for (text, expected) in table {
            assert_eq!(time_ns(text).ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1m"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("0.5 h"), Ok(Duration::from_secs(1800)));
        for text in ["30", "0s", "-1s", "nan", "1e99", ""] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn bytes_have_a_suffix_or_none() {
        let table = [("65536", Some(65_536)), ("64k", Some(65_536)), ("2G", Some(2 << 30))];
        let wrong = ["", "k", "-1", "1.5M", "1ü", "99999999999G"].map(|text| (text, None));
        for (text, expected) in table.into_iter().chain(wrong) {
            assert_eq!(bytes(text).ok(), expected, "{text:?}");
        }
    }
}
