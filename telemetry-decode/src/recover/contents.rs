//! The results of scanning a memory image, apart from sessions and registries.

use std::collections::{BTreeMap, HashMap};

use telemetry_format::Header;

use super::accounts::Accounts;
use super::recovered::{Refusal, Refused};

/// The results of scanning a memory image, apart from sessions and registries.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) scanned: u64,
    pub(super) whole_blocks: u64,
    pub(super) live_blocks: u64,
    pub(super) refused: BTreeMap<Refusal, Refused>,
    /// In the order of the image.
    pub(super) copies: Vec<Copy>,
    /// The latest sync block of each session.
    pub(super) syncs: HashMap<u64, Header>,
    /// The accounts of lanes and sessions.
    pub(super) accounts: Accounts,
}

/// A block of events, or a part of one.
#[derive(Debug, Clone)]
pub(super) struct Copy {
    /// Byte offset of its header.
    pub(super) at: u64,
    pub(super) lane: u32,
    pub(super) seq: u32,
    pub(super) offset: u32,
    /// Length of the payload; for a block of memory, the committed length.
    pub(super) len: u32,
    pub(super) base_ticks: u64,
    /// It is a block of memory, without a checksum of its payload.
    pub(super) is_live: bool,
    /// The block was sealed, or this is its last part.
    pub(super) is_last: bool,
    /// It is a part without events and payload, which only states losses. It has a time of its own.
    pub(super) is_only_losses: bool,
}

impl Copy {
    /// Returns what the copies of a block share. A part that only states losses is not a copy of
    /// the block with its number, which may be opened later.
    pub(super) fn block(&self) -> (u32, bool, u64, u32) {
        let moment = if self.is_only_losses { self.base_ticks } else { 0 };
        (self.lane, self.is_only_losses, moment, self.seq)
    }
}

/// Counts a block that is skipped.
pub(super) fn refuse(refused: &mut BTreeMap<Refusal, Refused>, why: Refusal, at: u64) {
    refused.entry(why).or_insert(Refused { blocks: 0, first_at: at }).blocks += 1;
}
