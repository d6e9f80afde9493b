//! Values of `tracing` as texts.

use std::cell::Cell;
use std::fmt::{self, Debug, Write};
use std::ops::Deref;

/// A value as text, at most as long as a parameter, and a little more: the runtime then counts it
/// as truncated.
pub(crate) struct Text {
    text: String,
    /// The most bytes.
    max: usize,
}

/// The most bytes of a text: the maximum of the registry, and one character.
const MAX: usize = 4096 + 4;

/// The same for a parameter of any registry.
const MAX_OF_ANY: usize = 16384 + 4;

thread_local! {
    /// The memory of the thread's last text.
    static SPARE: Cell<String> = const { Cell::new(String::new()) };
}

impl Text {
    pub(crate) fn of(value: &dyn Debug) -> Text {
        Text::up_to(MAX, value)
    }

    /// Returns a text for a parameter of any registry.
    pub(crate) fn of_any(value: &dyn Debug) -> Text {
        Text::up_to(MAX_OF_ANY, value)
    }

    fn up_to(max: usize, value: &dyn Debug) -> Text {
        // A value may itself use `tracing` while it is formatted: that finds no spare memory.
        let mut text = Text { text: SPARE.try_with(Cell::take).unwrap_or_default(), max };
        text.text.clear();
        // An error means that the text is long enough, or that the value has a part that it cannot
        // show. The text so far is what can be known.
        let _ = write!(text, "{value:?}");
        text
    }
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.max - self.text.len();
        let end = part.floor_char_boundary(room);
        self.text.push_str(&part[..end]);
        if end == part.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.text)));
    }
}
