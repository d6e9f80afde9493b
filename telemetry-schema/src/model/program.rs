//! The canonical form as a program contains it: behind a head, by which tools find it.

use std::fmt;

use crate::model::registry::Registry;

/// What stands in a program before the canonical form of a registry, as one line of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramHead {
    /// Length of the canonical form in bytes.
    pub len: u32,
    /// The fingerprint of the registry.
    pub fingerprint: u64,
}

impl ProgramHead {
    /// How each head begins.
    pub const MARK: &str = "telemetry-registry ";
    /// Length of a head in bytes.
    pub const LEN: usize = Self::MARK.len() + 8 + 1 + 16 + 1;

    /// Reads the head at the start of these bytes. Returns nothing if there is none.
    pub fn read(bytes: &[u8]) -> Option<ProgramHead> {
        let line = std::str::from_utf8(bytes.get(..Self::LEN)?).ok()?;
        let (len, fingerprint) = line.strip_prefix(Self::MARK)?.strip_suffix('\n')?.split_once(' ')?;
        let head = ProgramHead {
            len: u32::from_str_radix(len, 16).ok()?,
            fingerprint: u64::from_str_radix(fingerprint, 16).ok()?,
        };
        // So signs and capital letters are refused.
        (head.to_string() == line).then_some(head)
    }
}

impl fmt::Display for ProgramHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}{:08x} {:016x}", Self::MARK, self.len, self.fingerprint)
    }
}

impl Registry {
    /// Returns the canonical form behind its head.
    #[must_use]
    pub fn for_program(&self) -> String {
        let text = self.to_toml();
        // A registry has at most 65,536 events, so its text is far shorter.
        let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
        format!("{}{text}", ProgramHead { len, fingerprint: self.fingerprint() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_back() {
        let head = ProgramHead { len: 0x1234, fingerprint: 0xab_cdef };
        let text = format!("{head}[registry]");
        assert_eq!(text, "telemetry-registry 00001234 0000000000abcdef\n[registry]");
        assert_eq!(ProgramHead::read(text.as_bytes()), Some(head));
        let line = head.to_string();
        assert_eq!(line.len(), ProgramHead::LEN);
        for at in 0..line.len() {
            assert_eq!(ProgramHead::read(&line.as_bytes()[..at]), None, "{at} bytes");
            let mut wrong = line.clone().into_bytes();
            wrong[at] = b'+';
            assert_eq!(ProgramHead::read(&wrong), None, "byte {at}");
        }
        assert_eq!(ProgramHead::read(line.to_uppercase().as_bytes()), None);
    }
}
