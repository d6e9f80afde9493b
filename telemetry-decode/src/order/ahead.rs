//! Blocks that other threads decode before the reader needs them.
//!
//! The unit is a *group*: the parts of one block, and copies of them. A group can be decoded alone,
//! so each thread has a decoder of its own. Groups are given to the threads in the order in which
//! the reader will probably need them. The reader takes them block by block, and its own decoder
//! accounts for each, without decoding.
//!
//! Memory is limited. When groups hold too much of it, no more are given to threads. The reader
//! decodes those groups itself when it needs them, and also groups that are unusually long.
//!
//! A child of a fork has only the thread that forked. There, the reader uses what it has taken, and
//! decodes all else itself. It touches nothing that threads share: one may have held the lock.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::bytes::source::Source;
use crate::decode::batch::Batch;
use crate::decode::decoder::Decoder;
use crate::decode::part::PartState;
use crate::order::by_lane::{ByLane, Wanted};
use crate::order::load::{Loaded, Loader};

/// How groups are given to threads.
#[derive(Debug, Clone, Copy)]
pub struct Giving {
    /// A job is full when its blocks have this many bytes.
    pub job_len: usize,
    /// No job is given while given groups that the reader does not need yet take this much memory.
    pub ahead: usize,
    /// No job is given while all given groups that are still in use take this much memory.
    pub held: usize,
}

impl Giving {
    /// Returns the usual values for a number of threads. A job takes a tenth of a millisecond or
    /// more.
    pub(crate) fn usual(threads: NonZeroUsize) -> Giving {
        let ahead = threads.get().saturating_add(1).saturating_mul(1 << 20);
        Giving { job_len: 64 << 10, ahead, held: ahead.saturating_add(12 << 20) }
    }
}

/// The most events of a group, and bytes of its payloads. Programs write blocks of 64 KiB.
const MAX_EVENTS: u64 = 1 << 16;
const MAX_LEN: usize = 256 << 10;

/// The memory of an event and its parameters, to estimate that of a group.
const USUAL_EVENT: usize = 72;

/// The memory of groups that are no longer in use, for others.
const MAX_SPARE: usize = 4;

/// Decodes groups on several threads. Dropping it ends the threads.
pub(crate) struct Ahead {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The process of these threads.
    process: u32,
    /// Decodes groups on the thread of the reader, while it would wait.
    own: Worker,
    groups: Vec<Group>,
    /// Indices of groups in the order in which they are given.
    order: Vec<u32>,
    /// The number of groups in this order that were given, or skipped.
    next: usize,
    /// The blocks of groups that the reader takes from.
    open: HashMap<usize, VecDeque<Block>>,
    /// Memory of the groups that were given, as [`Giving`] limits it.
    ahead: usize,
    held: usize,
    giving: Giving,
}

/// A block of a group.
pub(crate) struct Block {
    pub(crate) loaded: Loaded,
    /// Its events, if it has a part that was read.
    pub(crate) read: Option<Box<ReadPart>>,
}

/// A part that was read as a whole.
pub(crate) struct ReadPart {
    pub(crate) loader: Loader<'static>,
    pub(crate) batch: Batch,
    pub(crate) end: PartState,
}

/// The parts of a block, and copies of them.
struct Group {
    places: Range<u64>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// Not given to the threads yet.
    Waiting,
    /// Given. They need about this much memory.
    Given(usize),
    /// The reader takes blocks of it.
    Open,
    /// The reader decodes it itself.
    Left,
}

/// Groups for one thread at a time, with their indices.
type Job = Vec<(usize, Wanted)>;

/// What the threads share.
struct Shared {
    work: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    queue: VecDeque<Job>,
    /// Decoded groups by index. None is one that is left to the reader.
    done: HashMap<usize, Option<VecDeque<Block>>>,
    /// Memory for other groups.
    spare: Vec<(Vec<u8>, Batch)>,
    is_over: bool,
    /// A thread has panicked.
    has_failed: bool,
}

/// What a thread decodes with.
struct Worker {
    decoder: Decoder,
    source: Source<'static>,
}

impl Ahead {
    /// Begins to decode on this many threads, of which one is the reader's. `order` returns the
    /// groups, given by their first places, in the order in which they will probably be needed.
    /// Returns `None` if there are no other threads, if there is only one job, or if blocks cannot
    /// be decoded alone.
    pub(crate) fn new(
        threads: NonZeroUsize,
        giving: Giving,
        source: &Source<'_>,
        blocks: &ByLane,
        decoder: &Decoder,
        order: impl FnOnce(&[Range<u64>]) -> Vec<u32>,
    ) -> Option<Box<Ahead>> {
        // Only there can threads read from one file at once.
        let Source::Files(files) = source else { return None };
        if threads.get() == 1 || !cfg!(unix) {
            return None;
        }
        let groups = blocks.groups(decoder).filter(|_| blocks.is_longer_than(giving.job_len as u64))?;
        let order = order(&groups);
        let worker = || Worker { decoder: decoder.fork(), source: Source::Files(files.clone()) };
        let shared = Arc::new(Shared { work: Mutex::default(), changed: Condvar::new() });
        let helpers = 1..threads.get().min(groups.len());
        let helpers = helpers.map(|_| {
            let (shared, worker) = (shared.clone(), worker());
            std::thread::Builder::new().spawn(move || shared.serve(worker))
        });
        // With fewer threads it takes more time, and nothing else.
        let helpers: Vec<_> = helpers.map_while(Result::ok).collect();
        Some(Box::new(Ahead {
            own: worker(),
            groups: groups.into_iter().map(|places| Group { places, state: State::Waiting }).collect(),
            order,
            next: 0,
            open: HashMap::new(),
            ahead: 0,
            held: 0,
            giving,
            shared,
            threads: helpers,
            process: std::process::id(),
        }))
    }

    /// Returns the block at a place; `None` if the reader must decode it itself. The blocks of each
    /// group must be taken in their order.
    pub(crate) fn take(&mut self, place: u64, blocks: &ByLane) -> Option<Block> {
        let index = self.groups.partition_point(|group| group.places.end <= place);
        if matches!(self.groups.get(index)?.state, State::Waiting | State::Given(_)) {
            if self.is_forked() {
                self.groups[index].state = State::Left;
            } else {
                self.give(blocks);
                self.begin(index);
            }
        }
        let group = self.open.get_mut(&index)?;
        let block = group.pop_front();
        if group.is_empty() {
            self.open.remove(&index);
        }
        block
    }

    /// Takes back the memory of a part that is no longer in use.
    pub(crate) fn give_back(&mut self, loader: &mut Loader<'_>, batch: Batch) {
        let buffer = loader.take_buffer();
        self.held = self.held.saturating_sub(buffer.capacity() + batch.room());
        if buffer.capacity() <= MAX_LEN && !self.is_forked() {
            let mut work = self.shared.lock();
            if work.spare.len() < MAX_SPARE * (1 + self.threads.len()) {
                work.spare.push((buffer, batch));
            }
        }
    }

    /// Gives groups to the threads, as memory allows.
    fn give(&mut self, blocks: &ByLane) {
        let before = self.next;
        let mut jobs = Vec::new();
        let (mut job, mut job_len) = (Job::new(), 0);
        while self.held < self.giving.held
            && self.ahead < self.giving.ahead
            && let Some(index) = self.order.get(self.next).map(|index| *index as usize)
        {
            self.next += 1;
            let group = &mut self.groups[index];
            if !matches!(group.state, State::Waiting) {
                continue;
            }
            let parts: Wanted = group.places.clone().filter_map(|place| blocks.in_memory(place)).collect();
            let len: usize = parts.iter().map(|(block, _)| block.len as usize).sum();
            let events: u64 = parts.iter().map(|(block, _)| u64::from(block.events)).sum();
            if events > MAX_EVENTS || len > MAX_LEN {
                group.state = State::Left;
                continue;
            }
            let memory = len + events as usize * USUAL_EVENT;
            group.state = State::Given(memory);
            self.ahead += memory;
            self.held += memory;
            job.push((index, parts));
            job_len += len;
            if job_len >= self.giving.job_len {
                jobs.push(std::mem::take(&mut job));
                job_len = 0;
            }
        }
        if self.next > before {
            jobs.push(job);
            self.shared.lock().queue.extend(jobs.into_iter().filter(|job| !job.is_empty()));
            self.shared.changed.notify_all();
        }
    }

    /// Begins to take a group, if it was given to the threads.
    fn begin(&mut self, index: usize) {
        let State::Given(memory) = self.groups[index].state else {
            self.groups[index].state = State::Left;
            return;
        };
        let done = self.wait_for(index);
        self.ahead = self.ahead.saturating_sub(memory);
        self.held = self.held.saturating_sub(memory);
        self.groups[index].state = if done.is_some() { State::Open } else { State::Left };
        if let Some(blocks) = done {
            self.held += blocks.iter().map(Block::room).sum::<usize>();
            self.open.insert(index, blocks);
        }
    }

    /// Decodes groups until this one is decoded, here or elsewhere.
    fn wait_for(&mut self, index: usize) -> Option<VecDeque<Block>> {
        let mut work = self.shared.lock();
        loop {
            if let Some(done) = work.done.remove(&index) {
                return done;
            }
            if work.has_failed {
                drop(work);
                self.end();
                return None;
            }
            let Some(job) = work.queue.pop_front() else {
                work = self.shared.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(work);
            let done = self.own.decode_all(job, &self.shared);
            work = self.shared.lock();
            work.done.extend(done);
        }
    }

    /// Returns true in a child of a fork, which has none of the threads.
    fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    /// Ends the threads. Passes on their panics.
    fn end(&mut self) {
        self.shared.end();
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if self.is_forked() {
            // Even letting go of a thread needs the thread.
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        self.shared.end();
        for thread in self.threads.drain(..) {
            // What a thread did after the last event that was read does not matter.
            let _ = thread.join();
        }
    }
}

impl Block {
    fn room(&self) -> usize {
        self.read.as_ref().map_or(0, |read| read.loader.room() + read.batch.room())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does jobs until all is over.
    fn serve(&self, mut worker: Worker) {
        let _telling = Telling(self);
        let mut work = self.lock();
        while !work.is_over {
            let Some(job) = work.queue.pop_front() else {
                work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(work);
            let done = worker.decode_all(job, self);
            work = self.lock();
            work.done.extend(done);
            self.changed.notify_all();
        }
    }

    /// Ends all threads after what they do now.
    fn end(&self) {
        let mut work = self.lock();
        work.is_over = true;
        work.queue.clear();
        self.changed.notify_all();
    }
}

/// Tells the reader when its thread panics, so that it does not wait forever.
struct Telling<'s>(&'s Shared);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().has_failed = true;
            self.0.changed.notify_all();
        }
    }
}

impl Worker {
    /// Decodes the groups of a job.
    fn decode_all(&mut self, job: Job, shared: &Shared) -> Vec<(usize, Option<VecDeque<Block>>)> {
        job.into_iter().map(|(index, group)| (index, self.decode(group, shared))).collect()
    }

    /// Decodes a group. Returns `None` if it is too long or cannot be read, so that the reader
    /// finds the same.
    fn decode(&mut self, group: Wanted, shared: &Shared) -> Option<VecDeque<Block>> {
        let Worker { decoder, source } = self;
        decoder.renew_lane(group.first()?.0.lane);
        let mut blocks = VecDeque::with_capacity(group.len());
        let mut len = 0;
        for (block, want) in group {
            let (buffer, mut batch) = shared.lock().spare.pop().unwrap_or_default();
            let mut loader = Loader::default();
            loader.give(buffer);
            let loaded = loader.load_wanted(source, &block, want).ok()?;
            let part = loaded.clone().open(&block, want, decoder);
            let read = part.map(|mut part| {
                len += loader.payload().len();
                if len > MAX_LEN {
                    return None;
                }
                let end = decoder.read_whole(&mut part, loader.payload(), &mut batch);
                Some(Box::new(ReadPart { loader, batch, end }))
            });
            match read {
                Some(None) => return None,
                read => blocks.push_back(Block { loaded, read: read.flatten() }),
            }
        }
        Some(blocks)
    }
}
