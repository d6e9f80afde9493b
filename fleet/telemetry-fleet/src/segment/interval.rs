//! The events of a segment, as numbers of its lanes.

use telemetry_format::Header;

/// The checksum of what parts of events blocks contain: the events `before .. before + events` of a
/// lane each. The order of the parts does not matter.
///
/// `docs/format.md` in the repository says what a lane is. The session is that of the segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Intervals(u32);

impl Intervals {
    /// Adds the part with this header.
    pub fn add(&mut self, header: &Header) {
        let mut bytes = [0; 33];
        bytes[..8].copy_from_slice(&header.registry.to_le_bytes());
        bytes[8..12].copy_from_slice(&header.thread.to_le_bytes());
        bytes[12] = header.kind;
        bytes[13..17].copy_from_slice(&header.seq.to_le_bytes());
        bytes[17..21].copy_from_slice(&header.offset.to_le_bytes());
        bytes[21..29].copy_from_slice(&header.before.to_le_bytes());
        bytes[29..].copy_from_slice(&header.events.to_le_bytes());
        self.0 = self.0.wrapping_add(mixed(crc32c::crc32c(&bytes)));
    }

    /// Adds the parts of another sum.
    pub fn add_all(&mut self, other: Intervals) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// Returns the checksum.
    pub fn checksum(self) -> u32 {
        self.0
    }
}

/// Mixes the bits of a number, as MurmurHash3 ends. Sums of bare CRCs are often equal, because a
/// CRC is linear: two lanes could exchange their numbers.
fn mixed(crc: u32) -> u32 {
    let mut bits = crc ^ (crc >> 16);
    bits = bits.wrapping_mul(0x85eb_ca6b);
    bits ^= bits >> 13;
    bits = bits.wrapping_mul(0xc2b2_ae35);
    bits ^ (bits >> 16)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use telemetry_format::BlockType;

    use super::*;

    fn checksum(parts: &[(u32, u64)]) -> u32 {
        let mut intervals = Intervals::default();
        for (thread, before) in parts {
            intervals.add(&Header { thread: *thread, before: *before, ..Header::new(BlockType::Events, 1) });
        }
        intervals.checksum()
    }

    #[test]
    fn only_the_order_does_not_matter() {
        assert_eq!(checksum(&[(1, 0), (2, 8)]), checksum(&[(2, 8), (1, 0)]));
        let mut all = HashSet::new();
        for one in 0..200 {
            for other in one..200 {
                // Two lanes that exchange their numbers are others.
                assert!(all.insert(checksum(&[(1, one), (2, other)])));
                assert!(one == other || all.insert(checksum(&[(1, other), (2, one)])));
            }
        }
    }
}
