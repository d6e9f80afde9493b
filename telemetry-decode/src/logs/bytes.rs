//! The bytes of a log, for a survey.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::bytes::source::{Files, Source};
use crate::report::opaque::opaque;

/// The bytes of a log, with random access. Sequential reads use large pieces.
pub struct LogBytes<'s> {
    source: Source<'s>,
    /// Offset of the log in the source.
    start: u64,
    len: u64,
    /// Some bytes of the log if the source is a file, and their offset in the log.
    buffer: Vec<u8>,
    buffered_at: u64,
    /// Number of bytes of one read.
    step: usize,
}

opaque!(LogBytes<'_>, "LogBytes");

impl<'s> LogBytes<'s> {
    /// Number of bytes of one read in a scan of the whole log.
    pub(crate) const READ_LEN: usize = 1 << 20;

    pub(crate) fn new(source: Source<'s>, range: Range<u64>, step: usize) -> Self {
        let Range { start, end } = range;
        LogBytes { source, start, len: end - start, buffer: Vec::new(), buffered_at: 0, step }
    }

    /// Opens a regular file, for code that scans a log without decoding events.
    ///
    /// # Errors
    /// If the file's length cannot be found.
    pub fn from_file(file: File) -> io::Result<LogBytes<'static>> {
        let files = Files::new([file])?;
        let source = Source::Files(Arc::new(files));
        let len = source.len();
        Ok(LogBytes::new(source, 0..len, LogBytes::READ_LEN))
    }

    /// Wraps bytes in memory.
    pub fn from_slice(bytes: &'s [u8]) -> Self {
        LogBytes::new(Source::Slice(bytes), 0..bytes.len() as u64, LogBytes::READ_LEN)
    }

    /// Returns the length of the log.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the log has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes from an offset on: at least `least` of them, or all up to the end. May
    /// return more if that costs nothing. `least` is allocated, so it must not be a number that the
    /// log states.
    ///
    /// # Errors
    /// Those of the input.
    pub fn at(&mut self, at: u64, least: usize) -> io::Result<&[u8]> {
        let left = self.len.saturating_sub(at);
        let least = (least as u64).min(left) as usize;
        if let Source::Slice(bytes) = &self.source {
            let from = usize::try_from(self.start + at.min(self.len)).unwrap_or(usize::MAX);
            let until = usize::try_from(self.start + self.len).unwrap_or(usize::MAX);
            return Ok(bytes.get(from..until).unwrap_or_default());
        }
        let skip = at.checked_sub(self.buffered_at).and_then(|skip| usize::try_from(skip).ok());
        let here = skip.and_then(|skip| self.buffer.get(skip..)).map_or(0, <[u8]>::len);
        if here < least {
            self.buffer.resize(left.min(self.step.max(least) as u64) as usize, 0);
            let read = self.source.read_all_at(self.start + at, &mut self.buffer)?;
            self.buffer.truncate(read);
            self.buffered_at = at;
        }
        let skip = at.saturating_sub(self.buffered_at) as usize;
        Ok(self.buffer.get(skip..).unwrap_or_default())
    }
}
