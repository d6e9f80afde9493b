//! One sink, and what it was given: facts before events, every lane's losses, and a cursor into
//! each lane's open block.
//!
//! Each sink has its own cursors. One sink may fail while others take blocks, or may be added when
//! blocks are half-written. For each lane, its cursor follows in order what the sink was given,
//! what it lost, and what was excluded from it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;

use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, flags};

use crate::drain::guarded::guarded;
use crate::drain::selection::{self, Selection};
use crate::drain::sent_facts::SentFacts;
use crate::memory::block::Block;
use crate::memory::record::{LaneRecord, Owner};
use crate::memory::registry::{self, Registry};
use crate::own::labels;
use crate::own::registry as own;
use crate::run::clock;
use crate::run::state;
use crate::sinks::sink::Sink;
use crate::store::counters::{self, SinkCounters};
use crate::store::progress::{Held, Part, Progress, head, sum};
use crate::store::source::Source;
use crate::sys;
use crate::sys::atomic::Ordering;

/// Maximum number of blocks in one write: with large ones, 192 KiB. Each also needs half a kilobyte
/// of memory in a pass.
pub(crate) const MAX_BATCH: usize = 3;

/// Returns an empty list for as many entries as there are blocks in a batch. Its size is the same
/// for shorter batches: the allocator would keep memory of each size.
pub(crate) fn vec_for<B, T>(batch: &[B]) -> Vec<T> {
    Vec::with_capacity(batch.len().max(MAX_BATCH))
}

/// A sink in use.
pub(crate) struct Output {
    pub(crate) id: u32,
    pub(crate) sink: Box<dyn Sink>,
    pub(super) selection: Selection,
    pub(super) is_client: bool,
    /// True if the sink does not get the kinds that stay on this host.
    leaves_host: bool,
    pub(super) sent: SentFacts,
    /// Positions by the address of the lane's record. With a few lanes, this map takes less memory
    /// than an ordered one.
    pub(super) lanes: HashMap<usize, Progress>,
    /// The latest blocks that the sink took, if it has not sent them yet. Blocks without a lane are
    /// `None`.
    held: VecDeque<Option<Held>>,
    /// True if there is no other sink.
    pub(super) is_sole: bool,
    /// Number of events given, without those of labels, and number of events of labels. Each counts
    /// once.
    given: u64,
    pub(super) labels: u64,
    /// Number of events of ended lanes that the sink did not take.
    past_lost: u64,
    /// Losses of ended lanes that no block has stated.
    strays: Loss,
    /// The sum of the losses without a lane that the last sync block stated.
    strays_stated: u64,
    /// True if something was written at all, and if something was written since the last sync
    /// block.
    pub(super) begun: bool,
    pub(super) unsynced: bool,
    /// True if a wait for the sink was in vain. It is not waited for again until it takes
    /// something.
    pub(super) is_stuck: bool,
    /// The first error.
    pub(super) error: Option<io::Error>,
    /// True if the sink did not take the last write.
    pub(super) is_failing: bool,
}

impl Output {
    pub(crate) fn new(id: u32, mut sink: Box<dyn Sink>, selection: Selection) -> Output {
        // A sink that cannot say where it writes gets less.
        let leaves_host = guarded(&mut sink, |sink| Ok(sink.leaves_host())).unwrap_or(true);
        Output {
            leaves_host,
            id,
            sink,
            selection,
            is_client: false,
            sent: SentFacts::default(),
            lanes: HashMap::new(),
            held: VecDeque::new(),
            is_sole: false,
            given: 0,
            labels: 0,
            past_lost: 0,
            strays: Loss::default(),
            strays_stated: 0,
            begun: false,
            unsynced: false,
            is_stuck: false,
            error: None,
            is_failing: false,
        }
    }

    /// Creates the output of a client: a sink from outside the program that nothing waits for.
    #[cfg(all(unix, not(miri)))]
    pub(crate) fn of_client(id: u32, sink: Box<dyn Sink>, selection: Selection) -> Output {
        Output { is_client: true, ..Output::new(id, sink, selection) }
    }

    /// Returns true if this sink gets blocks of this kind that were opened at that time.
    fn wants(&self, registry: &Registry, kind: u8, base_ticks: u64) -> bool {
        self.follows(registry, kind, base_ticks) && !self.withholds(registry, kind)
    }

    /// Returns true if this sink gets these blocks, or is told how many events of them it does not
    /// get. Blocks of the runtime's own registry do not begin a stream, except that of a snapshot,
    /// which begins anyway.
    fn follows(&self, registry: &Registry, kind: u8, base_ticks: u64) -> bool {
        let begins = !registry.is_own() || self.selection.is_all();
        (self.begun || begins) && self.selection.has(registry, kind, base_ticks)
    }

    /// Returns true if a kind stays on this host, which the sink's stream leaves.
    fn withholds(&self, registry: &Registry, kind: u8) -> bool {
        self.leaves_host && registry.is_local(kind) && !selection::sends_sensitive()
    }

    /// Returns true if the strings of labels stay on this host.
    fn withholds_labels(&self) -> bool {
        self.leaves_host && !selection::sends_sensitive() && registry::has_local_labels()
    }

    /// Returns true if this sink gets a block.
    pub(super) fn is_for(&self, block: &Block) -> bool {
        let owner = block.record().owner();
        self.wants(owner.registry, owner.kind, block.base_ticks())
    }

    /// Returns true once anything was written.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns the labels that the sink does not have, and its position once it has them. At the
    /// beginning of a segment these are all labels.
    pub(super) fn labels(&self) -> (Vec<(Header, &'static [u8])>, labels::Position) {
        let mut position = self.sent.labels;
        let wanted = self.selection.has(own::registry(), own::LABEL_KIND, clock::ticks());
        let mut parts: Vec<_> = labels::parts(&mut position).filter(|_| wanted).collect();
        if self.withholds_labels()
            && let Some((mut header, _)) = parts.pop()
        {
            // In place of all, a block that counts them. Those that the sink has stay.
            header.before += u64::from(header.events);
            (header.excluded, header.events) = (header.before.saturating_sub(self.labels), 0);
            (header.offset, header.flags) = (header.offset + header.payload_len, 0);
            (header.payload_len, header.unpacked_len) = (0, 0);
            parts = vec![(header, &[][..])];
        }
        (parts, position)
    }

    /// Gives the sink the parts of some blocks that it does not have, in one write. Sets `wanted`
    /// for each block that it is to get.
    pub(crate) fn write(&mut self, sources: &[Source], wanted: &mut [bool]) {
        for (source, wanted) in sources.iter().zip(wanted) {
            *wanted |= self.wants(source.owner.registry, source.owner.kind, source.header.base_ticks);
        }
        let (mut parts, mut after) = self.plan(sources);
        let bytes = parts.iter().map(|part| HEADER_LEN + part.payload.len()).sum();
        let begun = if parts.is_empty() { Some(false) } else { self.begin(bytes) };
        if begun == Some(true) {
            drop((parts, after));
            (parts, after) = self.plan(sources);
        }
        let (mut blocks, mut threads): (Vec<[&[u8]; 2]>, Vec<&Owner>) = (vec_for(sources), vec_for(sources));
        blocks.extend(parts.iter().map(|part| [&part.head, part.payload]));
        threads.extend(parts.iter().map(|part| &part.source.owner));
        let mut held: Vec<Held> = vec_for(sources);
        held.extend(parts.iter().map(|part| Held::of(part, self.is_sole)));
        if blocks.is_empty() || begun.is_some() && self.put(&blocks, &threads, &held) {
            self.lanes.extend(after);
            self.given += parts.iter().map(|part| u64::from(part.new)).sum::<u64>();
            if !self.selection.is_all() {
                parts.iter().filter(|part| !part.is_withheld).for_each(|part| part.source.take());
            }
        } else {
            // An open block stays, and the sink may take it later.
            for source in self.ours(sources).filter(|source| source.sealed).collect::<Vec<_>>() {
                let is_withheld = self.withholds(source.owner.registry, source.owner.kind);
                let lane = self.lanes.entry(key(source.record)).or_default();
                if is_withheld {
                    lane.exclude(source);
                } else {
                    source.take_back(lane.lose(source));
                }
            }
        }
    }

    /// Returns the sources that this sink gets or is told of.
    fn ours<'s>(&self, sources: &'s [Source]) -> impl Iterator<Item = &'s Source> {
        sources
            .iter()
            .filter(|source| self.follows(source.owner.registry, source.owner.kind, source.header.base_ticks))
    }

    /// Returns the parts of some sources that the sink does not have, and its positions once it has
    /// taken them.
    // Not inlined: the drain's stack then is as deep as its deepest call, and each page of it is
    // memory.
    #[inline(never)]
    fn plan<'s>(&self, sources: &'s [Source]) -> (Vec<Part<'s>>, Vec<(usize, Progress)>) {
        // Several blocks may be of one lane. Each part begins where the previous one ends, if all
        // are taken. There are few, so a map would need more memory.
        let (mut parts, mut after): (_, Vec<(usize, Progress)>) = (vec_for(sources), vec_for(sources));
        for source in self.ours(sources) {
            let key = key(source.record);
            let at = after.iter().position(|(lane, _)| *lane == key).unwrap_or_else(|| {
                after.push((key, self.lanes.get(&key).cloned().unwrap_or_default()));
                after.len() - 1
            });
            let lane = &mut after[at].1;
            let is_withheld = self.withholds(source.owner.registry, source.owner.kind);
            parts.extend(match is_withheld {
                true => lane.plan_withheld(source, clock::now()),
                false => lane.plan(source),
            });
        }
        (parts, after)
    }

    /// Writes a block with the losses of a lane that no block has stated.
    // Not inlined: the drain's stack then is as deep as its deepest call, and each page of it is
    // memory.
    #[inline(never)]
    pub(crate) fn write_losses(&mut self, record: &'static LaneRecord) {
        let owner = record.owner();
        let moment = clock::now();
        if !self.lanes.contains_key(&key(record)) && !self.follows(owner.registry, owner.kind, moment.ticks) {
            return;
        }
        let lane = self.lanes.entry(key(record)).or_default();
        // Overwritten events belong before the lane's next block, which states them, or at the end
        // if there is none. Acquire, and in this order: if no block is left, no block with recorded
        // events is.
        let recorded = record.account().recorded.load(Ordering::Acquire);
        if record.blocks.load(Ordering::Acquire) == 0 {
            lane.pass_over(record.overwritten.load(Ordering::Relaxed), recorded);
            lane.leave();
        }
        let lost = lane.lost(record);
        if lane.has_stated(record) || self.begin(HEADER_LEN).is_none() {
            return;
        }
        let lane = self.lanes.entry(key(record)).or_default();
        let header = Header {
            kind: owner.kind,
            registry: owner.registry.def().fingerprint,
            thread: owner.thread,
            seq: lane.seq,
            offset: lane.len,
            base_ticks: moment.ticks,
            base_wall: moment.wall,
            end_ticks: moment.ticks,
            before: lane.next,
            lost,
            excluded: lane.excluded,
            ..Header::new(BlockType::Events, state::session())
        };
        let held = Held::of_losses(record, lane);
        if self.put(&[[&head(&header, &[]), &[]]], &[&owner], &[held]) {
            self.lanes.entry(key(record)).or_default().state(lost);
        }
    }

    /// Prepares a stream that goes on with another reader, whose connection replaces a lost one.
    /// Returns true if there is such a reader.
    pub(crate) fn renew(&mut self) -> bool {
        let is_new = self.sent.session && self.begin(0) == Some(true);
        // The reader gets the last sync block, even if nothing else is for it.
        self.unsynced |= is_new;
        is_new
    }

    /// Returns true if the stream states all losses of an ended lane.
    pub(crate) fn has_stated(&self, record: &LaneRecord) -> bool {
        self.lanes.get(&key(record)).is_none_or(|lane| lane.has_stated(record))
    }

    /// Forgets an ended lane. Losses that the stream does not state become losses without a lane.
    pub(crate) fn forget(&mut self, record: &LaneRecord) {
        let Some(lane) = self.lanes.remove(&key(record)) else { return };
        let lost = lane.lost(record);
        self.strays.pool += lost.pool.saturating_sub(lane.stated.pool);
        self.strays.reentrant += lost.reentrant.saturating_sub(lane.stated.reentrant);
        self.strays.sink += lost.sink.saturating_sub(lane.stated.sink);
        self.past_lost += lane.lost;
    }

    /// Forgets ended threads, since a long run may have any number of them.
    pub(crate) fn forget_threads(&mut self, alive: &BTreeSet<u32>) {
        self.sent.threads.retain(|thread| alive.contains(thread));
    }

    /// Returns the number of threads that the reader knows.
    pub(crate) fn threads(&self) -> usize {
        self.sent.threads.len()
    }

    /// Writes a sync block if there is something to state, if it is the last one, or for a
    /// snapshot, which has at least one.
    // Not inlined: the drain's stack then is as deep as its deepest call, and each page of it is
    // memory.
    #[inline(never)]
    pub(crate) fn sync(&mut self, flags: u8, strays: &Loss) {
        let lost = Loss {
            pool: strays.pool + self.strays.pool,
            reentrant: strays.reentrant + self.strays.reentrant,
            sink: self.strays.sink,
            truncated: strays.truncated,
        };
        let is_last = flags & flags::END != 0 && self.sent.session;
        // Labels alone do not begin a stream.
        if self.sent.session && !self.labels().0.is_empty() && self.begin(0).is_some() {
            self.put(&[], &[], &[]);
        }
        let is_awaited = flags & flags::END == 0 && self.sink.wants_facts();
        let is_due = self.unsynced || is_awaited || sum(&lost) != self.strays_stated;
        if !is_due && !is_last && !self.selection.is_all() {
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
            ..Header::new(BlockType::Sync, state::session())
        };
        if self.begin(0).is_some() && self.put(&[[&head(&header, &[]), &[]]], &[], &[]) {
            self.unsynced = false;
            self.strays_stated = sum(&lost);
        }
    }

    /// Notes which blocks the sink has not sent yet, after a call that gave it these: `facts` ones
    /// without a lane, and then those of lanes. Counts the events of blocks that it has forgotten.
    // Not inlined: the drain's stack then is as deep as its deepest call, and each page of it is
    // memory.
    #[inline(never)]
    pub(super) fn note_held(&mut self, facts: usize, blocks: &[Held]) {
        let (unsent, forgotten) = self.unsent();
        if unsent == 0 && forgotten == 0 {
            self.held = VecDeque::new();
            return;
        }
        self.held.extend(std::iter::repeat_n(None, facts));
        self.held.extend(blocks.iter().copied().map(Some));
        let sent = self.held.len().saturating_sub(unsent.saturating_add(forgotten));
        self.held.drain(..sent);
        for _ in 0..forgotten {
            let Some(block) = self.held.pop_front() else { break };
            // The sync block of these blocks is gone, too.
            self.unsynced = true;
            if let Some(block) = block {
                let lane = self.lanes.entry(key(block.record)).or_default();
                counters::take_back(block.record, lane.forget(&block));
                self.given = self.given.saturating_sub(block.new.into());
            }
        }
    }

    /// Returns the records of the lanes whose blocks the sink has not sent yet.
    pub(super) fn held(&self) -> impl Iterator<Item = &'static LaneRecord> {
        self.held.iter().flatten().map(|block| block.record)
    }

    /// Returns true if the sink did not take the last write.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing
    }

    /// Returns the number of events that the sink was given and did not take, or could not deliver.
    pub(crate) fn lost(&self) -> u64 {
        self.sink.lost() + self.past_lost + self.lanes.values().map(|lane| lane.lost).sum::<u64>()
    }

    /// Returns the number of events that the sink has taken and not lost. Each counts once.
    pub(crate) fn written(&self) -> u64 {
        self.given.saturating_sub(self.sink.lost())
    }

    /// Returns true if the sink is a client's, which nothing waits for.
    pub(crate) fn is_client(&self) -> bool {
        self.is_client
    }

    /// Returns the counters of the sink.
    pub(crate) fn counters(&self) -> SinkCounters {
        SinkCounters {
            name: self.sink.name(),
            written: self.written(),
            lost: self.lost(),
            failure: self.error.as_ref().map(io::Error::to_string),
            notice: self.error.as_ref().map(sys::tag_of),
        }
    }

    /// Returns the first error, if there was one.
    pub(crate) fn result(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

fn key(record: &LaneRecord) -> usize {
    core::ptr::from_ref(record).addr()
}

#[cfg(test)]
mod tests;
