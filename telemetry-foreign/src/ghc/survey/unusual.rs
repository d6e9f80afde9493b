//! Events that begin a block, or do not fit in theirs.

use super::block::{Block, Marker};
use super::walk::{Stop, Walk};
use crate::ghc::layout::{BLOCK_MARKER, DATA_END, MARKER, thread_of};
use crate::ghc::types::{Frame, NoFrame};

/// A distance in time from the event before. An event that is farther from it, and outside of its
/// block's time, has a wrong time or is not an event.
const FAR_NS: u64 = 3_600_000_000_000;

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
