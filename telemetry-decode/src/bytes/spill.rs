//! A temporary file for decompressed payloads that do not fit into memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use crate::bytes::source::{Files, Source};

/// The file may always have this number of bytes, and a multiple of the input beyond it. Blocks of
/// programs decompress to a few times their length, forged ones to a thousand times.
const MIN_LIMIT: u64 = 1 << 30;
const INPUT_TIMES: u64 = 8;

/// An unlinked temporary file, created at the first use.
pub(crate) struct Spill {
    file: Option<(File, Source<'static>)>,
    /// Offsets of free ranges, by their length.
    free: BTreeMap<u64, Vec<u64>>,
    len: u64,
    most: u64,
}

impl Spill {
    /// Creates a spill for an input of this length.
    pub(crate) fn new(input: u64) -> Spill {
        let most = MIN_LIMIT.saturating_add(input.saturating_mul(INPUT_TIMES));
        Spill { file: None, free: BTreeMap::new(), len: 0, most }
    }

    /// Writes bytes, and returns their range. Returns `None` if the file would become too long.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<Option<Range<u64>>> {
        let room = room(bytes.len() as u64);
        let at = match self.free.get_mut(&room).and_then(Vec::pop) {
            Some(at) => at,
            None if self.len + room > self.most => return Ok(None),
            None => {
                self.len += room;
                self.len - room
            }
        };
        let written = self.file().and_then(|file| {
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)
        });
        written.map_err(|error| {
            let text = format!("cannot unpack blocks to a temporary file: {error}");
            io::Error::new(error.kind(), text)
        })?;
        Ok(Some(at..at + bytes.len() as u64))
    }

    /// Returns the file as a source.
    pub(crate) fn source(&self) -> Option<&Source<'static>> {
        self.file.as_ref().map(|(_, source)| source)
    }

    /// Frees a range.
    pub(crate) fn remove(&mut self, place: &Range<u64>) {
        self.free.entry(room(place.end - place.start)).or_default().push(place.start);
    }

    fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let file = tempfile::tempfile()?;
            let source = Source::Files(Arc::new(Files::growing(file.try_clone()?)));
            self.file = Some((file, source));
        }
        self.file.as_mut().map(|(file, _)| file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns the length to reserve. Lengths are rounded, so that other payloads can reuse a free
/// range.
fn room(len: u64) -> u64 {
    len.next_power_of_two()
}
