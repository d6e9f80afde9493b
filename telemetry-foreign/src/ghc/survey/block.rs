//! The blocks of events: where they begin and end.

use std::ops::Range;

use crate::ghc::layout::{MARKER, NO_CAP, thread_of};

/// The block that contains events.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) start: u64,
    /// Its end; far away if it ends where the next one begins.
    pub(super) end: u64,
    /// The thread of its capability.
    pub(super) thread: u32,
    /// The times of its events.
    pub(super) times: (u64, u64),
    /// True if one of them was outside.
    pub(super) is_odd: bool,
}

/// The event that begins a block.
pub(super) struct Marker {
    pub(super) time: u64,
    pub(super) size: u32,
    pub(super) end_time: u64,
    pub(super) cap: u16,
}

impl Block {
    /// Events outside of blocks: without capability, at any time.
    pub(super) const NONE: Block =
        Block { start: 0, end: 0, thread: thread_of(NO_CAP), times: (0, u64::MAX), is_odd: false };
    /// A block that ends where the next one begins.
    pub(super) const ENDLESS: u64 = u64::MAX;
}

impl Marker {
    /// Returns the block that some bytes begin.
    pub(super) fn read(bytes: &[u8]) -> Option<Marker> {
        let bytes: &[u8; MARKER] = bytes.first_chunk()?;
        let number =
            |range: Range<usize>| bytes[range].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        Some(Marker {
            time: number(2..10),
            size: number(10..14) as u32,
            end_time: number(14..22),
            cap: number(22..24) as u16,
        })
    }
}
