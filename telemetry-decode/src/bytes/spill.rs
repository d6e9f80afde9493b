//! Payloads that were unpacked and find no room in memory, in a temporary file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use crate::bytes::source::{Files, Source};

/// Bytes that the file may have whatever the length of the input, and how many times the input beyond them. Blocks that
/// programs write unpack to a few times their length; forged ones to a thousand.
const FREE: u64 = 1 << 30;
const TIMES: u64 = 8;

/// A temporary file without a name, made when it is first needed.
pub(crate) struct Spill {
    file: Option<(File, Source<'static>)>,
    /// Places that were given back, by their length.
    free: BTreeMap<u64, Vec<u64>>,
    len: u64,
    most: u64,
}

impl Spill {
    /// For the payloads of an input of some length.
    pub(crate) fn new(input: u64) -> Spill {
        let most = FREE.saturating_add(input.saturating_mul(TIMES));
        Spill { file: None, free: BTreeMap::new(), len: 0, most }
    }

    /// Writes bytes, and gives their place. None if there is no room for them.
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

    /// What was written, to be read.
    pub(crate) fn source(&self) -> Option<&Source<'static>> {
        self.file.as_ref().map(|(_, source)| source)
    }

    /// Gives a place back.
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

/// The bytes to reserve for a length, so that others find the place when it is given back.
fn room(len: u64) -> u64 {
    len.next_power_of_two()
}
