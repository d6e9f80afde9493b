//! What was read of a stream, and what was not.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use telemetry_format::{HeaderError, Loss, Malformed};

use crate::load::MOST_WIDE;

/// Most entries of a list in the report; what is beyond them is only counted.
pub const MAX_LISTED: usize = 1 << 16;

/// What was read of a stream, and what was not, and why. Every byte of the input is in one of
/// [`Bytes`], and every event that a lane emitted in one of the counts of its [`LaneReport`].
#[derive(Debug, Clone, Default)]
pub struct Completeness {
    /// The input is logs of other systems.
    pub is_of_logs: bool,
    /// Bytes of the input by what became of them.
    pub bytes: Bytes,
    /// Whole blocks found; logs whose beginning is understood.
    pub blocks: u64,
    /// Events given out.
    pub events: u64,
    /// What became of the events of every lane.
    pub lanes: Vec<LaneReport>,
    /// Session id and number of events that the session's sync blocks count, and that no block of any lane
    /// tells of: the last blocks of lanes are not there.
    pub untold: Vec<(u64, u64)>,
    /// Byte ranges that hold no whole block.
    pub damage: Vec<Damage>,
    /// Number of those ranges, listed or not.
    pub damaged_ranges: u64,
    /// Parts of blocks that could not be decoded.
    pub undecodable: Vec<Undecodable>,
    /// Number of those parts, listed or not.
    pub undecodable_parts: u64,
    /// Blocks of types that this version does not know, by their number.
    pub unknown_blocks: BTreeMap<u8, u64>,
    /// Session ids of all sessions, and whether they ended in good order.
    pub sessions: Vec<(u64, bool)>,
    /// Registry, session and thread blocks that could not be understood: byte offset and why.
    pub unreadable: Vec<(u64, String)>,
    /// Names of the filter that nothing in the stream has.
    pub unmatched: Vec<String>,
}

/// Bytes of the input by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Blocks that were read.
    pub read: u64,
    /// Blocks that the filter does not want.
    pub filtered: u64,
    /// Blocks whose events had all been read from another copy.
    pub repeated: u64,
    /// Events blocks that could not be decoded.
    pub undecodable: u64,
    /// Blocks of types that this version does not know.
    pub unknown: u64,
    /// No block.
    pub damaged: u64,
}

impl Bytes {
    /// All bytes accounted for so far; at the end, the length of the input.
    pub fn total(&self) -> u64 {
        self.read + self.filtered + self.repeated + self.undecodable + self.unknown + self.damaged
    }
}

/// What became of the events of one lane, as far as its blocks' headers tell:
/// `read + filtered + earlier + missing + withheld + lost.events()` events were emitted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneReport {
    /// Session id.
    pub session: u64,
    /// The session's number for the thread.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// The kind's name, where its registry is known.
    pub kind_name: Option<String>,
    /// Events given out.
    pub read: u64,
    /// Events that the filter does not want.
    pub filtered: u64,
    /// Events that earlier readers had, whom this one goes on from ([`crate::Reader::after`]).
    pub earlier: u64,
    /// Lost in the program, by cause. (Cut strings are counted here too; their events are not lost.)
    pub lost: Loss,
    /// Recorded and written, but not read: their blocks are damaged, undecodable or not there.
    pub missing: u64,
    /// Of the missing ones, those whose blocks stand in the input, damaged or undecodable.
    pub unread: u64,
    /// Recorded while their kind was not output, so that the stream was never meant to have them. No loss.
    pub withheld: u64,
    /// Where events are missing or lost, in the order of time.
    pub holes: Vec<Hole>,
}

/// A stretch of a lane in which events were lost or are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    /// Last clock reading before it.
    pub from_ticks: u64,
    /// First clock reading that is certainly behind it.
    pub until_ticks: u64,
    /// Recorded events of the stretch that were not read, those lost by sinks included, and those withheld
    /// not.
    pub absent: u64,
    /// Lost in the stretch, by cause.
    pub lost: Loss,
}

/// A stretch of a lane in which events were lost or withheld, are not in the input, or cannot be read: an event
/// that was there need not be given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Session id.
    pub session: u64,
    /// The session's number for the thread; 0 for losses that belong to no thread in particular.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// Last clock reading before it.
    pub from_ticks: u64,
    /// First clock reading that is certainly behind it.
    pub until_ticks: u64,
}

/// Bytes that hold no whole block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Which bytes.
    pub range: Range<u64>,
    /// What is wrong at the first of them.
    pub cause: Cause,
    /// Events of the damaged block, where its header can be trusted.
    pub events: u32,
}

/// What is wrong with damaged bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// They begin with no valid header.
    Header(HeaderError),
    /// The input ends inside the block.
    Cut {
        /// Bytes of the block that are there.
        found: u64,
        /// Bytes that its header promises.
        expected: u64,
    },
    /// The payload's checksum differs.
    Payload {
        /// As computed.
        found: u32,
        /// As the header says.
        expected: u32,
    },
    /// What a log of another system has wrong, in its own words.
    Log(String),
    /// Somebody has changed the input while it was read.
    Changed,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Header(error) => fmt::Display::fmt(error, f),
            Cause::Cut { found, expected } => {
                write!(f, "the input ends after {found} bytes of a block of {expected}")
            }
            Cause::Payload { found, expected } => {
                write!(f, "payload checksum {found:08x}, expected {expected:08x}")
            }
            Cause::Log(why) => f.write_str(why),
            Cause::Changed => f.write_str("the input was changed while it was read"),
        }
    }
}

/// A part of a block that could not be decoded, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// The bytes that could not be decoded.
    pub range: Range<u64>,
    /// The events in them.
    pub events: u32,
    /// Why.
    pub reason: Reason,
}

/// Why events could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The registry with this fingerprint is not in the stream, or (reading a pipe) not yet.
    NoRegistry(u64),
    /// The registry has no kind with this bit.
    NoKind(u8),
    /// The payload is compressed in a way that this version does not know.
    Codec(u8),
    /// The compressed payload does not unpack to just so many bytes, as its header promises.
    Unpacked(u32),
    /// An event of a compressed payload is longer than so many bytes, and the lanes that are read by time hold together
    /// as much of such events as they may. In the order of the stream it can be read.
    TooLong(u32),
    /// The part that this one continues was not read.
    NoPredecessor,
    /// More lanes at once, of more parameters, than any program has.
    TooManyLanes,
    /// The registry has no event of this code in the block's kind, so that where it ends is not known.
    UnknownEvent(u64),
    /// An event breaks the rules of packing.
    Malformed(Malformed),
    /// Bytes are left behind the last event.
    Trailing,
}

impl From<Malformed> for Reason {
    fn from(malformed: Malformed) -> Self {
        Reason::Malformed(malformed)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoRegistry(fingerprint) => write!(f, "no registry {fingerprint:016x} before it"),
            Reason::NoKind(bit) => write!(f, "its registry has no kind {bit}"),
            Reason::Codec(codec) => write!(f, "compressed with codec {codec}, which is not known"),
            Reason::Unpacked(len) => {
                write!(f, "its payload does not unpack to the {len} bytes that its header promises")
            }
            Reason::TooLong(len) => write!(
                f,
                "an event of more than {len} bytes in a compressed block, while other lanes have such too, expected \
                 at most {} MiB together; help: read in the order of the stream, which needs less memory",
                MOST_WIDE >> 20
            ),
            Reason::NoPredecessor => write!(f, "the part before it is missing"),
            Reason::TooManyLanes => write!(f, "too many lanes at once"),
            Reason::UnknownEvent(code) => write!(f, "unknown event code {code:#06x}"),
            Reason::Malformed(malformed) => fmt::Display::fmt(malformed, f),
            Reason::Trailing => write!(f, "bytes behind the last event"),
        }
    }
}

impl Completeness {
    /// True if there is a session, every session ended in good order, and every event that their programs
    /// emitted was read, as far as the stream can tell. What a filter leaves out does not count.
    pub fn is_complete(&self) -> bool {
        !self.sessions.is_empty()
            && self.missing() == 0
            && self.lost().events() == 0
            && self.damaged_ranges == 0
            && self.undecodable_parts == 0
            && self.bytes.unknown == 0
            && self.unreadable.is_empty()
            && self.sessions.iter().all(|(_, ended)| *ended)
    }

    /// What all lanes lost.
    pub fn lost(&self) -> Loss {
        let mut sum = Loss::default();
        for lane in &self.lanes {
            sum.pool = sum.pool.saturating_add(lane.lost.pool);
            sum.nested = sum.nested.saturating_add(lane.lost.nested);
            sum.sink = sum.sink.saturating_add(lane.lost.sink);
            sum.cut = sum.cut.saturating_add(lane.lost.cut);
        }
        sum
    }

    /// Events that were recorded and written but not read: of all lanes, and untold ones.
    pub fn missing(&self) -> u64 {
        let of_lanes = self.lanes.iter().map(|lane| lane.missing);
        of_lanes.chain(self.untold.iter().map(|(_, events)| *events)).fold(0, u64::saturating_add)
    }

    /// Events that the stream was never meant to have, of all lanes.
    pub fn withheld(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.withheld).fold(0, u64::saturating_add)
    }
}
