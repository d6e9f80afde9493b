//! All sinks in use, and what each pass gives them.
#![allow(unsafe_code)]

use std::collections::HashSet;
use std::io;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use telemetry_format::{Loss, flags};

use crate::drain::config;
use crate::drain::output::{MAX_BATCH, Output, vec_for};
use crate::drain::selection::Selection;
use crate::emit::revoke;
use crate::memory::block::{Block, PAGE};
use crate::memory::lanes::LANES;
use crate::memory::pool::POOL;
use crate::memory::record::LaneRecord;
use crate::sinks::patience;
use crate::sinks::sink::Sink;
use crate::store::counters::{self, SinkCounters};
use crate::store::sealed::{STORE, Store};
use crate::store::source::Source;
use crate::sys::atomic::Ordering;
use crate::triggers::list as triggers;

/// Number of threads from which on the ended ones are forgotten.
const MANY_THREADS: usize = 1 << 10;
/// The share of the pool that is kept free for lanes that open blocks.
const FREE_SHARE: usize = 8;

/// A lane is quiet if it has recorded nothing for this long. A pass looks for quiet lanes this
/// often while memory is short.
pub(crate) const QUIET_TIME: Duration = Duration::from_millis(5);

/// The sinks of the process.
pub(crate) struct Outputs {
    list: Vec<Output>,
    last_id: u32,
    /// When a pass last looked for quiet lanes because memory was short.
    relieved: Option<Instant>,
}

impl Outputs {
    /// The state without sinks.
    pub(crate) const NONE: Outputs = Outputs { list: Vec::new(), last_id: 0, relieved: None };

    /// Adds the sink of the configuration, before any other.
    pub(crate) fn begin(&mut self) {
        if self.last_id == 0 {
            self.add(config::sink(), Selection::Control);
        }
    }

    /// Adds a sink, and returns its number.
    pub(crate) fn add(&mut self, sink: Box<dyn Sink>, selection: Selection) -> u32 {
        self.push(|id| Output::new(id, sink, selection))
    }

    /// Adds the sink of a client, and returns its number.
    #[cfg(all(unix, not(miri)))]
    pub(crate) fn add_client(&mut self, sink: Box<dyn Sink>, selection: Selection) -> u32 {
        self.push(|id| Output::of_client(id, sink, selection))
    }

    fn push(&mut self, output: impl FnOnce(u32) -> Output) -> u32 {
        self.last_id += 1;
        // Most programs have one sink, and each takes some hundred bytes.
        self.list.reserve_exact(1);
        self.list.push(output(self.last_id));
        self.count();
        self.last_id
    }

    /// Removes a sink.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Output> {
        let at = self.list.iter().position(|output| output.id == id)?;
        let removed = self.list.remove(at);
        self.count();
        Some(removed)
    }

    fn count(&mut self) {
        let sinks = self.list.len();
        patience::set_count(sinks);
        self.list.iter_mut().for_each(|output| output.is_sole = sinks == 1);
    }

    /// Writes sealed blocks. With `sweep`, also writes open blocks and losses, and frees the
    /// records of ended lanes.
    pub(crate) fn pass(&mut self, sweep: bool) {
        self.relieve();
        // A lane is closed after its last block is handed over, and opens a block after it has
        // handed over the previous one. So all earlier blocks of a lane are sorted, and are written
        // first.
        let (mut records, mut open) = (Vec::new(), Vec::new());
        if sweep {
            records.extend(LANES.taken());
        }
        let closed: Vec<_> = records.iter().copied().filter(|record| record.is_closed()).collect();
        STORE.sort(&records, &mut open);
        let is_own = |record: &LaneRecord| record.owner().registry.is_own();
        // SAFETY: the block is pinned.
        let is_own_block = |block: &NonNull<Block>| is_own(unsafe { block.as_ref() }.record());
        let (mut own_open, mut open_ones): (Vec<_>, Vec<_>) = open.iter().copied().partition(is_own_block);
        let (own_records, others): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| is_own(record));
        // The program's events begin a stream. Those of the runtime follow in it.
        self.write_sealed(Store::outgoing);
        self.write_open(&mut open_ones, Store::outgoing);
        self.write_losses(&others);
        if sweep && !self.has_stream() {
            // Losses without a lane also begin a stream.
            self.sync(0);
        }
        let has_stream = self.has_stream();
        STORE.set_stream(has_stream);
        if has_stream {
            self.write_sealed(Store::own_outgoing);
            self.write_open(&mut own_open, Store::own_outgoing);
            self.write_losses(&own_records);
        } else if !self.is_failing() {
            seal(&mut own_open, is_for_sinks);
        }
        STORE.unpin(&own_open);
        STORE.unpin(&open_ones);
        // A block that was sealed while it was pinned waits for the next pass.
        if sweep {
            self.free(&closed);
            self.sync(0);
        }
        STORE.trim(POOL.bytes() / PAGE / FREE_SHARE);
    }

    /// Makes quiet lanes return their blocks if the pool is short of memory. All of its memory may
    /// be in open blocks of threads that emit nothing.
    // Not inlined: the drain's stack then is as deep as its deepest call, and each page of it is
    // memory.
    #[inline(never)]
    fn relieve(&mut self) {
        // New lanes may take the last of the memory in less time than that between two looks.
        let is_recent = |at: Instant| at.elapsed() < QUIET_TIME && !STORE.is_nearly_dry();
        if !STORE.is_short() || self.relieved.is_some_and(is_recent) {
            return;
        }
        revoke::begin();
        let records: Vec<_> = LANES.taken().collect();
        let mut open = Vec::new();
        STORE.sort(&records, &mut open);
        seal(&mut open, is_quiet);
        STORE.unpin(&open);
        self.relieved = Some(Instant::now());
    }

    /// Ends the streams that have begun. Returns the sinks, which the caller drops.
    pub(crate) fn end(&mut self) -> Vec<Output> {
        // The last sync block may begin a stream, whose reader is to know what stays here.
        let renewed = self.list.iter_mut().fold(false, |renewed, output| output.renew() | renewed);
        if renewed {
            let records: Vec<_> = LANES.taken().collect();
            self.write_losses(&records);
        }
        self.sync(flags::END);
        self.flush();
        std::mem::take(&mut self.list)
    }

    /// Keeps the sinks that can start over, in the child of a fork. The others belong to the parent
    /// alone.
    pub(crate) fn in_child(&mut self) {
        self.list = std::mem::take(&mut self.list).into_iter().filter_map(Output::in_child).collect();
        self.count();
    }

    /// Makes the sinks write what they hold back. Returns false if one is slow and has not written
    /// all of it, except that of a client.
    pub(crate) fn flush(&mut self) -> bool {
        let mut is_done = true;
        for output in &mut self.list {
            is_done &= output.flush() || output.is_client();
        }
        is_done
    }

    /// Flushes the sinks that hold back something which their readers may take soon. Returns true
    /// if some still do.
    pub(crate) fn go_on(&mut self) -> bool {
        let mut behind = false;
        for output in &mut self.list {
            if output.is_behind() {
                output.flush();
                behind |= output.is_behind();
            }
        }
        behind
    }

    /// Removes the sinks that will never take anything again. The caller drops them without the
    /// lock, since the program may have written them.
    pub(crate) fn gone(&mut self) -> Vec<Output> {
        let gone = self.list.extract_if(.., |output| output.sink.is_closed()).collect();
        self.count();
        gone
    }

    /// Returns the counters of each sink.
    pub(crate) fn counters(&self) -> Vec<SinkCounters> {
        self.list.iter().map(Output::counters).collect()
    }

    /// Returns true if any sink has begun its stream.
    fn has_stream(&self) -> bool {
        self.list.iter().any(Output::has_begun)
    }

    /// Writes sync blocks to the sinks that need one.
    // Not inlined: the drain's stack then is as deep as its deepest call, and each page of it is
    // memory.
    #[inline(never)]
    fn sync(&mut self, flags: u8) {
        self.list.iter_mut().for_each(|output| output.sync(flags, &counters::strays()));
    }

    /// Writes the sealed blocks that `next` returns: those of the program, or of the runtime.
    fn write_sealed(&mut self, next: impl Fn(&Store, &mut Vec<NonNull<Block>>, usize)) {
        let mut blocks = Vec::with_capacity(MAX_BATCH);
        loop {
            next(&STORE, &mut blocks, MAX_BATCH);
            if blocks.is_empty() {
                return;
            }
            self.write(&blocks, |block| Source::of(block, true));
            blocks.clear();
        }
    }

    /// Writes the committed events of open blocks, which are pinned. Blocks of quiet lanes are
    /// written as their last parts, and then sealed, so that their memory is free again.
    ///
    /// In this order, since a sealed block is lost for a sink that fails. Of an open block it gets
    /// all events later. So while a sink fails, no lane is stopped.
    fn write_open(
        &mut self,
        open: &mut Vec<NonNull<Block>>,
        next: impl Fn(&Store, &mut Vec<NonNull<Block>>, usize),
    ) {
        // A block that only triggers look at stays open: the flight recorder needs few large ones.
        let has_reader = |block: &Block| self.list.iter().any(|output| output.is_for(block));
        let wants = |block: &Block| is_for_sinks(block) && (!triggers::is_any() || has_reader(block));
        let stopped = if self.is_failing() { Vec::new() } else { stop(open, wants) };
        // In the order of `open`.
        let mut next_stopped = stopped.iter().copied().peekable();
        let mut is_stopped = |block: &NonNull<Block>| next_stopped.next_if_eq(block).is_some();
        let not_stopped: Vec<_> = open.iter().copied().filter(|block| !is_stopped(block)).collect();
        self.write(&stopped, Source::of_stopped);
        if !stopped.is_empty() && !self.is_failing() {
            STORE.seal(&stopped, open);
            self.write_sealed(next);
        }
        self.write(&not_stopped, |block| Source::of(block, false));
    }

    /// Writes the losses of lanes, after their blocks.
    fn write_losses(&mut self, records: &[&'static LaneRecord]) {
        for record in records {
            self.list.iter_mut().for_each(|output| output.write_losses(record));
        }
    }

    /// Returns true if a sink did not take the last write, except that of a client.
    fn is_failing(&self) -> bool {
        self.list.iter().any(|output| output.is_failing() && !output.is_client())
    }

    /// Writes what `read` finds in some blocks, and returns those that are sealed to the pool.
    fn write(&mut self, blocks: &[NonNull<Block>], read: impl Fn(NonNull<Block>) -> Source) {
        for some in blocks.chunks(MAX_BATCH) {
            let mut sources: Vec<Source> = vec_for(some);
            sources.extend(some.iter().map(|&block| read(block)));
            let mut wanted = [false; MAX_BATCH];
            for output in &mut self.list {
                output.write(&sources, &mut wanted);
            }
            let mut watched = [false; MAX_BATCH];
            triggers::watch(&sources, &mut watched);
            for (at, source) in sources.iter().enumerate().filter(|(_, source)| source.sealed) {
                // A block that left the flight recorder only for a trigger returns to it.
                if wanted[at] || !watched[at] || !STORE.keep(source.block) {
                    source.settle(wanted[at]);
                }
            }
        }
    }

    /// Frees the records of ended lanes that have no block left and whose losses are all stated.
    // Not inlined: the drain's stack then is as deep as its deepest call, and each page of it is
    // memory.
    #[inline(never)]
    fn free(&mut self, closed: &[&'static LaneRecord]) {
        let crowded = LANES.is_crowded();
        let held: HashSet<_> = self.list.iter().flat_map(Output::held).map(std::ptr::from_ref).collect();
        for &record in closed {
            // A sink may lose what it has not sent, and states that in the lane.
            if held.contains(&std::ptr::from_ref(record)) {
                continue;
            }
            // Acquire: all that was counted with the blocks is counted.
            let is_empty = record.blocks.load(Ordering::Acquire) == 0;
            // Losses stay until every stream can state them.
            if is_empty && (crowded || self.list.iter().all(|output| output.has_stated(record))) {
                self.list.iter_mut().for_each(|output| output.forget(record));
                triggers::forget(record);
                counters::remember(record);
            }
        }
        if self.list.iter().any(|output| output.threads() > MANY_THREADS) {
            let taken = LANES.taken();
            let alive = taken.map(|record| record.owner().thread).collect();
            self.list.iter_mut().for_each(|output| output.forget_threads(&alive));
        }
    }
}

/// Stops the lanes of the open, pinned blocks that `wants` selects, and returns the blocks of those
/// that are quiet.
fn stop(open: &[NonNull<Block>], wants: impl Fn(&Block) -> bool) -> Vec<NonNull<Block>> {
    // SAFETY: the blocks are pinned.
    revoke::stop(open.iter().copied().filter(|block| wants(unsafe { block.as_ref() })))
}

/// Seals the blocks of quiet lanes that `wants` selects, and removes them from `open`.
#[inline(never)]
fn seal(open: &mut Vec<NonNull<Block>>, wants: impl Fn(&Block) -> bool) {
    let stopped = stop(open, wants);
    if !stopped.is_empty() {
        STORE.seal(&stopped, open);
    }
}

/// Returns true for a block that has events and whose kind any sink gets.
fn is_for_sinks(block: &Block) -> bool {
    let owner = block.record().owner();
    block.committed().1 > 0 && owner.registry.is_output(owner.kind, block.base_ticks())
}

/// Returns true for a block whose lane has recorded nothing since the last call.
fn is_quiet(block: &Block) -> bool {
    let events = block.before() + u64::from(block.committed().1);
    block.record().seen.swap(events, Ordering::Relaxed) == events
}

/// Everything in memory, to be written as a stream of its own. It is copied, and nothing is
/// consumed. So its sink may be slow, while passes continue and lanes get memory.
pub(crate) struct Snapshot {
    sources: Vec<Source>,
    strays: Loss,
}

impl Snapshot {
    /// Copies what is in memory now, between two passes.
    ///
    /// # Errors
    /// Returns an error if there is no memory for a copy.
    pub(crate) fn take(_passes: &Outputs) -> io::Result<Snapshot> {
        let records: Vec<_> = LANES.taken().collect();
        let (mut open, mut sealed) = (Vec::new(), Vec::new());
        STORE.set_copied(true);
        STORE.pin_all(&records, &mut open, &mut sealed);
        let sealed_ones = sealed.iter().map(|&block| Source::of(block, true));
        let open_ones = open.iter().map(|&block| Source::of(block, false));
        // A lane may have blocks in two queues, if its kind was output for a part of the time.
        let mut sources: Vec<Source> = sealed_ones.chain(open_ones).collect();
        sources.sort_by_key(|source| (source.header.base_ticks, source.header.seq));
        let mut is_kept = true;
        for some in sources.chunks_mut(MAX_BATCH) {
            is_kept = is_kept && some.iter_mut().all(Source::keep);
            // At once, because lanes want the oldest blocks.
            let copied: Vec<_> = some.iter().map(|source| source.block).collect();
            STORE.unpin(&copied);
        }
        STORE.set_copied(false);
        if is_kept {
            Ok(Snapshot { sources, strays: counters::strays() })
        } else {
            Err(io::ErrorKind::OutOfMemory.into())
        }
    }

    /// Writes the snapshot.
    ///
    /// # Errors
    /// Returns an error if the sink did not take everything.
    pub(crate) fn write(self, sink: Box<dyn Sink>) -> io::Result<()> {
        let mut output = Output::new(0, sink, Selection::All);
        let mut sources = self.sources.into_iter().peekable();
        while sources.peek().is_some() {
            // Freed as it is written.
            let some: Vec<_> = sources.by_ref().take(MAX_BATCH).collect();
            output.write(&some, &mut vec![false; some.len()]);
        }
        output.sync(0, &self.strays);
        output.flush();
        output.result()
    }
}
