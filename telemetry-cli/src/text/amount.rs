//! Numbers in sentences and tables.

use telemetry_format::{Count, Grouped};

/// Formats a number with its noun: `1 event`, `2,000 events`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    Count(number, noun).to_string()
}

/// Formats a number in groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    Grouped::from(number).to_string()
}

/// Formats a number of JSON for people: a whole one in groups, another with few digits, null as
/// `-`.
pub(crate) fn number_text(number: &serde_json::Value) -> String {
    if let Some(number) = number.as_u64() {
        return grouped(number);
    }
    if let Some(number) = number.as_i64() {
        return signed_grouped(number);
    }
    let Some(number) = number.as_f64() else {
        return match number.as_str() {
            Some("Infinity") => "inf".to_string(),
            Some("-Infinity") => "-inf".to_string(),
            _ => "-".to_string(),
        };
    };
    match number {
        0.0 => "0".to_string(),
        x if x.abs() >= 1e15 || x.abs() < 1e-3 => format!("{x:.3e}"),
        x if x.abs() >= 1e3 => signed_grouped(x.round() as i64),
        x if x.abs() >= 100.0 => format!("{x:.1}"),
        x => format!("{x:.3}"),
    }
}

/// Formats a number like [`grouped`], with a sign.
pub(crate) fn signed_grouped(number: i64) -> String {
    Grouped::from(number).to_string()
}
