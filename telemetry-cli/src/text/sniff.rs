//! The format of a file in words, by its first bytes.

use telemetry_foreign::Format;
use telemetry_format::MAGIC;

/// Names the format of a file that begins with these bytes, if it is a stream or another system's
/// log.
pub(crate) fn known_by(first: &[u8]) -> Option<String> {
    if first.starts_with(&MAGIC) {
        return Some("a telemetry stream".to_string());
    }
    Format::recognize(first).map(|format| format!("a log of format {}", format.name()))
}
