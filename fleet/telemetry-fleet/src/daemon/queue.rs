//! The segments of the spool: which is sent next, and which is shed.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::daemon::figures::Figures;
use crate::failpoint::failpoint;
use crate::log;
use crate::segment::{Host, Segment, SegmentName, shed};
use crate::spool::Spool;
use crate::wire::Status;

/// The segments that the store does not have.
pub(crate) struct Queue {
    pub(crate) spool: Spool,
    pub(crate) host: Host,
    pub(crate) figures: Arc<Figures>,
    /// The most bytes of the spool.
    limit: AtomicU64,
    /// Bytes that the open segments of programs may come to have.
    open: AtomicU64,
    /// Set if they have become more, so that segments may have to be shed.
    has_grown: AtomicBool,
    state: Mutex<State>,
    /// Told when there is something to send.
    pub(crate) added: Notify,
    /// Told when there is space.
    freed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<Key, Entry>,
    /// Bytes of all whole segments, also those on the way.
    bytes: u64,
    /// When the segments begin that are on the way, or are being shed.
    sending: BTreeMap<SegmentName, u64>,
}

/// The order of sending: the highest priority first, of these the oldest.
type Key = (u8, u64, SegmentName);

#[derive(Debug, Clone)]
struct Entry {
    path: PathBuf,
    len: u64,
    /// It has nothing left that could be shed.
    is_kept: bool,
}

/// A segment to send.
#[derive(Debug, Clone)]
pub(crate) struct Next {
    pub(crate) name: SegmentName,
    pub(crate) path: PathBuf,
    pub(crate) len: u64,
    priority: u8,
    is_kept: bool,
}

impl Queue {
    /// Takes up what an earlier process left.
    pub(crate) fn new(
        spool: Spool,
        host: Host,
        limit: u64,
        max_len: u64,
        figures: Arc<Figures>,
    ) -> io::Result<Queue> {
        spool.recover(&host, max_len)?;
        let mut state = State::default();
        for (name, path, priority) in spool.ready()? {
            let len = path.metadata()?.len();
            state.bytes += len;
            state.waiting.insert(key(priority, &name), Entry { path, len, is_kept: false });
        }
        let (added, freed) = (Notify::new(), Condvar::new());
        let (limit, open, has_grown) = (AtomicU64::new(limit), AtomicU64::new(0), AtomicBool::new(false));
        Ok(Queue { spool, host, figures, limit, open, has_grown, state: Mutex::new(state), added, freed })
    }

    /// Sets the most bytes of the spool.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
        self.freed.notify_all();
    }

    /// Leaves space for the open segments of programs, which may come to have `len` bytes. With
    /// their present lengths instead, each block of a low priority would shed a segment of a higher
    /// one.
    pub(crate) fn set_open(&self, len: u64) {
        if self.open.swap(len, Ordering::Relaxed) < len {
            self.has_grown.store(true, Ordering::Relaxed);
        }
    }

    /// Sheds segments if the space for open ones has grown.
    pub(crate) fn leave_space(&self) {
        if self.has_grown.swap(false, Ordering::Relaxed) {
            self.make_space();
        }
    }

    /// Returns the most bytes of open segments.
    pub(crate) fn most_open(&self) -> u64 {
        self.limit.load(Ordering::Relaxed) / 4
    }

    /// Returns the most bytes of whole segments that may be there for a file to add one.
    fn most_of_files(&self) -> u64 {
        let limit = self.limit.load(Ordering::Relaxed);
        limit - limit / 4
    }

    /// Returns the most bytes of whole segments.
    fn most_whole(&self) -> u64 {
        let limit = self.limit.load(Ordering::Relaxed);
        limit - self.open.load(Ordering::Relaxed).min(limit / 4)
    }

    /// Adds a whole segment, and sheds others if the spool is full. If this fails, it may be called
    /// again.
    pub(crate) fn add(&self, segment: &Segment) -> io::Result<()> {
        self.insert(segment, false)?;
        self.figures.cut.fetch_add(1, Ordering::Relaxed);
        self.figures.events.fetch_add(segment.events, Ordering::Relaxed);
        self.figures.withheld.fetch_add(segment.withheld, Ordering::Relaxed);
        failpoint("ship-spooled");
        self.make_space();
        Ok(())
    }

    fn insert(&self, segment: &Segment, is_kept: bool) -> io::Result<()> {
        // A file that is cut again, as after a crash, gives the same segments. Under the lock,
        // neither is sent or removed meanwhile.
        let mut state = self.state();
        if state.sending.contains_key(&segment.name) {
            return std::fs::remove_file(&segment.path);
        }
        let entry = Entry { path: self.spool.add(segment)?, len: segment.len, is_kept };
        let before = state.waiting.insert(key(segment.priority, &segment.name), entry);
        state.bytes = state.bytes + segment.len - before.map_or(0, |before| before.len);
        drop(state);
        self.added.notify_one();
        Ok(())
    }

    /// Sheds the oldest whole segments of the lowest priority until the spool is within its limit,
    /// or has nothing left to shed.
    fn make_space(&self) {
        while let Some((key, entry)) = self.take_least() {
            match self.shed(&key.2, &entry) {
                Ok(Some(events)) => {
                    self.state().sending.remove(&key.2);
                    self.figures.shed_segments.fetch_add(1, Ordering::Relaxed);
                    self.figures.shed_events.fetch_add(events, Ordering::Relaxed);
                    let priority = 9 - key.0;
                    log::line(format_args!(
                        "warning: the spool is full: shed {events} events of priority {priority} in {}",
                        key.2
                    ));
                }
                Ok(None) => self.put_back(key, Entry { is_kept: true, ..entry }),
                Err(error) => {
                    self.figures
                        .error(format_args!("warning: the spool is full, and nothing can be shed: {error}"));
                    return self.put_back(key, entry);
                }
            }
        }
        self.freed.notify_all();
    }

    /// Sheds a segment. Returns the number of its events, or `None` if it has none.
    fn shed(&self, name: &SegmentName, entry: &Entry) -> io::Result<Option<u64>> {
        let Some((left, events)) = shed(&entry.path, &name.host, &self.spool.open_dir())? else {
            return Ok(None);
        };
        failpoint("ship-shed");
        // First the account, then the events go. A crash in between leaves both; the store then has
        // the events, and events that it has are not shed.
        self.insert(&left, true)?;
        failpoint("ship-shed-kept");
        self.spool.remove(&entry.path)?;
        Ok(Some(events))
    }

    fn take_least(&self) -> Option<(Key, Entry)> {
        let mut state = self.state();
        if state.bytes <= self.most_whole() {
            return None;
        }
        let least = state.waiting.iter().filter(|(_, entry)| !entry.is_kept).map(|(key, _)| key.0).max()?;
        let key = state.waiting.iter().find(|(key, entry)| key.0 == least && !entry.is_kept)?.0.clone();
        let entry = state.waiting.remove(&key)?;
        state.bytes -= entry.len;
        // The same segment may come again meanwhile, as from a file that is cut again.
        state.sending.insert(key.2.clone(), key.1);
        Some((key, entry))
    }

    fn put_back(&self, key: Key, entry: Entry) {
        let mut state = self.state();
        state.bytes += entry.len;
        state.sending.remove(&key.2);
        state.waiting.insert(key, entry);
    }

    /// Waits a while for space, and says whether there is some: for a segment of a file, or for
    /// what programs send. All that open segments may have is left to programs, so that nothing is
    /// shed for files. An empty spool has space for anything.
    pub(crate) fn wait_for_space(&self, file: Option<u64>, limit: Duration) -> bool {
        let state = self.state();
        let is_full = |state: &mut State| {
            let is_beyond = match file {
                Some(len) => state.bytes + len > self.most_of_files(),
                None => state.bytes > self.most_whole(),
            };
            state.bytes > 0 && is_beyond
        };
        let waited = self.freed.wait_timeout_while(state, limit, is_full);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Takes the next segment to send, if it has at most `room` bytes or `alone` is true.
    pub(crate) fn next(&self, room: u64, alone: bool) -> Option<Next> {
        let mut state = self.state();
        let (key, entry) = state.waiting.first_key_value()?;
        if entry.len > room && !alone {
            return None;
        }
        let (key, entry) = (key.clone(), entry.clone());
        state.waiting.remove(&key);
        state.sending.insert(key.2.clone(), key.1);
        let Entry { path, len, is_kept } = entry;
        Some(Next { name: key.2, path, len, priority: 9 - key.0, is_kept })
    }

    /// Says that a segment has left the spool.
    pub(crate) fn gone(&self, next: &Next) {
        let mut state = self.state();
        state.sending.remove(&next.name);
        state.bytes -= next.len;
        drop(state);
        self.freed.notify_all();
    }

    /// Says that a segment was not sent.
    pub(crate) fn failed(&self, next: Next) {
        let mut state = self.state();
        state.sending.remove(&next.name);
        let Next { name, path, len, priority, is_kept } = next;
        state.waiting.insert(key(priority, &name), Entry { path, len, is_kept });
        drop(state);
        // It may be the one to shed: on the way it could not be.
        self.make_space();
    }

    /// Returns the state of the spool.
    pub(crate) fn status(&self) -> Status {
        let state = self.state();
        let starts = state.waiting.keys().map(|key| key.1).chain(state.sending.values().copied());
        let oldest_ns = starts.min().unwrap_or(0);
        Status {
            spool: state.bytes,
            oldest_ns,
            shed: self.figures.shed_events.load(Ordering::Relaxed),
            takes_requests: false,
        }
    }

    /// Says whether all segments are sent.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.sending.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(priority: u8, name: &SegmentName) -> Key {
    (9 - priority.min(9), name.start_ns, name.clone())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use telemetry_decode::blocks::{Blocks, Piece};
    use telemetry_testing::made::{Plan, make, registry};

    use super::*;
    use crate::segment::Cutter;

    fn queue(dir: &Path) -> Queue {
        let spool = Spool::open(dir).unwrap();
        Queue::new(spool, "h7".parse().unwrap(), u64::MAX, u64::MAX, Arc::default()).unwrap()
    }

    /// Returns the same segment each time.
    fn cut(queue: &Queue) -> Segment {
        let stream = make(&registry(), &Plan::default()).stream;
        let mut cutter = Cutter::new(queue.spool.open_dir(), queue.host.clone(), u64::MAX);
        let mut blocks = Blocks::from_slice(&stream);
        while let Some(Piece::Block(block)) = blocks.next().unwrap() {
            assert_eq!(cutter.push(&block).unwrap(), []);
        }
        cutter.finish().unwrap().remove(0)
    }

    #[test]
    fn what_cannot_be_shed_counts_as_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let queue = queue(dir.path());
        queue.add(&cut(&queue)).unwrap();
        // Its file is gone, so it cannot be read.
        let path = queue.state().waiting.values().next().unwrap().path.clone();
        std::fs::remove_file(path).unwrap();
        queue.set_limit(0);
        queue.make_space();
        let figures = &queue.figures;
        let counted = [&figures.errors, &figures.shed_segments].map(|figure| figure.load(Ordering::Relaxed));
        assert_eq!(counted, [1, 0]);
    }

    /// A file that is cut again gives a segment that is being shed.
    #[test]
    fn a_segment_that_is_shed_may_come_again() {
        let dir = tempfile::tempdir().unwrap();
        let queue = queue(dir.path());
        queue.add(&cut(&queue)).unwrap();
        queue.set_limit(0);
        let (key, entry) = queue.take_least().unwrap();
        queue.add(&cut(&queue)).unwrap();
        assert!(queue.shed(&key.2, &entry).unwrap().is_some());
        queue.state().sending.remove(&key.2);
        let state = queue.state();
        // What is left is the account.
        let lengths: Vec<_> =
            state.waiting.values().map(|entry| entry.path.metadata().unwrap().len()).collect();
        assert_eq!((lengths.len(), lengths.iter().sum()), (1, state.bytes));
        assert_eq!(std::fs::read_dir(queue.spool.open_dir()).unwrap().count(), 0);
    }
}
