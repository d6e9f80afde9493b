//! Text in memory of fixed size, made without an allocation.

/// Up to `N` bytes of text.
pub(crate) struct Buffer<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Buffer<N> {
    /// Empty.
    pub(crate) const fn new() -> Self {
        Buffer { bytes: [0; N], len: 0 }
    }

    /// What was written.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Appends bytes, all or none, that need not be text.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> core::fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + bytes.len()).ok_or(core::fmt::Error)?;
        room.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    /// The same as text; nothing if [`Buffer::push`] was given what is none.
    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl<const N: usize> core::fmt::Write for Buffer<N> {
    /// All or nothing of each piece.
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.push(text.as_bytes())
    }
}

/// Shows bytes that should be text, those that are none as `\xff`.
pub(crate) struct Shown<'b>(pub(crate) &'b [u8]);

impl core::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.utf8_chunks().try_for_each(|chunk| {
            f.write_str(chunk.valid())?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))
        })
    }
}
