//! Text in memory of a fixed size, without allocation.

/// A buffer for up to `N` bytes of text.
pub(crate) struct Buffer<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Buffer<N> {
    /// Creates an empty buffer.
    pub(crate) const fn new() -> Self {
        Buffer { bytes: [0; N], len: 0 }
    }

    /// Returns the bytes that were written.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Appends bytes, which need not be UTF-8. Appends all of them or none.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> core::fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + bytes.len()).ok_or(core::fmt::Error)?;
        room.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    /// Returns the text, or an empty string if [`Buffer::push`] was given bytes that are not UTF-8.
    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl<const N: usize> core::fmt::Write for Buffer<N> {
    /// Writes all of a piece, or none of it.
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.push(text.as_bytes())
    }
}

/// Text in the caller's memory. Each piece is written in full or not at all.
pub(crate) struct Region<'m> {
    bytes: &'m mut [u8],
    len: usize,
}

impl<'m> Region<'m> {
    /// Creates an empty text.
    pub(crate) fn new(bytes: &'m mut [u8]) -> Self {
        Region { bytes, len: 0 }
    }

    /// Returns the bytes that were written.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Writes some pieces, if there is room for all of them and for `spare` bytes after them.
    /// Otherwise writes none. Returns true if they are written.
    pub(crate) fn whole(&mut self, spare: usize, write: impl FnOnce(&mut Self) -> core::fmt::Result) -> bool {
        let before = self.len;
        let is_whole = write(self).is_ok() && self.bytes.len() - self.len >= spare;
        if !is_whole {
            self.len = before;
        }
        is_whole
    }
}

impl core::fmt::Write for Region<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(core::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// Displays bytes that should be text, and those that are not as `\xff`.
pub(crate) struct Shown<'b>(pub(crate) &'b [u8]);

impl core::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.utf8_chunks().try_for_each(|chunk| {
            f.write_str(chunk.valid())?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))
        })
    }
}
