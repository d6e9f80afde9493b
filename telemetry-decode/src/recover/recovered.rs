//! What was found in a memory image, and what of it became a stream.

use std::collections::BTreeMap;
use std::fmt;

use telemetry_format::{LaneCounters, Loss};
use telemetry_schema::Registry;

use crate::registry::event::Event;
use crate::registry::known_registry::KnownRegistry;
use crate::sessions::session::Session;
use crate::values::raw::Raw;

/// Most copies of blocks of events. A copy takes some 50 bytes of memory.
pub(super) const MAX_COPIES: usize = 4 << 20;

/// What was found in a memory image, and what of it became a stream.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recovered {
    /// Bytes looked at.
    pub scanned: u64,
    /// Whole blocks found, as streams have them.
    pub whole_blocks: u64,
    /// Blocks of memory found, with what was committed of them.
    pub live_blocks: u64,
    /// Blocks found and left out, by why.
    pub refused: BTreeMap<Refusal, Refused>,
    /// Session, registry and thread blocks that could not be understood: byte offset and why.
    pub unreadable: Vec<(u64, String)>,
    /// Blocks of events in the stream.
    pub blocks: u64,
    /// Events in the stream.
    pub events: u64,
    /// Bytes of the stream.
    pub bytes: u64,
    /// Lost in the program, as far as what was found tells.
    pub lost: Loss,
    /// Sessions of the stream.
    pub sessions: Vec<Session>,
    /// By session and number: every thread that events were found of.
    pub threads: Vec<ThreadInFlight>,
    /// Every lane whose account was found, with where its events went.
    pub lanes: Vec<RecoveredLane>,
    /// Sums of the accounts of lanes that are gone, whose threads had ended, by session as in `sessions`.
    pub gone: Vec<LaneCounters>,
    pub(super) registries: Vec<KnownRegistry>,
}

/// Why a block was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The header's checksum differs.
    Header,
    /// The payload's checksum differs.
    Payload,
    /// The image ends before the block does.
    Cut,
    /// A type that this version does not know, or that blocks of memory do not have.
    Type(u8),
    /// The registry with this fingerprint is not in the image, so it is unknown which events of a block of
    /// memory are whole.
    NoRegistry(u64),
    /// No event that its header promises can be decoded.
    Undecodable,
    /// Another copy of the block began at another time.
    Contradicted,
    /// There are more blocks than any program has.
    TooMany,
}

/// Blocks left out for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// How many.
    pub blocks: u64,
    /// Byte offset of the first.
    pub first_at: u64,
}

/// What a thread was doing when the image was made.
#[derive(Debug)]
#[non_exhaustive]
pub struct ThreadInFlight {
    /// Index into [`Recovered::sessions`].
    pub session: usize,
    /// The session's number for it.
    pub thread: u32,
    /// Blocks that it was still writing.
    pub open: Vec<OpenBlock>,
    pub(super) last: Option<LastEvent>,
    /// Nanoseconds from its last event to the last one of its session.
    pub behind_ns: i64,
}

/// Where the events that one thread recorded in one kind went.
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
    /// Events whose emitters had recorded them.
    pub recorded: u64,
    /// Events that are in the stream.
    pub recovered: u64,
    /// Events that the flight recorder had evicted for later ones.
    pub evicted: u64,
    /// Events that a sink had taken, and whose memory was given back. They are in that sink's stream.
    pub written: u64,
    /// Events recorded for a sink that none had taken.
    pub lost: u64,
    /// Events of which nothing is known: parts of the image are damaged or were left out.
    pub missing: u64,
    /// Losses before they could be recorded: no memory, or they interrupted an emission; and values that were cut.
    pub not_recorded: Loss,
}

/// A block that was still being written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenBlock {
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// Events committed.
    pub events: u32,
    /// Bytes of them.
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
    /// The last event of a thread.
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
            payload: &last.payload,
            raw: &last.raw,
        })
    }

    /// The registry of a fingerprint, if it was found or given.
    pub fn registry(&self, fingerprint: u64) -> Option<&Registry> {
        self.registries.iter().find(|known| known.fingerprint == fingerprint).map(|known| &known.registry)
    }

    /// True if a session or an event was found.
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
            Refusal::Undecodable => f.write_str("not one event that its header promises can be decoded"),
            Refusal::Contradicted => f.write_str("contradicts another copy of the block"),
            Refusal::TooMany => write!(f, "more than {} blocks", MAX_COPIES),
        }
    }
}
