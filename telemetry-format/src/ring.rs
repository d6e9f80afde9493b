//! How a ring file begins: with whose it is, so that it can be told from other files, and from the rings of
//! other processes that had the same path. Blocks follow anywhere behind it, as in any memory image.

use crate::header::Checksum;

/// The first bytes of a ring file.
pub const RING_MAGIC: [u8; 8] = *b"\x89TELRING";

/// Bytes at the beginning of a ring file that [`RingHead`] has to itself, whatever the size of the system's pages:
/// memory is mapped from here on.
pub const RING_START: u64 = 1 << 16;

/// Behind the name of a ring file: the ring of an earlier process that had the same path.
pub const RING_OLD: &str = ".old";

/// Whose a ring file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingHead {
    /// The number that the process has for itself.
    pub pid: u32,
    /// A number that no other run has.
    pub session: u64,
}

impl RingHead {
    /// Bytes of it.
    pub const LEN: usize = 24;

    /// The first bytes of the file: magic, session, process, checksum.
    pub fn encode(&self, checksum: Checksum) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..8].copy_from_slice(&RING_MAGIC);
        out[8..16].copy_from_slice(&self.session.to_le_bytes());
        out[16..20].copy_from_slice(&self.pid.to_le_bytes());
        let crc = checksum(&out[..20]);
        out[20..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads the first bytes of a file; nothing if it is no ring file.
    pub fn decode(bytes: &[u8], checksum: Checksum) -> Option<Self> {
        let bytes = bytes.first_chunk::<{ Self::LEN }>()?;
        let half = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let head = RingHead { pid: half(16), session: u64::from(half(8)) | u64::from(half(12)) << 32 };
        (bytes[..8] == RING_MAGIC && half(20) == checksum(&bytes[..20])).then_some(head)
    }
}
