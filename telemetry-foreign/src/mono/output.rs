//! Text that is written in pieces, from places that cannot return an error.

use std::io::{self, Write};

/// Bytes of text that are written together.
const FULL: usize = 64 << 10;

/// The place for the text.
pub(super) struct Output<'w> {
    to: &'w mut dyn Write,
    /// The first error. No text is written after it.
    result: io::Result<()>,
}

impl<'w> Output<'w> {
    pub(super) fn new(to: &'w mut dyn Write) -> Self {
        Output { to, result: Ok(()) }
    }

    /// Writes the text if there is enough of it.
    #[inline]
    pub(super) fn take_if_full(&mut self, text: &mut Vec<u8>) {
        if text.len() >= FULL {
            self.take(text);
        }
    }

    /// Writes the text.
    #[cold]
    fn take(&mut self, text: &mut Vec<u8>) {
        if self.result.is_ok() {
            self.result = self.to.write_all(text);
        }
        text.clear();
    }

    /// Writes the last text. Returns the first error.
    pub(super) fn end(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        self.take(text);
        std::mem::replace(&mut self.result, Ok(()))
    }

    /// Returns true if text can no longer be written.
    pub(super) fn has_failed(&self) -> bool {
        self.result.is_err()
    }
}
