//! All sinks in use, and what they are given at each pass.
#![allow(unsafe_code)]

use std::io;
use std::ptr::NonNull;

use telemetry_format::{Loss, flags};

use crate::block::{Block, PAGE};
use crate::counters::{self, SinkCounters};
use crate::output::{Output, Selection};
use crate::pool::POOL;
use crate::record::LaneRecord;
use crate::refill::{STRAY_NESTED, STRAY_POOL};
use crate::sink::Sink;
use crate::source::Source;
use crate::start;
use crate::store::{STORE, Store, give_back};
use crate::sync::Ordering;

/// Most blocks of one write: with large ones, half a megabyte.
const MOST: usize = 8;
/// So many threads are worth forgetting.
const MANY_THREADS: usize = 1 << 10;
/// The share of the pool that is kept free for lanes that open blocks.
const SPARE: usize = 8;

/// The sinks of the process.
pub(crate) struct Outputs {
    list: Vec<Output>,
    last_id: u32,
}

impl Outputs {
    /// None yet.
    pub(crate) const NONE: Outputs = Outputs { list: Vec::new(), last_id: 0 };

    /// Adds the one that the configuration names, before any other.
    pub(crate) fn begin(&mut self) {
        if self.last_id == 0 {
            self.add(start::sink(), Selection::Control);
        }
    }

    /// Adds a sink, and returns its number.
    pub(crate) fn add(&mut self, sink: Box<dyn Sink>, selection: Selection) -> u32 {
        self.last_id += 1;
        // Most programs have one, and a sink takes some hundred bytes.
        self.list.reserve_exact(1);
        self.list.push(Output::new(self.last_id, sink, selection));
        self.last_id
    }

    /// Takes a sink out of use.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Box<dyn Sink>> {
        let at = self.list.iter().position(|output| output.id == id)?;
        Some(self.list.remove(at).sink)
    }

    /// Writes what is sealed; with `sweep` also what open blocks have, losses, and records of lanes
    /// whose threads have ended.
    pub(crate) fn pass(&mut self, sweep: bool) {
        // A lane is closed after its last block is handed over, and a block is opened after the one before
        // it is handed over: what precedes these in their lanes is sorted, and so is written first.
        let (mut records, mut open) = (Vec::new(), Vec::new());
        if sweep {
            records.extend(POOL.records().iter().filter(|record| record.is_taken()));
        }
        let closed: Vec<_> = records.iter().copied().filter(|record| record.is_closed()).collect();
        STORE.sort(&records, &mut open);
        let is_own = |record: &LaneRecord| record.owner().registry.is_own();
        // SAFETY: the block is pinned.
        let is_own_block = |block: &NonNull<Block>| is_own(unsafe { block.as_ref() }.record());
        let (own_open, open_ones): (Vec<_>, Vec<_>) = open.iter().copied().partition(is_own_block);
        let (own_records, others): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| is_own(record));
        // A stream begins with what the program has to say; what the runtime has comes along.
        self.write_sealed(Store::outgoing);
        self.write_rest(&open_ones, &others);
        if sweep && !self.has_stream() {
            // Losses of no lane begin one, too.
            self.sync(0);
        }
        let has_stream = self.has_stream();
        STORE.set_stream(has_stream);
        if has_stream {
            self.write_sealed(Store::own_outgoing);
            self.write_rest(&own_open, &own_records);
        }
        STORE.unpin(&open);
        // A block that was sealed while it was pinned waits for the next pass.
        if sweep {
            self.free(&closed);
            self.sync(0);
        }
        STORE.trim(POOL.bytes() / PAGE / SPARE);
    }

    /// Ends the streams that have begun. The sinks, which are to be dropped.
    pub(crate) fn end(&mut self) -> Vec<Output> {
        self.sync(flags::END);
        self.flush();
        std::mem::take(&mut self.list)
    }

    /// In the child of a fork: sinks that can begin anew, the others are the parent's alone.
    pub(crate) fn in_child(&mut self) {
        self.list = std::mem::take(&mut self.list).into_iter().filter_map(Output::in_child).collect();
    }

    /// Has the sinks write out what they hold back. False if one is slow, and has not written all of it yet.
    pub(crate) fn flush(&mut self) -> bool {
        let slow = self.list.iter_mut().map(Output::flush).filter(|is_done| !is_done).count();
        slow == 0
    }

    /// Takes the sinks out that will never take anything again. They may be the program's: to be dropped without
    /// the lock.
    pub(crate) fn gone(&mut self) -> Vec<Output> {
        self.list.extract_if(.., |output| output.sink.is_gone()).collect()
    }

    /// What became of the events of each sink.
    pub(crate) fn counters(&self) -> Vec<SinkCounters> {
        let of = |output: &Output| SinkCounters {
            name: output.sink.name(),
            written: output.given,
            lost: output.lost(),
            failure: output.failure(),
        };
        self.list.iter().map(of).collect()
    }

    /// True if any sink has begun its stream.
    fn has_stream(&self) -> bool {
        self.list.iter().any(Output::has_begun)
    }

    /// Writes sync blocks where there is something to be said by one.
    fn sync(&mut self, flags: u8) {
        self.list.iter_mut().for_each(|output| output.sync(flags, &strays()));
    }

    /// Writes what is sealed of the program, or of the runtime.
    fn write_sealed(&mut self, next: impl Fn(&Store, &mut Vec<NonNull<Block>>, usize)) {
        let mut blocks = Vec::with_capacity(MOST);
        loop {
            next(&STORE, &mut blocks, MOST);
            if blocks.is_empty() {
                return;
            }
            self.write(&blocks, true);
            blocks.clear();
        }
    }

    /// Writes what open blocks have, and the losses of lanes, behind what is sealed of them.
    fn write_rest(&mut self, open: &[NonNull<Block>], records: &[&'static LaneRecord]) {
        open.chunks(MOST).for_each(|some| self.write(some, false));
        for record in records {
            self.list.iter_mut().for_each(|output| output.write_losses(record));
        }
    }

    fn write(&mut self, blocks: &[NonNull<Block>], sealed: bool) {
        let sources: Vec<Source> = blocks.iter().map(|&block| Source::of(block, sealed)).collect();
        let mut wanted = vec![false; sources.len()];
        for output in &mut self.list {
            output.write(&sources, &mut wanted);
        }
        if sealed {
            for (source, wanted) in sources.iter().zip(wanted) {
                source.settle(wanted);
                give_back(source.block);
            }
        }
    }

    /// Frees the records of lanes that are gone, once no block of theirs is left and all is told.
    fn free(&mut self, closed: &[&'static LaneRecord]) {
        let crowded = POOL.is_crowded();
        for record in closed {
            // Acquire: all that was counted with the blocks is counted.
            let is_empty = record.blocks.load(Ordering::Acquire) == 0;
            // What a stream could not be told stays until it can.
            if is_empty && (crowded || self.list.iter().all(|output| output.has_told(record))) {
                self.list.iter_mut().for_each(|output| output.forget(record));
                counters::remember(record);
            }
        }
        if self.list.iter().any(|output| output.threads() > MANY_THREADS) {
            let taken = POOL.records().iter().filter(|record| record.is_taken());
            let alive = taken.map(|record| record.owner().thread).collect();
            self.list.iter_mut().for_each(|output| output.forget_threads(&alive));
        }
    }
}

/// Everything in memory as a stream of its own; nothing of it is consumed.
pub(crate) fn snapshot(sink: Box<dyn Sink>) -> io::Result<()> {
    let mut output = Output::new(0, sink, Selection::All);
    let records: Vec<_> = POOL.records().iter().filter(|record| record.is_taken()).collect();
    let (mut open, mut sealed) = (Vec::new(), Vec::new());
    STORE.pin_all(&records, &mut open, &mut sealed);
    let sealed_ones = sealed.iter().map(|&block| Source::of(block, true));
    let open_ones = open.iter().map(|&block| Source::of(block, false));
    // A lane's blocks may be in more than one queue: those of when its kind was output, and those of when not.
    let mut sources: Vec<Source> = sealed_ones.chain(open_ones).collect();
    sources.sort_by_key(|source| (source.header.base_ticks, source.header.seq));
    for some in sources.chunks(MOST) {
        output.write(some, &mut vec![false; some.len()]);
        // At once: the sink may be slow, and lanes want the oldest blocks.
        let written: Vec<_> = some.iter().map(|source| source.block).collect();
        STORE.unpin(&written);
    }
    output.sync(0, &strays());
    output.flush();
    output.result()
}

/// Losses of no lane.
pub(crate) fn strays() -> Loss {
    Loss {
        pool: STRAY_POOL.load(Ordering::Relaxed),
        nested: STRAY_NESTED.load(Ordering::Relaxed),
        ..Loss::default()
    }
}
