//! Cuts a stream into segments.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

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
///
/// Segments leave the host. So they have no events of kinds with sensitive parameters, except those
/// that may go over a network, as [`telemetry_schema::Registry::withheld_kinds`] says. What a
/// segment does not have counts as excluded.
pub struct Cutter {
    dir: PathBuf,
    host: Host,
    max_len: u64,
    sends_sensitive: bool,
    sessions: BTreeMap<u64, Session>,
    /// The sessions and priorities with an open segment, the oldest first.
    open: Vec<(u64, u8)>,
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
    /// Events of the same part of the stream that stay on the host.
    pub withheld: u64,
    /// The priority of its kinds, from 0 to 9.
    pub priority: u8,
}

/// The most open segments: each has an open file.
const MAX_OPEN: usize = 64;

impl Cutter {
    /// Cuts into files of the directory `dir`, which exists. A segment is closed when its blocks
    /// have `max_len` bytes.
    pub fn new(dir: impl Into<PathBuf>, host: Host, max_len: u64) -> Cutter {
        Cutter {
            dir: dir.into(),
            host,
            max_len,
            sends_sensitive: false,
            sessions: BTreeMap::new(),
            open: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Sets whether segments have the events of all kinds. Call it before the first block.
    #[must_use]
    pub fn send_sensitive(self, sends_sensitive: bool) -> Cutter {
        Cutter { sends_sensitive, ..self }
    }

    /// Changes the bytes at which a segment is closed. It counts from the next block of each.
    pub fn set_max_len(&mut self, max_len: u64) {
        self.max_len = max_len;
    }

    /// Adds a block of the stream. Returns the segments that are whole now.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn push(&mut self, block: &Block<'_>) -> io::Result<Vec<Segment>> {
        let id = block.header.session;
        let session = match self.sessions.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let stem = self.dir.join(format!("{id:016x}"));
                new.insert(Session::new(&stem, self.sends_sensitive)?)
            }
        };
        let (priority, len) = session.push(block)?;
        if len > 0 && !self.open.contains(&(id, priority)) {
            self.open.push((id, priority));
        }
        if len >= self.max_len {
            self.cut(id, priority)?;
        } else if self.open.len() > MAX_OPEN {
            let (session, priority) = self.open[0];
            self.cut(session, priority)?;
        }
        Ok(std::mem::take(&mut self.done))
    }

    /// Returns the number of bytes that the open segments may come to have. The facts and labels of
    /// a session are beyond the length at which a segment is closed.
    pub fn most_open(&self) -> u64 {
        self.lengths().fold(0, |sum, (len, ..)| sum.saturating_add(len.max(self.max_len)))
    }

    /// Returns the open segments with their lengths.
    fn lengths(&self) -> impl Iterator<Item = (u64, u64, u8)> {
        let len = |id, priority| self.sessions.get(id).map_or(0, |session| session.open_len(priority));
        self.open.iter().map(move |(id, priority)| (len(id, *priority), *id, *priority))
    }

    /// Closes the longest segments until the open ones have at most `most` bytes. Returns them.
    ///
    /// # Errors
    /// Those of the file system. This may be called again.
    pub fn cut_beyond(&mut self, most: u64) -> io::Result<Vec<Segment>> {
        let mut lengths: Vec<_> = self.lengths().collect();
        lengths.sort_unstable();
        let mut sum: u64 = lengths.iter().map(|(len, ..)| len).sum();
        while sum > most
            && let Some((len, id, priority)) = lengths.pop()
        {
            self.cut(id, priority)?;
            sum -= len;
        }
        Ok(std::mem::take(&mut self.done))
    }

    /// Closes the segments that have been open since before `time`. Returns them.
    ///
    /// # Errors
    /// Those of the file system. This may be called again.
    pub fn cut_older(&mut self, time: Instant) -> io::Result<Vec<Segment>> {
        for (id, priority) in self.open.clone() {
            if self.sessions.get(&id).is_some_and(|session| session.is_older(priority, time)) {
                self.cut(id, priority)?;
            }
        }
        Ok(std::mem::take(&mut self.done))
    }

    /// Says that a stream with blocks of a session has begun. Call it after the first of them.
    pub fn join(&mut self, session: u64) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.join();
        }
    }

    /// Says that such a stream has ended. It may be continued by another.
    pub fn leave(&mut self, session: u64) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.leave();
        }
    }

    /// Forgets the sessions whose last stream ended before `time`, if they have no open segment. A
    /// stream that continues one has to begin with facts and whole blocks.
    pub fn forget_older(&mut self, time: Instant) {
        self.sessions.retain(|_, session| !session.is_over(time));
    }

    /// Writes what is gathered of a session to its files, where it outlives this process.
    ///
    /// # Errors
    /// Those of the file system. This may be called again.
    pub fn flush(&mut self, session: u64) -> io::Result<()> {
        self.sessions.get_mut(&session).map_or(Ok(()), Session::flush)
    }

    /// Closes all open segments, at the end of the stream. Returns the last segments.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn finish(mut self) -> io::Result<Vec<Segment>> {
        self.cut_all()
    }

    /// Closes all open segments. Returns them.
    ///
    /// # Errors
    /// Those of the file system. This may be called again.
    pub fn cut_all(&mut self) -> io::Result<Vec<Segment>> {
        while let Some(&(session, priority)) = self.open.first() {
            self.cut(session, priority)?;
        }
        Ok(std::mem::take(&mut self.done))
    }

    /// Closes the open segment of a session and a priority, and gives it its name.
    fn cut(&mut self, session: u64, priority: u8) -> io::Result<()> {
        let (dir, host) = (&self.dir, &self.host);
        let name = |closed: &Closed| {
            let Closed { start_ns, intervals, .. } = *closed;
            SegmentName { host: host.clone(), session, start_ns, intervals }
        };
        let path = |closed: &Closed| {
            let text = name(closed).to_string();
            dir.join(Path::new(&text).file_name().unwrap_or_default())
        };
        let closed = match self.sessions.get_mut(&session) {
            Some(session) => session.cut(priority, path)?,
            None => None,
        };
        self.open.retain(|&open| open != (session, priority));
        if let Some(closed) = closed {
            let name = name(&closed);
            let Closed { path, len, events, withheld, .. } = closed;
            self.done.push(Segment { name, path, len, events, withheld, priority });
        }
        Ok(())
    }
}
