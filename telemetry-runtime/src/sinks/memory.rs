//! The last blocks, in memory.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sink::{Blocks, Sink};

/// The last blocks, in memory, to be read back at any time.
///
/// ```
/// let memory = telemetry_runtime::sinks::Memory::new(1 << 20);
/// let sink = memory.clone(); // for the runtime
/// assert!(memory.bytes().is_empty());
/// ```
///
/// A clone is another handle on the same memory. Blocks are kept in segments of a quarter of the limit.
/// Each begins with what is needed to read it, so what is left when the oldest one goes is a whole stream.
#[derive(Debug, Clone)]
pub struct Memory {
    most: usize,
    segments: Arc<Mutex<VecDeque<Vec<u8>>>>,
}

/// A stream of less is hardly worth keeping.
const LEAST: usize = 64 << 10;

impl Memory {
    /// Keeps at most so many bytes of whole blocks, at least 64 KiB; or the last write alone if that is
    /// longer, which is about a megabyte at most.
    pub fn new(bytes: usize) -> Self {
        Memory { most: bytes.max(LEAST), segments: Arc::default() }
    }

    /// The stream that is left: whole blocks, oldest first.
    pub fn bytes(&self) -> Vec<u8> {
        self.segments().make_contiguous().concat()
    }

    fn segments(&self) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Memory {
    fn begin(&mut self, bytes: usize) -> io::Result<bool> {
        let mut segments = self.segments();
        let is_full = |last: &Vec<u8>| !last.is_empty() && last.len() + bytes > self.most / 4;
        if segments.back().is_none_or(is_full) {
            segments.push_back(Vec::with_capacity(self.most / 4));
        }
        Ok(segments.back().is_some_and(Vec::is_empty))
    }

    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        let mut segments = self.segments();
        if segments.is_empty() {
            segments.push_back(Vec::new());
        }
        let mut len = blocks.bytes() + segments.iter().map(Vec::len).sum::<usize>();
        while len > self.most && segments.len() > 1 {
            len -= segments.pop_front().map_or(0, |oldest| oldest.len());
        }
        if let Some(last) = segments.back_mut() {
            blocks.iter().flatten().for_each(|bytes| last.extend_from_slice(bytes));
        }
        Ok(())
    }

    fn in_child(&mut self) -> bool {
        // A thread that the child does not have may hold the lock for ever.
        self.segments.try_lock().map(|mut segments| segments.clear()).is_ok()
    }

    fn name(&self) -> String {
        "memory".into()
    }
}
