//! Cuts a stream into segments.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use telemetry_decode::blocks::Block;

use crate::segment::name::{Host, SegmentName};
use crate::segment::session::{Closed, Session};

/// Cuts one stream into segments of about the same length, each in a file of its own.
///
/// A segment has blocks of one session. It begins with everything that a reader needs: facts,
/// registries, labels, and the parts of blocks that the segment before left unfinished. So each can
/// be read alone.
///
/// The cuts depend on the stream and the length alone. So a stream that is cut again after a crash
/// gives the same segments with the same names.
pub struct Cutter {
    dir: PathBuf,
    host: Host,
    max_len: u64,
    sessions: BTreeMap<u64, Session>,
    /// The sessions with an open segment, the oldest first.
    open: Vec<u64>,
    done: Vec<Segment>,
}

/// A whole segment, on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// Its name in a store.
    pub name: SegmentName,
    /// Its file, in the directory of the cutter.
    pub path: PathBuf,
    /// The length of the file, in bytes.
    pub len: u64,
    /// Events that are new in this segment.
    pub events: u64,
}

/// The most sessions with an open segment: each has an open file.
const MAX_OPEN: usize = 64;

impl Cutter {
    /// Cuts into files of the directory `dir`, which exists. A segment is closed when its blocks
    /// have `max_len` bytes.
    pub fn new(dir: impl Into<PathBuf>, host: Host, max_len: u64) -> Cutter {
        Cutter {
            dir: dir.into(),
            host,
            max_len,
            sessions: BTreeMap::new(),
            open: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Adds a block of the stream. Returns the segments that are whole now.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn push(&mut self, block: &Block<'_>) -> io::Result<Vec<Segment>> {
        let id = block.header.session;
        let session = match self.sessions.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Session::new(&self.dir.join(format!("{id:016x}")))?),
        };
        if session.push(block)? >= self.max_len {
            self.cut(id)?;
        } else if session.is_open() && !self.open.contains(&id) {
            self.open.push(id);
            if self.open.len() > MAX_OPEN {
                self.cut(self.open[0])?;
            }
        }
        Ok(std::mem::take(&mut self.done))
    }

    /// Closes all open segments, at the end of the stream. Returns the last segments.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn finish(mut self) -> io::Result<Vec<Segment>> {
        while let Some(&session) = self.open.first() {
            self.cut(session)?;
        }
        Ok(self.done)
    }

    /// Closes the open segment of a session, and gives it its name.
    fn cut(&mut self, session: u64) -> io::Result<()> {
        self.open.retain(|&open| open != session);
        let closed = self.sessions.get_mut(&session).map(Session::cut).transpose()?.flatten();
        let Some(Closed { path, len, start_ns, events, intervals }) = closed else { return Ok(()) };
        let name = SegmentName { host: self.host.clone(), session, start_ns, intervals };
        let text = name.to_string();
        let named = self.dir.join(Path::new(&text).file_name().unwrap_or_default());
        std::fs::rename(&path, &named)?;
        self.done.push(Segment { name, path: named, len, events });
        Ok(())
    }
}
