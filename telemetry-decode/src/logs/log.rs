//! Logs of other systems as sources of the same events.
//!
//! An implementation of [`Log`] knows the bytes of such a log. It looks through it once and says which events it has and
//! where they stand: in *extents*, ranges of bytes that can be decoded alone, each of one *lane*. Everything else is
//! done here, the same way for all: the order of time, filters, accounts.

use telemetry_schema::Registry;

use crate::report::completeness::Damage;
use crate::report::error::Result;
use crate::sessions::session::Session;

use super::bytes::LogBytes;
use super::page::Page;
use crate::report::opaque::opaque;

/// The bytes of a log of another system, understood.
pub trait Log: Send + Sync {
    /// Looks through the whole log, and finds everything but the values of its events.
    ///
    /// Bad input is no error: what cannot be read is [`Survey::damage`], and what can be read before and behind it
    /// is found. Memory must not grow with what the log claims, only with what it has.
    ///
    /// # Errors
    /// Those of the input.
    fn survey(&mut self, bytes: &mut LogBytes<'_>) -> Result<Survey>;

    /// Appends the events of an extent to a page, in the order of the log. `bytes` are those of the extent;
    /// fewer, or others, if the file was changed since the survey.
    fn read(&self, extent: &Extent, bytes: &[u8], page: &mut Page);
}

/// A log, and where its bytes are.
pub struct LogFile<'s> {
    /// A regular file.
    pub file: std::fs::File,
    /// Who understands it.
    pub log: Box<dyn Log + 's>,
    /// Why the file has less than there was, if its maker knows that: its compression is broken, say.
    pub cut: Option<String>,
}

opaque!(LogFile<'_>, "LogFile");

/// What a log has.
#[derive(Debug, Default)]
pub struct Survey {
    /// Runs of a program. Usually one; none in a log whose very header cannot be read.
    pub sessions: Vec<Session>,
    /// What the log's events are. An event of a page names its registry by the index here.
    pub registries: Vec<Registry>,
    /// Number of events, by registry and by the event's index in it.
    pub counts: Vec<Vec<u64>>,
    /// Who emitted the events.
    pub lanes: Vec<LogLane>,
    /// Where the events are, in the order of the log.
    pub extents: Vec<Extent>,
    /// Bytes that cannot be read, in the order of the log.
    pub damage: Vec<Damage>,
}

/// Who emitted events, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLane {
    /// Index into [`Survey::sessions`].
    pub session: usize,
    /// The session's number for the thread, from 1.
    pub thread: u32,
}

/// Bytes of a log with the events of one lane, which can be decoded alone.
///
/// All of them are held in memory at once, decoded: an extent should not be much longer than 64 KiB. Events may stand in
/// any order in it, but those of a later extent of its lane must not be earlier: where time goes back, a lane
/// has no border between extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Index into [`Survey::lanes`].
    pub lane: u32,
    /// Offset of its first byte in the log.
    pub at: u64,
    /// Its bytes.
    pub len: u32,
    /// Its events.
    pub events: u32,
    /// Clock reading of its earliest event.
    pub first_ticks: u64,
    /// For the log: whatever it needs to decode the extent.
    pub note: u64,
}
