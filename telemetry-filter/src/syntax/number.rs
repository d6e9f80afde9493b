//! Numbers with units.

/// Units, and whether they are units of time.
const UNITS: &[(&str, i128, bool)] = &[
    ("", 1, false),
    ("ns", 1, true),
    ("us", 1_000, true),
    ("µs", 1_000, true),
    ("ms", 1_000_000, true),
    ("s", 1_000_000_000, true),
    ("m", 60_000_000_000, true),
    ("min", 60_000_000_000, true),
    ("h", 3_600_000_000_000, true),
    ("k", 1 << 10, false),
    ("K", 1 << 10, false),
    ("M", 1 << 20, false),
    ("G", 1 << 30, false),
    ("KiB", 1 << 10, false),
    ("MiB", 1 << 20, false),
    ("GiB", 1 << 30, false),
];

/// The most digits after the point.
const MAX_SCALE: usize = 18;

/// Returns digits, scale and whether it is a time, of a number without a sign: `0x7f00`, `1_000`,
/// `1.5ms`, `64KiB`.
pub(super) fn number(text: &str) -> Option<(i128, u32, bool)> {
    if let Some(digits) = text.strip_prefix("0x") {
        let digits = digits.replace('_', "");
        return Some((u64::from_str_radix(&digits, 16).ok()?.into(), 0, false));
    }
    let end = text.find(|char: char| !matches!(char, '0'..='9' | '.' | '_')).unwrap_or(text.len());
    let &(_, factor, is_time) = UNITS.iter().find(|(name, ..)| *name == &text[end..])?;
    let (whole, fraction) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
    if whole.len() < end && fraction.is_empty() || fraction.len() > MAX_SCALE || fraction.contains('_') {
        return None;
    }
    let digits: i128 = format!("{}{fraction}", whole.replace('_', "")).parse().ok()?;
    Some((digits.checked_mul(factor)?, fraction.len() as u32, is_time))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_read_exactly() {
        let table = [
            ("0", Some((0, 0, false))),
            ("1_000", Some((1000, 0, false))),
            ("0x7f_00", Some((0x7f00, 0, false))),
            ("0xffffffffffffffff", Some((u64::MAX.into(), 0, false))),
            ("18446744073709551616", Some((1 << 64, 0, false))),
            ("1.5", Some((15, 1, false))),
            ("1.5ms", Some((15_000_000, 1, true))),
            ("2m", Some((120_000_000_000, 0, true))),
            ("64KiB", Some((65_536, 0, false))),
            ("2G", Some((2 << 30, 0, false))),
            ("1.", None),
            ("1.2.3", None),
            ("1e9", None),
            ("5 ms", None),
            ("5parsecs", None),
            ("0x", None),
            ("0x10000000000000000", None),
            ("0.0000000000000000001", None),
            ("99999999999999999999999999999999999999h", None),
        ];
        for (text, expected) in table {
            assert_eq!(number(text), expected, "{text:?}");
        }
    }
}
