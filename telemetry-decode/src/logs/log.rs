//! The interface for logs of other systems.
//!
//! An implementation of [`Log`] knows the bytes of such a log. It scans the log once, and returns
//! its events and their *extents*. An extent is a range of bytes of one *lane* that can be decoded
//! alone. This crate does the rest in the same way for all logs: time order, filters, accounts.

use std::ops::Range;

use telemetry_format::Grouped;
use telemetry_schema::Registry;

use crate::report::completeness::Damage;
use crate::report::error::Result;
use crate::sessions::session::Session;

use super::bytes::LogBytes;
use super::page::Page;
use crate::report::opaque::opaque;

/// A decoder for the bytes of another system's log.
pub trait Log: Send + Sync {
    /// Scans the whole log, and finds everything except the values of its events.
    ///
    /// Bad input is not an error: unreadable bytes are [`Survey::damage`], and the readable events
    /// on both sides are found. Memory must only grow with the size of the log, not with the
    /// numbers in it. A log may be forged: where a list [is full](Survey::full), the rest of the
    /// log is damage.
    ///
    /// # Errors
    /// Those of the input.
    fn survey(&mut self, bytes: &mut LogBytes<'_>) -> Result<Survey>;

    /// Appends the events of an extent to a page, in the order of the log. `bytes` are those of the
    /// extent. They may be fewer or different if the file was changed after the survey.
    fn read(&self, extent: &Extent, bytes: &[u8], page: &mut Page);
}

/// A log in a file.
pub struct LogFile<'s> {
    /// A regular file.
    pub file: std::fs::File,
    /// The decoder.
    pub log: Box<dyn Log + 's>,
    /// The reason why the file was truncated, if its creator knows, such as an error in compressed
    /// data.
    pub cut: Option<String>,
}

opaque!(LogFile<'_>, "LogFile");

/// The contents of a log.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Survey {
    /// Runs of a program. Usually one; none if the header of the log cannot be read.
    pub sessions: Vec<Session>,
    /// The registries of the log's events. An event of a page names its registry by the index here.
    pub registries: Vec<Registry>,
    /// Number of events, by registry and by the event's index in it.
    pub counts: Vec<Vec<u64>>,
    /// The lanes of the events.
    pub lanes: Vec<LogLane>,
    /// The extents of the events, in the order of the log.
    pub extents: Vec<Extent>,
    /// Bytes that cannot be read, in the order of the log.
    pub damage: Vec<Damage>,
}

/// One source of events in a log, usually a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLane {
    /// Index into [`Survey::sessions`].
    pub session: usize,
    /// The session's number for the thread, from 1.
    pub thread: u32,
}

/// A range of a log with the events of one lane, which can be decoded alone.
///
/// All its events are in memory at once, so an extent should not be much longer than 64 KiB. Events
/// in it may be in any order, but no event of a later extent of the lane may be earlier. An extent
/// cannot end where time goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extent {
    /// Index into [`Survey::lanes`].
    pub lane: u32,
    /// Offset of its first byte in the log.
    pub at: u64,
    /// Its length in bytes.
    pub len: u32,
    /// Number of its events.
    pub events: u32,
    /// Clock reading of its earliest event.
    pub first_ticks: u64,
    /// Data for the log itself, which it needs to decode the extent.
    pub note: u64,
}

/// The most that a survey may list. All lists together fit into the memory that a log of any length
/// may take.
impl Survey {
    /// Maximum number of sessions.
    pub const MAX_SESSIONS: usize = 1_000;
    /// Maximum number of lanes.
    pub const MAX_LANES: usize = 100_000;
    /// Maximum number of extents: those of 64 GiB, if each has 64 KiB.
    pub const MAX_EXTENTS: usize = 1 << 20;
    /// Maximum number of damaged ranges.
    pub const MAX_DAMAGE: usize = 1 << 16;

    /// Returns why no event can be added, given the numbers of extents and of damaged ranges. Then
    /// the rest of the log is damage, and the survey ends.
    #[must_use]
    pub fn full(extents: usize, damage: usize) -> Option<String> {
        full(extents, Survey::MAX_EXTENTS, "extents; the rest is left out")
            .or_else(|| full(damage, Survey::MAX_DAMAGE, "damaged ranges; the rest is left out"))
    }

    /// Returns why another session cannot be added, given the number of sessions. Then the rest of
    /// the log is damage, and the survey ends.
    #[must_use]
    pub fn full_of_sessions(sessions: usize) -> Option<String> {
        full(sessions, Survey::MAX_SESSIONS, "runs; the rest is left out")
    }

    /// Returns why another lane cannot be added, given the number of lanes. Then the events that
    /// need one are damage, and the survey goes on.
    #[must_use]
    pub fn full_of_lanes(lanes: usize) -> Option<String> {
        full(lanes, Survey::MAX_LANES, "lanes; their events are left out")
    }
}

fn full(len: usize, most: usize, what: &str) -> Option<String> {
    let why = || format!("the log has more than {} {what}", Grouped::from(most as u64));
    (len >= most).then(why)
}

impl LogLane {
    /// Creates a lane of a session, by its index, and of a thread of it.
    #[must_use]
    pub fn new(session: usize, thread: u32) -> Self {
        LogLane { session, thread }
    }
}

impl Extent {
    /// Creates an extent: the index of its lane, its range in the log, the number of its events,
    /// and the clock reading of the earliest.
    #[must_use]
    pub fn new(lane: u32, range: Range<u64>, events: u32, first_ticks: u64) -> Self {
        // A log gives extents that are in memory at once.
        let len = u32::try_from(range.end.saturating_sub(range.start)).unwrap_or(u32::MAX);
        Extent { lane, at: range.start, len, events, first_ticks, note: 0 }
    }

    /// Adds data that the log needs to decode the extent.
    #[must_use]
    pub fn with_note(mut self, note: u64) -> Self {
        self.note = note;
        self
    }
}
