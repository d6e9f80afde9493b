//! The results of recovering a memory image.

use std::collections::BTreeMap;
use std::fmt;

use telemetry_format::{LaneCounters, Loss};
use telemetry_schema::Registry;

use crate::registry::event::{Event, NO_POSITION};
use crate::registry::known_registry::KnownRegistry;
use crate::sessions::session::Session;
use crate::values::raw::Raw;

/// The maximum number of copies of events blocks. A copy takes about 100 bytes of memory: with its
/// place in the order of writing, and while they are sorted.
pub(super) const MAX_COPIES: usize = 2 << 20;

/// The contents of a memory image, and of the stream made from it.
///
/// ```
/// use telemetry_decode::writer::{Lane, Writer};
/// use telemetry_decode::{Facts, Reader, Value};
///
/// let registry = telemetry_schema::parse(r#"
///     [registry]
///     name = "demo"
///     version = "1.0.0"
///     doc = "A demonstration"
///     [kinds]
///     Pool = { bit = 0, doc = "per pool" }
///     [[event]]
///     name = "PoolInit"
///     code = 1
///     kind = "Pool"
///     doc = "A pool was made"
///     params = [{ name = "pool", sort = "pointer", doc = "the pool" }]
/// "#).unwrap();
/// let mut writer = Writer::new(Vec::new());
/// writer.session(7, &Facts::default(), 0, 0)?;
/// let lane = Lane { session: 7, thread: 1, registry: writer.registry(7, &registry)? };
/// writer.event(lane, 1, 250, &[Value::Pointer(0x7f00_1000)])?;
///
/// // The blocks lie somewhere in the memory.
/// let image = [&[0; 1000], &writer.finish()?[..], &[0xff; 77]].concat();
/// let mut stream = Vec::new();
/// let recovered = Reader::from_slice(&image).recover(&mut stream)?;
/// assert_eq!((recovered.events, recovered.sessions.len()), (1, 1));
/// assert!(recovered.has_anything() && recovered.registry(registry.fingerprint()).is_some());
///
/// let mut events = Reader::from_slice(&stream).events()?;
/// assert_eq!(events.next()?.unwrap().name(), "PoolInit");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Recovered {
    /// Bytes scanned.
    pub scanned: u64,
    /// Whole blocks, as in streams.
    pub whole_blocks: u64,
    /// Blocks of memory, with their committed events.
    pub live_blocks: u64,
    /// Skipped blocks, by reason.
    pub refused: BTreeMap<Refusal, Refused>,
    /// Unreadable session, registry and thread blocks: byte offset and reason.
    pub unreadable: Vec<(u64, String)>,
    /// Events blocks in the stream.
    pub blocks: u64,
    /// Events in the stream.
    pub events: u64,
    /// Length of the stream.
    pub bytes: u64,
    /// Events lost in the program, as far as the image shows.
    pub lost: Loss,
    /// Sessions in the stream.
    pub sessions: Vec<Session>,
    /// Every thread with recovered events, by session and number.
    pub threads: Vec<ThreadInFlight>,
    /// Every lane with an account.
    pub lanes: Vec<RecoveredLane>,
    /// Sums of the accounts of lanes that are gone, because their threads had ended; by session as
    /// in `sessions`.
    pub gone: Vec<LaneCounters>,
    pub(super) registries: Vec<KnownRegistry>,
}

/// The reason why a block was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The header's checksum differs.
    Header,
    /// The payload's checksum differs.
    Payload,
    /// The image ends inside the block.
    Cut,
    /// The type is unknown to this version, or does not occur in memory.
    Type(u8),
    /// The registry with this fingerprint is not in the image. So it is unknown which events of a
    /// block of memory are whole.
    NoRegistry(u64),
    /// No event of the block can be decoded.
    Undecodable,
    /// Another copy of the block began at another time.
    Contradicted,
    /// There are more blocks than any program has.
    TooMany,
}

/// Blocks skipped for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// Number of blocks.
    pub blocks: u64,
    /// Byte offset of the first block.
    pub first_at: u64,
}

/// A thread's state when the image was made.
#[derive(Debug)]
#[non_exhaustive]
pub struct ThreadInFlight {
    /// Index into [`Recovered::sessions`].
    pub session: usize,
    /// The session's number for the thread.
    pub thread: u32,
    /// Blocks that the thread was still writing to.
    pub open: Vec<OpenBlock>,
    pub(super) last: Option<LastEvent>,
    /// Nanoseconds from its last event to the last event of its session.
    pub behind_ns: i64,
}

/// Where the events of one lane went.
///
/// `recorded` is the sum of `recovered`, `evicted`, `written`, `lost` and `missing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveredLane {
    /// Index into [`Recovered::sessions`].
    pub session: usize,
    /// The session's number for the thread.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// Recorded events.
    pub recorded: u64,
    /// Events in the stream.
    pub recovered: u64,
    /// Events that the flight recorder evicted.
    pub evicted: u64,
    /// Events that a sink took before their memory was freed. They are in that sink's stream.
    pub written: u64,
    /// Events that were recorded for a sink, but none took them.
    pub lost: u64,
    /// Events about which nothing is known: parts of the image are damaged or skipped.
    pub missing: u64,
    /// Losses before recording: the pool was full, or the emission was reentrant; and truncated
    /// values.
    pub not_recorded: Loss,
}

/// A block that its thread was still writing to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenBlock {
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// Committed events.
    pub events: u32,
    /// Committed bytes.
    pub bytes: u32,
}

/// A copy of an event.
#[derive(Debug)]
pub(super) struct LastEvent {
    pub(super) registry: usize,
    pub(super) index: u32,
    pub(super) ticks: u64,
    pub(super) payload: Vec<u8>,
    pub(super) raw: Vec<Raw>,
}

impl Recovered {
    /// Returns the last event of a thread.
    pub fn last_event<'a>(&'a self, thread: &'a ThreadInFlight) -> Option<Event<'a>> {
        let last = thread.last.as_ref()?;
        let (session, registry) = (self.sessions.get(thread.session)?, self.registries.get(last.registry)?);
        Some(Event {
            session,
            thread: thread.thread,
            ticks: last.ticks,
            time_ns: session.clock.ns(last.ticks),
            known: registry,
            schema: registry.registry.events.get(last.index as usize)?,
            index: last.index as usize,
            packed_len: last.payload.len() as u32,
            offset: 0,
            position: NO_POSITION,
            payload: &last.payload,
            raw: &last.raw,
        })
    }

    /// Returns the registry with a fingerprint, if it is in the image or from the caller.
    pub fn registry(&self, fingerprint: u64) -> Option<&Registry> {
        self.registries.iter().find(|known| known.fingerprint == fingerprint).map(|known| &known.registry)
    }

    /// Returns true if the image has a session or an event.
    pub fn has_anything(&self) -> bool {
        self.events > 0 || self.sessions.iter().any(|session| session.declared)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Header => f.write_str("header checksum differs"),
            Refusal::Payload => f.write_str("payload checksum differs"),
            Refusal::Cut => f.write_str("ends beyond the image"),
            Refusal::Type(code) => write!(f, "unknown type {code}"),
            Refusal::NoRegistry(fingerprint) => write!(f, "no registry {fingerprint:016x} in the image"),
            Refusal::Undecodable => f.write_str("none of its events can be decoded"),
            Refusal::Contradicted => f.write_str("contradicts another copy of the block"),
            Refusal::TooMany => write!(f, "more than {} blocks", MAX_COPIES),
        }
    }
}
