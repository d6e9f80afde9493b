//! The accounts of lanes: where events went that were not found.

use std::collections::{BTreeMap, HashMap};

use telemetry_format::{BlockType, Header, LaneAccount, LaneCounters, Loss, SessionTotals};

use super::recovered::RecoveredLane;
use crate::decode::decoder::Decoder;
use crate::lanes::coverage::Coverage;

/// The accounts in a memory image.
#[derive(Default)]
pub(super) struct Accounts {
    found: Vec<LaneAccount>,
    totals: BTreeMap<u64, SessionTotals>,
}

/// The accounts by lane.
pub(super) struct Ledger {
    lanes: BTreeMap<u32, Lane>,
    totals: BTreeMap<u64, SessionTotals>,
    /// A clock reading after all found events, by session.
    latest: BTreeMap<u64, u64>,
}

/// The account of one lane, and the counts of its events so far.
#[derive(Default)]
struct Lane {
    counters: LaneCounters,
    /// The found events and their number, and the number of events missing before the latest block.
    found: Coverage,
    events: u64,
    missing: u64,
    /// The number of the next block.
    seq: u32,
    /// The losses stated in the stream so far.
    stated: Loss,
}

impl Accounts {
    /// Adds a lane's account.
    pub(super) fn add(&mut self, account: LaneAccount) {
        self.found.push(account);
    }

    /// Adds a session's account.
    pub(super) fn add_totals(&mut self, totals: SessionTotals) {
        self.totals.insert(totals.session, totals);
    }

    /// Assigns the accounts to their lanes. `syncs` are the latest sync blocks of sessions.
    pub(super) fn into_ledger(self, decoder: &mut Decoder, syncs: &HashMap<u64, Header>) -> Ledger {
        let mut lanes = BTreeMap::<u32, Lane>::new();
        for LaneAccount { identity, counters } in self.found {
            let counted = self.totals.get(&identity.session).and_then(|totals| totals.counted);
            if counted == Some(identity.index) {
                continue;
            }
            let header = Header {
                registry: identity.registry,
                kind: identity.kind,
                thread: identity.thread,
                ..Header::new(BlockType::Events, identity.session)
            };
            lanes.entry(decoder.lane(&header)).or_default().counters = counters;
        }
        let latest = syncs.iter().map(|(session, sync)| (*session, sync.end_ticks)).collect();
        Ledger { lanes, totals: self.totals, latest }
    }
}

impl Ledger {
    /// Counts a block before it is written, and sets the losses and excluded events in its header
    /// to those of the account.
    pub(super) fn take(&mut self, lane: u32, header: &mut Header) {
        let latest = self.latest.entry(header.session).or_default();
        let after = header.end_ticks.saturating_add((header.events > 0).into());
        *latest = (*latest).max(header.base_ticks).max(after);
        let Some(lane) = self.lanes.get_mut(&lane) else { return };
        let range = header.before..header.before.saturating_add(header.events.into());
        // Blocks come in order. A block that comes late does not change the number of missing
        // events.
        if lane.found.last().is_none_or(|(end, _)| end <= range.start) {
            lane.missing = range.start - lane.events;
        }
        let (freed, lost) = lane.split(lane.missing);
        while let Some(gap) = lane.found.first_gap(range.clone()) {
            lane.events += if header.is_withheld() { 0 } else { gap.end - gap.start };
            lane.found.add(gap, header.base_ticks, header.end_ticks);
        }
        header.excluded = header.excluded.max(freed);
        header.lost.sink = header.lost.sink.max(lost);
        (lane.seq, lane.stated) = (header.seq.wrapping_add(1), header.lost);
    }

    /// Returns the final headers of a session's lanes.
    pub(super) fn ends(&self, session: u32, decoder: &Decoder) -> Vec<Header> {
        let ends = self.lanes.keys().filter_map(|&lane| self.end(lane, decoder).map(|end| (lane, end)));
        let of_session = ends.filter(|(lane, _)| decoder.lanes[*lane as usize].key.session == session);
        of_session.map(|(_, end)| end).collect()
    }

    /// Returns the final header of a lane. It states the events that are missing after the last
    /// block, and the losses. Nothing says when these events were, and they may be later than all
    /// that were found. So it is behind all blocks of the session, which were taken before.
    pub(super) fn end(&self, lane: u32, decoder: &Decoder) -> Option<Header> {
        let key = decoder.lanes.get(lane as usize)?.key;
        let lane = self.lanes.get(&lane)?;
        let recorded = lane.recorded();
        let (freed, lost) = lane.split(recorded - lane.events);
        let LaneCounters { pool, reentrant, truncated, .. } = lane.counters;
        let lost = Loss { pool, reentrant, sink: lost, truncated };
        let end = lane.found.last().map_or(0, |(end, _)| end);
        let session = &decoder.state.sessions[key.session as usize];
        let latest = self.latest.get(&session.id).copied().unwrap_or_default();
        let ticks = latest.max(session.clock.start_ticks());
        (recorded > end || lost != lane.stated).then(|| Header {
            registry: key.registry,
            kind: key.kind,
            thread: key.thread,
            seq: lane.seq,
            base_ticks: ticks,
            // Readers take the rate of the clock from this pair.
            base_wall: u64::try_from(session.clock.wall_ns(ticks)).unwrap_or(0),
            end_ticks: ticks,
            before: recorded,
            excluded: freed,
            lost,
            ..Header::new(BlockType::Events, session.id)
        })
    }

    /// Returns the losses of a session that belong to no lane, if its account has any.
    pub(super) fn strays(&self, session: u64) -> Option<Loss> {
        let totals = self.totals.get(&session)?;
        let lost = Loss { pool: totals.pool, reentrant: totals.reentrant, ..Loss::default() };
        (lost.events() > 0).then_some(lost)
    }

    /// Returns the sums of a session's accounts whose lanes are gone.
    pub(super) fn gone(&self, session: u64) -> LaneCounters {
        self.totals.get(&session).map(|totals| totals.gone).unwrap_or_default()
    }

    /// Returns where the events of each lane went.
    pub(super) fn lanes(&self, decoder: &Decoder) -> Vec<RecoveredLane> {
        let lanes = self.lanes.iter().filter_map(|(index, lane)| {
            let key = decoder.lanes.get(*index as usize)?.key;
            let (recorded, recovered) = (lane.recorded(), lane.events);
            let missing = recorded - recovered;
            let (freed, lost) = lane.split(missing);
            // A sink may have written to a stream that is part of the input. Then its events are
            // recovered.
            let evicted = freed.min(lane.counters.evicted);
            Some(RecoveredLane {
                session: key.session as usize,
                thread: key.thread,
                registry: key.registry,
                kind: key.kind,
                recorded,
                recovered,
                evicted,
                written: freed - evicted,
                lost,
                missing: missing - freed - lost,
                not_recorded: Loss {
                    pool: lane.counters.pool,
                    reentrant: lane.counters.reentrant,
                    truncated: lane.counters.truncated,
                    sink: 0,
                },
            })
        });
        lanes.collect()
    }
}

impl Lane {
    /// Returns the number of recorded events. The account does not include the open block.
    fn recorded(&self) -> u64 {
        self.counters.recorded.max(self.found.last().map_or(0, |(end, _)| end))
    }

    /// Splits this number of missing events into those that were written or evicted, and those that
    /// were lost. The account may have more: a block is counted before its memory is reused.
    fn split(&self, missing: u64) -> (u64, u64) {
        let LaneCounters { written, evicted, sink, .. } = self.counters;
        let freed = missing.min(written.saturating_add(evicted));
        (freed, (missing - freed).min(sink))
    }
}
