//! Memory images to streams: ring files, core dumps, anything that has blocks in it.
//!
//! Blocks are found by their magic number alone. What a program was writing when it ended stands in blocks of
//! memory, whose headers say how far each was committed; what it had written before stands in them too, or in
//! whole blocks. All copies of a block are put together, and what comes out is a normal stream.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use telemetry_format::Loss;
use telemetry_schema::Registry;

use crate::decoder::Decoder;
use crate::event::{Event, Raw};
use crate::registries::KnownRegistry;
use crate::session::Session;
use crate::source::Source;

mod copies;
mod scan;
mod write;

/// What was found in a memory image, and what of it became a stream.
#[derive(Debug)]
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
    registries: Vec<KnownRegistry>,
}

/// Why a block was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// The header's checksum differs.
    Header,
    /// The payload's checksum differs.
    Payload,
    /// The image ends before the block does.
    Cut,
    /// A type that this version does not know, or that blocks of memory do not have.
    Type(u8),
    /// The registry with this fingerprint is not in the image, so that nobody knows which events of a block of
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
pub struct Refused {
    /// How many.
    pub blocks: u64,
    /// Byte offset of the first.
    pub first_at: u64,
}

/// What a thread was doing when the image was made.
#[derive(Debug)]
pub struct ThreadInFlight {
    /// Index into [`Recovered::sessions`].
    pub session: usize,
    /// The session's number for it.
    pub thread: u32,
    /// Blocks that it was still writing.
    pub open: Vec<OpenBlock>,
    last: Option<LastEvent>,
    /// Nanoseconds from its last event to the last one of its session.
    pub behind_ns: i64,
}

/// A block that was still being written.
#[derive(Debug, Clone, PartialEq, Eq)]
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
struct LastEvent {
    registry: usize,
    index: u32,
    ticks: u64,
    payload: Vec<u8>,
    raw: Vec<Raw>,
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
            registry,
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
            Refusal::TooMany => write!(f, "more than {} blocks", scan::MAX_COPIES),
        }
    }
}

/// Writes what a memory image holds as a stream.
pub(crate) fn recover(
    source: &Source<'_>,
    mut decoder: Decoder,
    out: &mut dyn Write,
) -> io::Result<Recovered> {
    let found = scan::scan(source, &mut decoder)?;
    decoder.known.settle();
    write::write(source, decoder, found, out)
}
