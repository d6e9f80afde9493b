//! The blocks of events: where they begin and end, and events that do not fit.

use std::ops::Range;

use super::{Stop, Walk};
use crate::ghc::layout::{BLOCK_MARKER, DATA_END, MARKER, NO_CAP};
use crate::ghc::types::{Frame, NoFrame};

/// An event this far from the one before, and outside of its block's time, has another time than
/// when it was written, or is not an event.
const FAR_NS: u64 = 3_600_000_000_000;

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

/// The thread of a capability.
pub(in crate::ghc) fn thread_of(cap: u16) -> u32 {
    u32::from(cap) + 1
}

impl Block {
    /// Events outside of blocks: without capability, at any time.
    pub(super) const NONE: Block =
        Block { start: 0, end: 0, thread: NO_CAP as u32 + 1, times: (0, u64::MAX), is_odd: false };
    /// A block that ends where the next one begins.
    pub(super) const ENDLESS: u64 = u64::MAX;
}

impl Marker {
    /// The block that some bytes begin.
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

impl Walk<'_> {
    /// Checks an unusual event. An error says that it is not an event, or not one of this log.
    pub(super) fn special(&mut self, frame: &Frame, rest: &[u8], at: u64) -> Result<(), Stop> {
        let (earliest, latest) = self.block.times;
        let is_odd = |time: u64| (time < earliest || time > latest) && time.abs_diff(self.last) > FAR_NS;
        if frame.tag == BLOCK_MARKER && self.is_marker(rest) {
            // It begins a new time.
        } else if is_odd(frame.time) {
            // If the next one is unusual too, the events do not begin where they seem to.
            let next = rest.get(frame.len..).unwrap_or_default();
            let is_next_odd = match self.types[self.log].frame(next) {
                Ok(next) => is_odd(next.time),
                Err(NoFrame::Undeclared(tag)) => tag != DATA_END,
                Err(NoFrame::Cut(_)) => !next.is_empty(),
            };
            let (tag, time) = (frame.tag, frame.time);
            if is_next_odd && at + (frame.len as u64) < self.block.end {
                let why = format!("an event of type {tag} at {time} ns, expected {earliest} to {latest}");
                return Err(Stop::Lost(why));
            }
            if !self.block.is_odd {
                self.block.is_odd = true;
                self.damage(at..at, || format!("an event at {time} ns, expected {earliest} to {latest}"));
            }
        } else {
            self.last = frame.time;
        }
        let Block { start, end, .. } = self.block;
        let is_inside = end != 0 && end != Block::ENDLESS && at < end;
        if frame.tag == BLOCK_MARKER && is_inside && !self.is_marker(rest) {
            let why = format!("a block inside of the one at {start}, and no event of its time behind that");
            return Err(Stop::Lost(why));
        }
        if is_inside && at + frame.len as u64 > end {
            let behind = rest.get((end - at) as usize..).unwrap_or_default();
            if self.is_marker(behind) {
                let (tag, len, left) = (frame.tag, frame.len, end - at);
                let why = format!(
                    "an event of type {tag} with {len} bytes, of which {left} are in the block at {start}"
                );
                return Err(Stop::Lost(why));
            }
            self.block.end = Block::ENDLESS;
            self.damage(start..start, || format!("a block whose end, at {end}, is inside of an event"));
        }
        if frame.tag == BLOCK_MARKER {
            self.begin_block(frame, rest, at);
        }
        Ok(())
    }

    /// Begins a block.
    fn begin_block(&mut self, frame: &Frame, rest: &[u8], at: u64) {
        let Some(marker) = Marker::read(rest).filter(|_| frame.len >= MARKER) else { return };
        let before = self.block;
        self.last = marker.time;
        if at < before.end && before.end != Block::ENDLESS {
            let (left, start) = (before.end - at, before.start);
            self.damage(at..at, || {
                format!("a block begins {left} bytes before the end of the one at {start}")
            });
        }
        let times = (marker.time.saturating_sub(1_000_000_000), marker.end_time);
        self.block = Block {
            start: at,
            end: at + u64::from(marker.size),
            thread: thread_of(marker.cap),
            times: if marker.end_time < marker.time { (0, u64::MAX) } else { times },
            is_odd: false,
        };
        if (marker.size as usize) < frame.len {
            self.block.end = Block::ENDLESS;
            let size = marker.size;
            self.damage(at..at, || format!("a block of {size} bytes, expected {} or more", frame.len));
        }
        if marker.end_time < marker.time {
            let Marker { time, end_time, .. } = marker;
            self.damage(at..at, || format!("a block that begins at {time} ns and ends at {end_time} ns"));
        }
    }
}
