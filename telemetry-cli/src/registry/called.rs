//! What stands in a program for each emitter that code calls.

/// The mark that `called!` of the runtime makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CalledMark {
    /// The fingerprint of the registry.
    pub(crate) fingerprint: u64,
    /// The code of the event.
    pub(crate) code: u16,
}

impl CalledMark {
    /// How each mark begins.
    pub(crate) const MARK: &[u8; 6] = b"\x89TelEm";
    /// Length of a mark in bytes.
    pub(crate) const LEN: usize = 16;

    /// Reads the mark at the start of these bytes. Returns nothing if there is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<CalledMark> {
        let rest: [u8; 10] = bytes.get(..Self::LEN)?.strip_prefix(Self::MARK)?.try_into().ok()?;
        let [c0, c1, fingerprint @ ..] = rest;
        Some(CalledMark { fingerprint: u64::from_le_bytes(fingerprint), code: u16::from_le_bytes([c0, c1]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read() {
        let bytes = b"\x89TelEm\x34\x12\xef\xcd\xab\0\0\0\0\x80rest";
        let mark = CalledMark { fingerprint: 0x8000_0000_00ab_cdef, code: 0x1234 };
        assert_eq!(CalledMark::read(bytes), Some(mark));
        assert_eq!(CalledMark::read(&bytes[..CalledMark::LEN]), Some(mark));
        assert_eq!(CalledMark::read(&bytes[..CalledMark::LEN - 1]), None);
        assert_eq!(CalledMark::read(&bytes[1..]), None);
    }
}
