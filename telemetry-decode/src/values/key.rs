//! Values that are compared: keys of spans and of rules.

use crate::values::value::Value;

/// The value of a key: the bits of a number, or a string.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// There is no key.
    None,
    /// The bits of a number.
    Number(u64),
    /// The bytes of a string.
    Text(Box<[u8]>),
}

impl Key {
    /// Returns the key for a value.
    pub fn new(value: &Value<'_>) -> Key {
        match (value.as_i128(), value.as_bytes()) {
            (Some(number), _) => Key::Number(number as u64),
            (None, Some(bytes)) => Key::Text(bytes.into()),
            // Registries have no other keys.
            (None, None) => Key::None,
        }
    }

    /// Returns the number of bytes of a string.
    pub fn text_len(&self) -> usize {
        if let Key::Text(text) = self { text.len() } else { 0 }
    }
}
