//! Texts of any length, which a page shows cut.

/// The longest text, in characters.
const MAX_TEXT: usize = 200;

/// Cuts a long text.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_string(),
    }
}
