//! Texts that occur often, each once.

use hashbrown::HashMap;

/// The longest text, in characters.
const MAX_TEXT: usize = 200;

/// All texts, by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) list: Vec<String>,
    by_text: HashMap<String, i64>,
}

impl Texts {
    /// Returns the number of a text. A long one is cut.
    pub(super) fn number(&mut self, text: &str) -> i64 {
        let text = cut(text);
        if let Some(number) = self.by_text.get(&text) {
            return *number;
        }
        let number = self.list.len() as i64;
        self.list.push(text.clone());
        self.by_text.insert(text, number);
        number
    }
}

/// Cuts a long text.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_string(),
    }
}
