//! One sink, and what it has been given: facts before events, every lane's losses, and a cursor into each
//! lane's open block.
//!
//! Sinks have cursors of their own, because one may fail where others take, or join when blocks are half
//! written. Of a lane a sink has, in order, all that it was given, lost, or was never meant to have.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, flags};

use crate::control::Words;
use crate::progress::{Part, Progress, sum};
use crate::record::{LaneRecord, Owner};
use crate::registry::Registry;
use crate::sink::{Blocks, Sink};
use crate::source::Source;
use crate::start::{self, Policy};
use crate::sync::Ordering;
use crate::told::Told;
use crate::{clock, labels, own, sys};

/// What a sink gets.
pub(crate) enum Selection {
    /// What the control says.
    Control,
    /// Kinds of its own.
    Own(Box<Words>),
    /// Everything, for a snapshot: it does not count as written.
    All,
}

/// A sink in use.
pub(crate) struct Output {
    pub(crate) id: u32,
    pub(crate) sink: Box<dyn Sink>,
    selection: Selection,
    told: Told,
    /// By the address of the lane's record.
    lanes: BTreeMap<usize, Progress>,
    /// Events given, without those of labels, and of labels, each once.
    pub(crate) given: u64,
    labels: u64,
    /// Events that it did not take, of lanes that are gone.
    past_lost: u64,
    /// Losses of lanes that are gone, which no block has told.
    strays: Loss,
    /// Sum of the losses of no lane that the last sync block told.
    strays_told: u64,
    /// Something was written at all, and since the last sync block.
    begun: bool,
    unsynced: bool,
    /// The first thing that went wrong.
    error: Option<io::Error>,
}

impl Output {
    pub(crate) fn new(id: u32, sink: Box<dyn Sink>, selection: Selection) -> Output {
        Output {
            id,
            sink,
            selection,
            told: Told::default(),
            lanes: BTreeMap::new(),
            given: 0,
            labels: 0,
            past_lost: 0,
            strays: Loss::default(),
            strays_told: 0,
            begun: false,
            unsynced: false,
            error: None,
        }
    }

    /// The same sink for the child of a fork, if it can begin anew.
    pub(crate) fn in_child(self) -> Option<Output> {
        let Output { id, mut sink, selection, .. } = self;
        match guarded(&mut sink, |sink| Ok(sink.in_child())) {
            Ok(true) => Some(Output::new(id, sink, selection)),
            _ => {
                // To drop it may write what the parent writes too.
                std::mem::forget(sink);
                None
            }
        }
    }

    /// True if blocks of this kind, opened then, are for this sink. What the runtime has to say is no reason to
    /// begin a stream, but for a snapshot, which begins anyway.
    fn wants(&self, registry: &Registry, kind: u8, base_ticks: u64) -> bool {
        let begins = !registry.is_own() || matches!(self.selection, Selection::All);
        (self.begun || begins) && self.selects(registry, kind, base_ticks)
    }

    /// The same of a stream that has begun.
    fn selects(&self, registry: &Registry, kind: u8, base_ticks: u64) -> bool {
        match &self.selection {
            Selection::Control => registry.is_followed(kind, base_ticks),
            Selection::Own(words) => words.kinds(registry) & 1 << kind != 0,
            Selection::All => true,
        }
    }

    /// True once anything was written.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// The labels that the sink does not have, and where it is when it has them. All of them where a segment
    /// begins, whatever the sink had before.
    fn labels(&self) -> (Vec<(Header, &'static [u8])>, labels::Position) {
        let mut position = self.told.labels;
        let wanted = self.selects(own::registry(), own::LABEL_KIND, clock::ticks());
        (labels::parts(&mut position).filter(|_| wanted).collect(), position)
    }

    /// Gives the sink what it does not have of some blocks, at most so many as make a large write. Those that
    /// it wants are set in `wanted`.
    pub(crate) fn write(&mut self, sources: &[Source], wanted: &mut [bool]) {
        for (source, wanted) in sources.iter().zip(wanted) {
            *wanted |= self.wants(source.owner.registry, source.owner.kind, source.header.base_ticks);
        }
        let (mut parts, mut after) = self.plan(sources);
        let bytes = parts.iter().map(|part| HEADER_LEN + part.block.1.len()).sum();
        let begun = if parts.is_empty() { Some(false) } else { self.begin(bytes) };
        if begun == Some(true) {
            drop((parts, after));
            (parts, after) = self.plan(sources);
        }
        let blocks: Vec<(&Header, &[u8])> = parts.iter().map(|part| (&part.block.0, part.block.1)).collect();
        let threads: Vec<&Owner> = parts.iter().map(|part| &part.source.owner).collect();
        if blocks.is_empty() || begun.is_some() && self.put(&blocks, &threads) {
            self.lanes.extend(after);
            self.given += parts.iter().map(|part| part.new).sum::<u64>();
            if !matches!(self.selection, Selection::All) {
                parts.iter().for_each(|part| part.source.take());
            }
        } else {
            // What is open stays, and may be taken yet.
            for source in self.ours(sources).filter(|source| source.sealed).collect::<Vec<_>>() {
                self.lanes.entry(key(source.record)).or_default().lose(source);
            }
        }
    }

    /// The sources that are for this sink.
    fn ours<'s>(&self, sources: &'s [Source]) -> impl Iterator<Item = &'s Source> {
        sources
            .iter()
            .filter(|source| self.wants(source.owner.registry, source.owner.kind, source.header.base_ticks))
    }

    /// What the sink does not have of some sources, and where it is in their lanes if it takes it.
    fn plan<'s>(&self, sources: &'s [Source]) -> (Vec<Part<'s>>, BTreeMap<usize, Progress>) {
        // Several blocks may be of one lane: each begins where the one before ends, if all is taken.
        let (mut parts, mut after) = (Vec::with_capacity(sources.len()), BTreeMap::new());
        for source in self.ours(sources) {
            let known = || self.lanes.get(&key(source.record)).cloned().unwrap_or_default();
            let lane: &mut Progress = after.entry(key(source.record)).or_insert_with(known);
            parts.extend(lane.plan(source));
        }
        (parts, after)
    }

    /// Tells the losses of a lane that no block has told.
    pub(crate) fn write_losses(&mut self, record: &'static LaneRecord) {
        let owner = record.owner();
        let moment = clock::now();
        if !self.lanes.contains_key(&key(record)) && !self.wants(owner.registry, owner.kind, moment.ticks) {
            return;
        }
        let lane = self.lanes.entry(key(record)).or_default();
        // What was overwritten has its place before the lane's next block, which tells it; without a block, at the
        // end. Acquire, and in this order: if no block is left, none of those recorded is.
        let recorded = record.recorded.load(Ordering::Acquire);
        if record.blocks.load(Ordering::Acquire) == 0 {
            lane.pass_over(record, recorded);
        }
        let lost = lane.lost(record);
        if lost == lane.told || self.begin(HEADER_LEN).is_none() {
            return;
        }
        let lane = self.lanes.entry(key(record)).or_default();
        let header = Header {
            kind: owner.kind,
            registry: owner.registry.relation().fingerprint,
            thread: owner.thread,
            seq: lane.seq,
            offset: lane.len,
            base_ticks: moment.ticks,
            base_wall: moment.wall,
            end_ticks: moment.ticks,
            before: lane.next,
            lost,
            withheld: lane.withheld,
            ..Header::new(BlockType::Events, start::session())
        };
        if self.put(&[(&header, &[])], &[&owner]) {
            self.lanes.entry(key(record)).or_default().told = lost;
        }
    }

    /// True if the sink knows all losses of a lane that is gone.
    pub(crate) fn has_told(&self, record: &LaneRecord) -> bool {
        self.lanes.get(&key(record)).is_none_or(|lane| lane.lost(record) == lane.told)
    }

    /// Forgets a lane that is gone. Losses that the sink could not be told of become losses of no lane.
    pub(crate) fn forget(&mut self, record: &LaneRecord) {
        let Some(lane) = self.lanes.remove(&key(record)) else { return };
        let lost = lane.lost(record);
        self.strays.pool += lost.pool.saturating_sub(lane.told.pool);
        self.strays.nested += lost.nested.saturating_sub(lane.told.nested);
        self.strays.sink += lost.sink.saturating_sub(lane.told.sink);
        self.past_lost += lane.lost;
    }

    /// Forgets threads that are gone, of which there may be any number in a long run.
    pub(crate) fn forget_threads(&mut self, alive: &BTreeSet<u32>) {
        self.told.threads.retain(|thread| alive.contains(thread));
    }

    /// How many threads its reader knows.
    pub(crate) fn threads(&self) -> usize {
        self.told.threads.len()
    }

    /// Writes a sync block if there is something to be said by one, if it is the last, or of a snapshot, which
    /// has at least that.
    pub(crate) fn sync(&mut self, flags: u8, strays: &Loss) {
        let lost = Loss {
            pool: strays.pool + self.strays.pool,
            nested: strays.nested + self.strays.nested,
            sink: self.strays.sink,
            cut: strays.cut,
        };
        let is_last = flags & flags::END != 0 && self.told.session;
        // Labels alone begin no stream.
        if self.told.session && !self.labels().0.is_empty() && self.begin(0).is_some() {
            self.put(&[], &[]);
        }
        let is_due = self.unsynced || sum(&lost) != self.strays_told;
        if !is_due && !is_last && !matches!(self.selection, Selection::All) {
            return;
        }
        let moment = clock::now();
        let header = Header {
            flags,
            base_ticks: moment.ticks,
            base_wall: moment.wall,
            end_ticks: moment.ticks,
            before: self.given + self.labels,
            lost,
            ..Header::new(BlockType::Sync, start::session())
        };
        if self.begin(0).is_some() && self.put(&[(&header, &[])], &[]) {
            self.unsynced = false;
            self.strays_told = sum(&lost);
        }
    }

    /// Events that the sink was given, and did not take.
    pub(crate) fn lost(&self) -> u64 {
        self.past_lost + self.lanes.values().map(|lane| lane.lost).sum::<u64>()
    }

    /// Has the sink write out what it holds back. False if it is slow, and has not written all of it yet.
    pub(crate) fn flush(&mut self) -> bool {
        match guarded(&mut self.sink, |sink| sink.flush()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            result => {
                self.complain_of(result);
                true
            }
        }
    }

    /// Tells the sink how much is to come. True if that is for a new reader, who knows nothing and has nothing of
    /// the blocks that are open; nothing if the sink cannot take it.
    fn begin(&mut self, bytes: usize) -> Option<bool> {
        match guarded(&mut self.sink, |sink| sink.begin(bytes)) {
            Ok(true) => {
                self.told = Told::default();
                self.lanes.values_mut().for_each(Progress::rewind);
                Some(true)
            }
            Ok(false) => Some(false),
            Err(error) => {
                self.complain_of(Err(error));
                None
            }
        }
    }

    /// Gives the sink blocks, and before them what their reader needs to know.
    fn put(&mut self, blocks: &[(&Header, &[u8])], owners: &[&Owner]) -> bool {
        let (labels, position) = self.labels();
        let own = (!labels.is_empty()).then(|| own::registry().relation());
        let (facts, told) = self.told.facts(owners, own, self.sink.max_block());
        let all = || {
            let facts = facts.iter().map(|(header, text)| (header, text.as_bytes()));
            let labels = labels.iter().map(|(header, payload)| (header, *payload));
            facts.chain(labels).chain(blocks.iter().copied())
        };
        let heads: Vec<[u8; HEADER_LEN]> = all()
            .map(|(header, payload)| {
                let header = Header { payload_crc: crc32c::crc32c(payload), ..header.clone() };
                header.encode(crc32c::crc32c)
            })
            .collect();
        let blocks: Vec<[&[u8]; 2]> =
            heads.iter().zip(all()).map(|(head, (_, payload))| [&head[..], payload]).collect();
        let result = self.write_patiently(&Blocks { blocks: &blocks });
        let taken = self.complain_of(result);
        if taken {
            (self.begun, self.unsynced) = (true, true);
            self.told.session = true;
            self.told.registries.extend(told.registries);
            self.told.threads.extend(told.threads);
            self.told.labels = position;
            let ends = labels.iter().map(|(header, _)| header.before + u64::from(header.events));
            self.labels = ends.fold(self.labels, u64::max);
        }
        taken
    }

    /// Writes, and if threads shall wait for memory, waits for a sink that is slow: the pool then runs dry, and
    /// they do.
    fn write_patiently(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        let longest = match start::policy() {
            Policy::Wait(longest) => longest,
            Policy::DropNewest | Policy::OverwriteOldest => Duration::ZERO,
        };
        let since = Instant::now();
        loop {
            match guarded(&mut self.sink, |sink| sink.write(blocks)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && since.elapsed() < longest => {
                    sys::pause();
                }
                result => return result,
            }
        }
    }

    /// What went wrong first, in words.
    pub(crate) fn failure(&self) -> Option<String> {
        self.error.as_ref().map(io::Error::to_string)
    }

    /// What went wrong first, if anything did.
    pub(crate) fn result(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    /// Says what is wrong with a sink, once; of a snapshot its caller says it. True if nothing is.
    fn complain_of(&mut self, result: io::Result<()>) -> bool {
        let Err(error) = result else { return true };
        if self.error.is_none() {
            if !matches!(self.selection, Selection::All) {
                sys::complain(format_args!(
                    "cannot write {}: {error}; events are counted as lost until it can be written",
                    self.sink.name()
                ));
            }
            self.error = Some(error);
        }
        false
    }
}

/// Calls a sink, which may be the program's: its panic is an error.
fn guarded<T>(sink: &mut Box<dyn Sink>, call: impl FnOnce(&mut dyn Sink) -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(|| call(&mut **sink)))
        .unwrap_or_else(|_| Err(io::Error::other("the sink panicked")))
}

fn key(record: &LaneRecord) -> usize {
    core::ptr::from_ref(record).addr()
}
