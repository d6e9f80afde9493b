//! The search for the next block after damage, and the end of a log.

use std::io;

use telemetry_decode::foreign::LogBytes;

use super::block::{Block, Marker};
use super::walk::{Stop, Walk};
use crate::ghc::header::scan;
use crate::ghc::layout::{BLOCK_MARKER, DATA_END, HEADER_BEGIN, MARKER, MAX_EVENT, TYPES_BEGIN};
use crate::ghc::types::NoFrame;

impl Walk<'_> {
    /// Returns the reason to stop where no event can be read.
    pub(super) fn no_frame(&mut self, no: NoFrame, left: usize) -> Stop {
        match no {
            NoFrame::Undeclared(DATA_END) if left == 2 || self.at >= self.block.end => Stop::Mark,
            NoFrame::Undeclared(tag) => {
                Stop::Lost(format!("an event of type {tag}, which the log does not declare"))
            }
            NoFrame::Cut(Some(len)) => {
                Stop::Lost(format!("the log ends after {left} bytes of an event of {len}"))
            }
            NoFrame::Cut(None) => Stop::Lost(format!("the log ends after {left} bytes of an event")),
        }
    }

    /// Continues at the next block after damage that begins here.
    pub(super) fn resync(&mut self, bytes: &mut LogBytes<'_>, why: String) -> io::Result<()> {
        self.close();
        let (from, len) = (self.at, bytes.len());
        let found = scan(bytes, from + 1, MARKER + MAX_EVENT, |here, at| {
            is_header(here) || self.is_marker(here) || at + 2 == len && here == DATA_END.to_be_bytes()
        })?;
        self.at = found.unwrap_or(len).max(from);
        self.damage(from..self.at, || why);
        self.block = Block::NONE;
        Ok(())
    }

    /// Returns true if bytes look like the start of a block: a marker, followed by an event of its
    /// time.
    pub(super) fn is_marker(&self, here: &[u8]) -> bool {
        if !here.starts_with(&BLOCK_MARKER.to_be_bytes()) {
            return false;
        }
        let types = &self.types[self.log];
        let Ok(frame) = types.frame(here) else { return false };
        let Some(marker) = Marker::read(here).filter(|_| frame.len >= MARKER) else { return false };
        if (marker.size as usize) < frame.len || marker.end_time < marker.time {
            return false;
        }
        let behind = here.get(frame.len..).unwrap_or_default();
        let times = marker.time.saturating_sub(1_000_000_000)..=marker.end_time;
        match types.frame(behind) {
            Ok(next) => times.contains(&next.time) || marker.size as usize == frame.len,
            Err(NoFrame::Undeclared(tag)) => tag == DATA_END,
            Err(NoFrame::Cut(_)) => true,
        }
    }

    /// Reports the end of a log without an end mark.
    pub(super) fn end(&mut self, len: u64) {
        let is_said = self.survey.damage.last().is_some_and(|damage| damage.range.end >= len);
        if self.ended || is_said {
            return;
        }
        let Block { start, end, .. } = self.block;
        if end != Block::ENDLESS && end > len {
            self.damage(len..len, || {
                format!("the log ends {} bytes before the block at {start} does", end - len)
            });
        } else {
            self.damage(len..len, || "the log ends without its end mark".into());
        }
    }
}

/// Returns true if bytes look like the start of a log.
pub(super) fn is_header(bytes: &[u8]) -> bool {
    let [begin, types] = [HEADER_BEGIN, TYPES_BEGIN].map(u32::to_be_bytes);
    bytes.get(..4) == Some(&begin) && bytes.get(4..8) == Some(&types)
}
