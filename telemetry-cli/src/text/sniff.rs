//! What a file is, by its first bytes, in words.

use telemetry_foreign::Format;
use telemetry_format::MAGIC;

/// What begins so, in words: a stream, or another system's log; none if it is neither.
pub(crate) fn known_by(first: &[u8]) -> Option<String> {
    if first.starts_with(&MAGIC) {
        return Some("a telemetry stream".to_string());
    }
    Format::recognize(first).map(|format| format!("a log of format {}", format.name()))
}
