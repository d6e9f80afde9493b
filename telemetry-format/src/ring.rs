//! The head of a ring file, which names the process. It tells a ring file from other files, and
//! from ring files of other processes with the same path. Blocks follow anywhere after it, as in
//! any memory image.

use crate::header::Checksum;

/// The first bytes of a ring file.
pub const RING_MAGIC: [u8; 8] = *b"\x89TELRING";

/// Number of bytes at the start of a ring file that only [`RingHead`] uses. Memory is mapped from
/// here on, whatever the page size of the system.
pub const RING_START: u64 = 1 << 16;

/// The suffix of an old ring file, of an earlier process with the same path.
pub const RING_OLD: &str = ".old";

/// Identifies the process of a ring file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingHead {
    /// The number of the process, in its own view.
    pub pid: u32,
    /// A number that no other run has.
    pub session: u64,
}

impl RingHead {
    /// Length of the encoded head.
    pub const LEN: usize = 24;

    /// Returns the first bytes of the file: magic, session, process, checksum.
    #[must_use]
    pub fn encode(&self, checksum: Checksum) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..8].copy_from_slice(&RING_MAGIC);
        out[8..16].copy_from_slice(&self.session.to_le_bytes());
        out[16..20].copy_from_slice(&self.pid.to_le_bytes());
        let crc = checksum(&out[..20]);
        out[20..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes the first bytes of a file. Returns `None` if it is not a ring file.
    pub fn decode(bytes: &[u8], checksum: Checksum) -> Option<Self> {
        let bytes = bytes.first_chunk::<{ Self::LEN }>()?;
        let half = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let head = RingHead { pid: half(16), session: u64::from(half(8)) | u64::from(half(12)) << 32 };
        (bytes[..8] == RING_MAGIC && half(20) == checksum(&bytes[..20])).then_some(head)
    }
}
