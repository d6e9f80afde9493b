//! The completeness of a stream: which bytes and events were read, and which were not.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use telemetry_format::{Grouped, HeaderError, Loss, Malformed};

/// The most entries of a list in the report. Further entries are only counted.
pub const MAX_LISTED: usize = 1 << 16;

/// Counts of the read and unread parts of a stream, with reasons. Every byte of the input is in one
/// of [`Bytes`]. Every emitted event of a lane is in one of the counts of its [`LaneReport`].
///
/// ```
/// use telemetry_decode::Reader;
///
/// let mut events = Reader::from_slice(b"no stream").events()?;
/// while events.next()?.is_some() {}
/// let completeness = events.completeness();
/// assert!(!completeness.is_complete());
/// assert_eq!(completeness.bytes.total(), 9);
/// # Ok::<(), telemetry_decode::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Completeness {
    /// True if the input is logs of other systems.
    pub is_of_logs: bool,
    /// Bytes of the input by result.
    pub bytes: Bytes,
    /// The number of whole blocks, or of logs whose beginning is understood.
    pub blocks: u64,
    /// The number of returned events.
    pub events: u64,
    /// The counts of each lane.
    pub lanes: Vec<LaneReport>,
    /// Session ids, each with a number of events that its sync blocks count and no lane's blocks
    /// account for. The last blocks of lanes are missing then.
    pub unaccounted: Vec<(u64, u64)>,
    /// Byte ranges without a whole block.
    pub damage: Vec<Damage>,
    /// The number of those ranges, listed or not.
    pub damaged_ranges: u64,
    /// Parts of blocks that could not be decoded.
    pub undecodable: Vec<Undecodable>,
    /// The number of those parts, listed or not.
    pub undecodable_parts: u64,
    /// The number of blocks of each type that this version does not know.
    pub unknown_blocks: BTreeMap<u8, u64>,
    /// The ids of all sessions, each with true if it ended in good order.
    pub sessions: Vec<(u64, bool)>,
    /// The number of sessions from logs whose format has no end mark. Such a log looks complete if
    /// it was truncated between two events. A stream made from it counts too.
    pub without_end_mark: u64,
    /// Registry, session and thread blocks that are not readable: byte offset and reason.
    pub unreadable: Vec<(u64, String)>,
    /// What the filter names and the stream does not have.
    pub unmatched: Vec<Unmatched>,
    /// What limits of the registries left out, whatever the filter. The stream was never meant to
    /// have these events, so they are not a loss.
    pub left_out: Vec<LeftOutReport>,
}

/// The number of events of a type that a limit left out, as far as the stream tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOutReport {
    /// Session id.
    pub session: u64,
    /// The name of the registry.
    pub registry: String,
    /// The name of the event.
    pub event: String,
    /// How many of them, in all threads.
    pub events: u64,
}

/// A name of the filter that matches nothing in the stream, or names that exclude each other.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmatched {
    /// What was to be found: ``kind `Pol` ``.
    pub what: String,
    /// The most similar name that the stream has.
    pub nearest: Option<String>,
}

/// Prints what was to be found.
impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// The bytes of the input by result: read, filtered, damaged and so on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bytes {
    /// Blocks that were read.
    pub read: u64,
    /// Blocks that the filter excludes.
    pub filtered: u64,
    /// Blocks whose events had all been read from another copy.
    pub repeated: u64,
    /// Events blocks that could not be decoded.
    pub undecodable: u64,
    /// Blocks of types that this version does not know.
    pub unknown: u64,
    /// Bytes that are not a block.
    pub damaged: u64,
}

impl Bytes {
    /// Returns the number of bytes accounted for so far; at the end, the length of the input.
    pub fn total(&self) -> u64 {
        self.read + self.filtered + self.repeated + self.undecodable + self.unknown + self.damaged
    }
}

/// The counts of one lane's events, as far as its blocks' headers tell. The program emitted `read +
/// filtered + earlier + missing + excluded + lost.events()` events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneReport {
    /// Session id.
    pub session: u64,
    /// The session's number for the thread.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// The kind's name, if its registry is known.
    pub kind_name: Option<String>,
    /// Returned events.
    pub read: u64,
    /// Events that the filter excludes.
    pub filtered: u64,
    /// Events that earlier readers returned, and this one continues ([`crate::Reader::resume`]).
    pub earlier: u64,
    /// Events lost in the program, by cause. Truncated strings are counted here too; their events
    /// are not lost.
    pub lost: Loss,
    /// Events that were recorded and written, but not read. Their blocks are damaged, undecodable
    /// or missing.
    pub missing: u64,
    /// Missing events whose blocks are in the input, but damaged or undecodable.
    pub unread: u64,
    /// Events recorded while their kind was not output, or of kinds that stay on their host. The
    /// stream was never meant to have them, so they are not a loss.
    pub excluded: u64,
    /// The gaps with missing or lost events, ordered by time.
    pub gaps: Vec<LaneGap>,
}

/// A gap in a lane where events were lost or are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneGap {
    /// The last clock reading before the gap.
    pub from_ticks: u64,
    /// The first clock reading that is certainly after the gap.
    pub until_ticks: u64,
    /// Recorded events in the gap that were not read, including those lost by sinks. Excluded
    /// events do not count.
    pub absent: u64,
    /// Events lost in the gap, by cause.
    pub lost: Loss,
}

/// A gap in a lane where events were lost or excluded, are not in the input, or are not readable.
/// An event in the gap may be missing from the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// Session id.
    pub session: u64,
    /// The session's number for the thread; 0 for losses without a thread.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// The last clock reading before the gap.
    pub from_ticks: u64,
    /// The first clock reading that is certainly after the gap.
    pub until_ticks: u64,
}

/// Bytes that are not a whole block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The range of the bytes.
    pub range: Range<u64>,
    /// The error at the first byte.
    pub cause: Cause,
    /// Number of events in the damaged block, if its header can be trusted.
    pub events: u32,
}

impl Damage {
    /// Creates the report of a range of bytes that cannot be read, with the number of events that
    /// are known to be in it.
    #[must_use]
    pub fn new(range: Range<u64>, cause: Cause, events: u32) -> Self {
        Damage { range, cause, events }
    }
}

/// The reason why bytes are damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// They do not begin with a valid header.
    Header(HeaderError),
    /// The input ends inside the block.
    Truncated {
        /// Bytes of the block that the input has.
        found: u64,
        /// Length of the block according to its header.
        expected: u64,
    },
    /// The payload's checksum differs.
    Payload {
        /// The computed checksum.
        found: u32,
        /// The checksum in the header.
        expected: u32,
    },
    /// Damage in a log of another system, described by its reader.
    Log(String),
    /// The rest of a log of another system was left out: it has more of something than is listed.
    LeftOut(String),
    /// The input was changed while it was read.
    Changed,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Header(error) => fmt::Display::fmt(error, f),
            Cause::Truncated { found, expected } => {
                let [found, expected] = [*found, *expected].map(Grouped::from);
                write!(f, "the input ends after {found} bytes of a block of {expected}")
            }
            Cause::Payload { found, expected } => {
                write!(f, "payload checksum {found:08x}, expected {expected:08x}")
            }
            Cause::Log(why) | Cause::LeftOut(why) => f.write_str(why),
            Cause::Changed => f.write_str("the input was changed while it was read"),
        }
    }
}

/// A part of a block that could not be decoded, or only its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undecodable {
    /// The range of the bytes that could not be decoded.
    pub range: Range<u64>,
    /// Number of events in the range.
    pub events: u32,
    /// The reason.
    pub reason: Reason,
}

/// The reason why events could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The registry with this fingerprint is not in the stream or, when reading a pipe, not yet.
    NoRegistry(u64),
    /// The registry has no kind with this bit.
    NoKind(u8),
    /// The payload is compressed in a way that this version does not know.
    Codec(u8),
    /// The compressed payload does not decompress to exactly this number of bytes, which its header
    /// states.
    Unpacked(u32),
    /// The compressed payload, with this decompressed length, is one of many that are open at once
    /// in time order. Together they would take more disk space than allowed. It can be read in
    /// stream order.
    NoRoom(u32),
    /// The part before this one was not read.
    NoPredecessor,
    /// There are more lanes, or more parameters in open lanes, than any program has.
    TooManyLanes,
    /// There are more gaps than a reader lists.
    TooManyGaps,
    /// The registry has no event with this code in the block's kind, so the event's end is unknown.
    UnknownEvent(u64),
    /// An event is not correctly encoded.
    Malformed(Malformed),
    /// Bytes are left after the last event.
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
            Reason::Codec(codec) => write!(f, "compressed with codec {codec}, which is unknown"),
            Reason::Unpacked(len) => {
                let len = Grouped::from(u64::from(*len));
                write!(f, "its payload does not decompress to the {len} bytes that its header states")
            }
            Reason::NoRoom(len) => write!(
                f,
                "a compressed block of {} bytes, beside others that take all allowed disk space; \
                 help: read in stream order",
                Grouped::from(u64::from(*len))
            ),
            Reason::NoPredecessor => write!(f, "the part before it is missing"),
            Reason::TooManyLanes => write!(f, "too many lanes"),
            Reason::TooManyGaps => write!(f, "too many gaps before it; help: read a part of the stream"),
            Reason::UnknownEvent(code) => write!(f, "unknown event code {code:#06x}"),
            Reason::Malformed(malformed) => fmt::Display::fmt(malformed, f),
            Reason::Trailing => write!(f, "bytes after the last event"),
        }
    }
}

impl Completeness {
    /// Returns true if all sessions ended in good order, there is at least one, and every emitted
    /// event was read. Filtered events do not matter. Returns false if the format cannot tell
    /// ([`Completeness::may_be_truncated`]).
    pub fn is_complete(&self) -> bool {
        self.is_whole() && !self.may_be_truncated()
    }

    /// Returns true if the format of an input has no end mark. Then events may be missing at its
    /// end.
    pub fn may_be_truncated(&self) -> bool {
        self.without_end_mark > 0
    }

    /// Returns true if the input shows nothing that is lost, missing or unfinished.
    pub fn is_whole(&self) -> bool {
        !self.sessions.is_empty()
            && self.missing() == 0
            && self.lost().events() == 0
            && self.damaged_ranges == 0
            && self.undecodable_parts == 0
            && self.bytes.unknown == 0
            && self.unreadable.is_empty()
            && self.sessions.iter().all(|(_, ended)| *ended)
    }

    /// Returns the losses of all lanes.
    pub fn lost(&self) -> Loss {
        let mut sum = Loss::default();
        for lane in &self.lanes {
            sum.pool = sum.pool.saturating_add(lane.lost.pool);
            sum.reentrant = sum.reentrant.saturating_add(lane.lost.reentrant);
            sum.sink = sum.sink.saturating_add(lane.lost.sink);
            sum.truncated = sum.truncated.saturating_add(lane.lost.truncated);
        }
        sum
    }

    /// Returns the number of events that were recorded and written but not read: those of all
    /// lanes, and those that no lane accounts for.
    pub fn missing(&self) -> u64 {
        let of_lanes = self.lanes.iter().map(|lane| lane.missing);
        of_lanes.chain(self.unaccounted.iter().map(|(_, events)| *events)).fold(0, u64::saturating_add)
    }

    /// Returns the number of events that limits left out.
    pub fn left_out(&self) -> u64 {
        self.left_out.iter().map(|report| report.events).fold(0, u64::saturating_add)
    }

    /// Returns the number of excluded events of all lanes.
    pub fn excluded(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.excluded).fold(0, u64::saturating_add)
    }
}
