//! The last blocks, in memory.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sinks::sink::{Batch, Sink, Start};

/// Keeps the last blocks in memory, to be read at any time.
///
/// ```
/// let memory = telemetry_runtime::sinks::Memory::new(1 << 20);
/// let sink = memory.clone(); // for the runtime
/// assert!(memory.to_vec().is_empty());
/// ```
///
/// A clone is another handle to the same memory. Blocks are kept in segments of a quarter of the
/// limit. Each segment begins with the facts for reading it, so that a whole stream remains when
/// the oldest one is removed.
#[derive(Debug, Clone)]
pub struct Memory {
    most: usize,
    segments: Arc<Mutex<VecDeque<Vec<u8>>>>,
}

/// Minimum limit: a shorter stream is hardly worth keeping.
const MIN_BYTES: usize = 64 << 10;

impl Memory {
    /// Creates a sink that keeps at most `bytes` bytes of whole blocks, and at least 64 KiB. If the
    /// last write is longer, it keeps that one alone, which is about a megabyte at most.
    pub fn new(bytes: usize) -> Self {
        Memory { most: bytes.max(MIN_BYTES), segments: Arc::default() }
    }

    /// Returns the remaining stream: whole blocks, the oldest first.
    pub fn to_vec(&self) -> Vec<u8> {
        self.segments().make_contiguous().concat()
    }

    fn segments(&self) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Memory {
    fn begin(&mut self, bytes: usize) -> io::Result<Start> {
        let mut segments = self.segments();
        let is_full = |last: &Vec<u8>| !last.is_empty() && last.len() + bytes > self.most / 4;
        if segments.back().is_none_or(is_full) {
            segments.push_back(Vec::with_capacity(self.most / 4));
        }
        Ok(Start::new_if(segments.back().is_some_and(Vec::is_empty)))
    }

    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let mut segments = self.segments();
        if segments.is_empty() {
            segments.push_back(Vec::new());
        }
        let mut len = blocks.byte_len() + segments.iter().map(Vec::len).sum::<usize>();
        while len > self.most && segments.len() > 1 {
            len -= segments.pop_front().map_or(0, |oldest| oldest.len());
        }
        if let Some(last) = segments.back_mut() {
            blocks.iter().flatten().for_each(|bytes| last.extend_from_slice(bytes));
        }
        Ok(())
    }

    fn after_fork(&mut self) -> bool {
        // A thread that the child does not have may hold the lock forever.
        self.segments.try_lock().map(|mut segments| segments.clear()).is_ok()
    }

    fn name(&self) -> String {
        "memory".into()
    }
}
