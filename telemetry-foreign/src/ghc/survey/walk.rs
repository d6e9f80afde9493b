//! The state of a scan.

use std::collections::BTreeMap;
use std::ops::Range;

use telemetry_decode::completeness::{Cause, Damage};
use telemetry_decode::foreign::Survey;
use telemetry_schema::Registry;

use super::block::Block;
use crate::ghc::types::Types;

/// The most damage that is reported in words.
const MAX_SAID: usize = 1000;

/// The results of the scan.
pub(crate) struct Walk<'r> {
    pub(super) base: &'r Registry,
    /// Events with the mark `time` that may still be taken at the time that they tell of.
    pub(super) told_left: u32,
    pub(crate) survey: Survey,
    pub(crate) types: Vec<Types>,
    /// Where the next event begins.
    pub(super) at: u64,
    /// The session and the types of the current log.
    pub(super) session: usize,
    pub(super) log: usize,
    pub(super) block: Block,
    /// The open extent.
    pub(super) open: Option<Open>,
    /// Lanes by session and thread, with the time of their latest event.
    pub(super) lanes: BTreeMap<(usize, u32), BTreeMap<(u64, u32), ()>>,
    /// The time of the last event with a plausible time.
    pub(super) last: u64,
    /// True if the end mark of the log was seen.
    pub(super) ended: bool,
    /// Remaining bytes for strings of numbers.
    pub(super) label_room: usize,
    /// Remaining types of which only the description is known.
    pub(super) unknown: usize,
}

/// The content of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Events at the times when they were written.
    Events,
    /// Declarations of types.
    Header,
    /// One event at the time that it tells of.
    Told,
}

impl Kind {
    /// Returns the content of a note, and the index of the log's types.
    pub(crate) fn of(note: u64) -> (Kind, usize) {
        let kind = match note & 3 {
            1 => Kind::Header,
            2 => Kind::Told,
            _ => Kind::Events,
        };
        (kind, (note >> 2) as usize)
    }
}

/// The reason why the scan stopped at an event.
pub(super) enum Stop {
    /// More events follow at the same place.
    More,
    /// The log ends.
    End,
    /// The bytes are not an event.
    Lost(String),
    /// The end mark of the log.
    Mark,
}

/// An open extent.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) thread: u32,
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) events: u32,
    pub(super) first: u64,
    pub(super) latest: u64,
}

impl Walk<'_> {
    /// Returns the note of an extent with this content.
    pub(super) fn note(&self, kind: Kind) -> u64 {
        (self.log as u64) << 2 | kind as u64
    }

    /// Notes damage.
    pub(super) fn damage(&mut self, range: Range<u64>, why: impl FnOnce() -> String) {
        let is_said = self.survey.damage.len() < MAX_SAID;
        // Bytes must be accounted for; beyond the limit, damage without bytes need not be reported.
        if is_said || !range.is_empty() {
            let why = if is_said { why() } else { String::new() };
            self.survey.damage.push(Damage::new(range, Cause::Log(why), 0));
        }
    }
}
