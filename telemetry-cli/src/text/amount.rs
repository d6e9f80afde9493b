//! Numbers in sentences and tables.

use super::number;

/// `1 event`, `2_000 events`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// In groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    signed_grouped(i64::try_from(number).unwrap_or(i64::MAX))
}

/// As [`grouped`], with a sign.
pub(crate) fn signed_grouped(number: i64) -> String {
    let mut out = Vec::new();
    number::grouped(&mut out, number, 0);
    String::from_utf8_lossy(&out).into_owned()
}
