//! Headers without a block: what a program left on its stacks when it put headers together.
//!
//! Such copies are whole or partly overwritten, and a core dump of a healthy program has some. They must not
//! look like damage. Two facts tell them apart: blocks of memory begin at pages, and blocks of streams stand
//! next to each other.

use std::collections::{BTreeMap, BTreeSet};

use super::found::{Copy, Found, refuse};
use super::recovered::{Refusal, Refused};

/// Pages begin at multiples of this, counted from where the image's first one begins.
const PAGE: u64 = 4 << 10;

/// What may be damage, until the whole image has been looked at.
#[derive(Default)]
pub(super) struct Suspects {
    /// Where in their page the blocks of memory that have events begin.
    starts: BTreeSet<u64>,
    /// Damaged headers of blocks of memory, by where in their page they begin.
    memory: BTreeMap<u64, Refused>,
    /// Blocks of streams that stand alone.
    alone: BTreeMap<Refusal, Refused>,
}

impl Suspects {
    /// A block of memory with events in it is at this place.
    pub(super) fn note_block(&mut self, at: u64) {
        self.starts.insert(at % PAGE);
    }

    /// A header of a block of memory whose checksum differs.
    pub(super) fn add_memory(&mut self, at: u64) {
        self.memory.entry(at % PAGE).or_insert(Refused { blocks: 0, first_at: at }).blocks += 1;
    }

    /// A block of a stream with no other block next to it.
    pub(super) fn add_alone(&mut self, why: Refusal, at: u64) {
        refuse(&mut self.alone, why, at);
    }

    /// Has damaged blocks refused, and leaves out the copies of headers.
    pub(super) fn settle(self, found: &mut Found) {
        let is_remnant = |at: u64| !self.starts.is_empty() && !self.starts.contains(&(at % PAGE));
        let is_kept = |copy: &Copy| !(copy.is_live && copy.len == 0 && is_remnant(copy.at));
        let before = found.copies.len();
        found.copies.retain(is_kept);
        found.live_blocks -= (before - found.copies.len()) as u64;
        let memory = self.memory.iter().filter(|(at, _)| !is_remnant(**at));
        let mut damage: Vec<(Refusal, Refused)> =
            memory.map(|(_, refused)| (Refusal::Header, *refused)).collect();
        // Without a program's memory there are no stacks.
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
