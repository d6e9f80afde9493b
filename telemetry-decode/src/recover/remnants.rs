//! Headers without a block, which a program left on its stacks when it assembled headers.
//!
//! Such copies are whole or partly overwritten, and a core dump of a healthy program has some. They
//! must not look like damage. Two facts identify them: real blocks of memory begin at pages, and
//! real blocks of streams are adjacent to others.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::{Contents, Copy, refuse};
use super::recovered::{Refusal, Refused};

/// The page size. Pages are counted from the start of the image's first page.
const PAGE: u64 = 4 << 10;

/// Possible damage, until the whole image is scanned.
#[derive(Default)]
pub(super) struct Suspects {
    /// Offsets in their page of the blocks of memory that have events.
    starts: BTreeSet<u64>,
    /// Damaged headers of blocks of memory, by their offset in the page.
    memory: BTreeMap<u64, Refused>,
    /// Blocks of streams that are not adjacent to others.
    alone: BTreeMap<Refusal, Refused>,
}

impl Suspects {
    /// Notes a block of memory with events at this offset.
    pub(super) fn note_block(&mut self, at: u64) {
        self.starts.insert(at % PAGE);
    }

    /// Adds a header of a block of memory with a wrong checksum.
    pub(super) fn add_memory(&mut self, at: u64) {
        self.memory.entry(at % PAGE).or_insert(Refused { blocks: 0, first_at: at }).blocks += 1;
    }

    /// Adds a block of a stream that is not adjacent to others.
    pub(super) fn add_alone(&mut self, why: Refusal, at: u64) {
        refuse(&mut self.alone, why, at);
    }

    /// Counts damaged blocks as skipped, and ignores copies of headers.
    pub(super) fn settle(self, found: &mut Contents) {
        let is_remnant = |at: u64| !self.starts.is_empty() && !self.starts.contains(&(at % PAGE));
        let is_kept = |copy: &Copy| !(copy.is_live && copy.len == 0 && is_remnant(copy.at));
        let before = found.copies.len();
        found.copies.retain(is_kept);
        found.live_blocks -= (before - found.copies.len()) as u64;
        let memory = self.memory.iter().filter(|(at, _)| !is_remnant(**at));
        let mut damage: Vec<(Refusal, Refused)> =
            memory.map(|(_, refused)| (Refusal::Header, *refused)).collect();
        // An image without a program's memory has no stacks.
        if found.live_blocks == 0 {
            damage.extend(self.alone);
        }
        for (why, more) in damage {
            let all = found.refused.entry(why).or_insert(Refused { blocks: 0, ..more });
            all.blocks += more.blocks;
            all.first_at = all.first_at.min(more.first_at);
        }
    }
}
