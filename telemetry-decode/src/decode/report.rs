//! The results of reading so far, apart from lanes.

use std::collections::BTreeMap;

use crate::report::completeness::{Bytes, Cause, Damage, MAX_LISTED, Undecodable};

/// The results of reading so far, apart from lanes.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) is_of_logs: bool,
    pub(crate) bytes: Bytes,
    pub(crate) blocks: u64,
    pub(crate) events: u64,
    pub(super) damage: Vec<Damage>,
    pub(super) damaged_ranges: u64,
    pub(super) undecodable: Vec<Undecodable>,
    pub(super) undecodable_parts: u64,
    pub(super) unknown_blocks: BTreeMap<u8, u64>,
}

impl Report {
    /// Counts bytes that are not a block.
    pub(crate) fn damage(&mut self, damage: Damage) {
        self.bytes.damaged += damage.range.end - damage.range.start;
        self.damaged_ranges += 1;
        // What is left out at the end of a log is listed before the damage in it. So messages that
        // name one place name this one.
        match damage.cause {
            Cause::LeftOut(_) => self.damage.insert(0, damage),
            _ if self.damage.len() < MAX_LISTED => self.damage.push(damage),
            _ => {}
        }
    }

    /// Counts a part that could not be read, or only its beginning.
    pub(crate) fn undecodable(&mut self, part: Undecodable) {
        self.undecodable_parts += 1;
        if self.undecodable.len() < MAX_LISTED {
            self.undecodable.push(part);
        }
    }

    /// Returns the number of damaged ranges and undecodable parts.
    pub(crate) fn damages(&self) -> u64 {
        self.damaged_ranges + self.undecodable_parts
    }

    /// Counts a block of an unknown type.
    pub(crate) fn unknown(&mut self, code: u8, len: u64) {
        *self.unknown_blocks.entry(code).or_default() += 1;
        self.bytes.unknown += len;
    }
}
