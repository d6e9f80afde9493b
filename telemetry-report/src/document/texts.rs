//! Texts that occur often, each once.

use hashbrown::HashMap;

use crate::gather::cut::cut;

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
