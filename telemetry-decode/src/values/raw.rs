//! What is noted of a parameter when it is read, before anything asks for its value.

/// What the decoder notes of a parameter while it finds where the next one begins.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Raw {
    /// The bits of a number; what the first element of an array counts from.
    pub(crate) bits: u64,
    /// Where the bytes of a string, a byte string or an array stand in the payload: those of an array
    /// with its count, if it has one.
    pub(crate) at: u32,
    pub(crate) end: u32,
}

impl Raw {
    #[inline]
    pub(crate) fn run<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        payload.get(self.at as usize..self.end as usize).unwrap_or_default()
    }
}
