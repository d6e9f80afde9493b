//! The record of a parameter that was read but not yet decoded to a value.

/// The decoder's note about a parameter, made while it looks for the start of the next one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Raw {
    /// The bits of a number; for an array of a delta type, the base of its first element.
    pub(crate) bits: u64,
    /// Start of the bytes of a string, byte string or array in the payload. An array's bytes
    /// include its count, if it has one.
    pub(crate) at: u32,
    pub(crate) end: u32,
}

impl Raw {
    #[inline]
    pub(crate) fn run<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        payload.get(self.at as usize..self.end as usize).unwrap_or_default()
    }
}
