//! The events of a part, as numbers of its lane.

use telemetry_format::Header;

/// What one part of an events block contains: the events `before .. before + events` of a lane.
///
/// `docs/format.md` in the repository says what a lane is. The session is that of the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// Fingerprint of the registry.
    pub registry: u64,
    /// The session's number of the thread.
    pub thread: u32,
    /// Bit number of the kind.
    pub kind: u8,
    /// Number of the block in its lane.
    pub seq: u32,
    /// Where the part begins in its block.
    pub offset: u32,
    /// Events recorded in the lane before this part.
    pub before: u64,
    /// Events of this part.
    pub events: u32,
}

impl Interval {
    /// Returns the interval of a part with this header.
    pub fn of(header: &Header) -> Interval {
        Interval {
            registry: header.registry,
            thread: header.thread,
            kind: header.kind,
            seq: header.seq,
            offset: header.offset,
            before: header.before,
            events: header.events,
        }
    }

    fn bytes(&self) -> [u8; 33] {
        let mut bytes = [0; 33];
        bytes[..8].copy_from_slice(&self.registry.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.thread.to_le_bytes());
        bytes[12] = self.kind;
        bytes[13..17].copy_from_slice(&self.seq.to_le_bytes());
        bytes[17..21].copy_from_slice(&self.offset.to_le_bytes());
        bytes[21..29].copy_from_slice(&self.before.to_le_bytes());
        bytes[29..].copy_from_slice(&self.events.to_le_bytes());
        bytes
    }
}

/// Returns the CRC-32C of the intervals, whatever their order.
pub fn checksum(intervals: &[Interval]) -> u32 {
    let mut sorted = intervals.to_vec();
    sorted.sort_unstable();
    sorted.iter().fold(0, |crc, interval| crc32c::crc32c_append(crc, &interval.bytes()))
}
