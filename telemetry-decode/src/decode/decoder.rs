//! The state of a stream during reading, and the decision which parts of its blocks are read.

use std::collections::HashMap;
use std::ops::Range;

use telemetry_format::{BlockType, Header, Loss, flags};

use crate::bytes::blocks::Block;
use crate::bytes::compression::unpack;
use crate::decode::part::{Part, PartState};
use crate::decode::report::Report;
use crate::decode::state::StreamState;
use crate::lanes::lane::{EventRange, Lane, LaneKey};
use crate::lanes::position::Earlier;
use crate::registry::filter::Filter;
use crate::registry::known_registry::matches_any;
use crate::report::completeness::{Damage, Reason, Undecodable};

/// The limit of delta slots in all lanes. Streams of programs need fewer.
const MAX_SLOTS: usize = 4 << 20;

/// The limits of lanes and sessions of one input, because each takes some memory. 100,000 threads
/// may have two kinds each. Blocks of further lanes are skipped.
const MAX_LANES: usize = 200_000;
const MAX_SESSIONS: usize = 50_000;

/// The limit of lanes and of entries in their lists of gaps and losses, together. Beyond it, blocks
/// behind further gaps are skipped, and losses are listed with wider times.
const MAX_ENTRIES: usize = MAX_LANES + (1 << 16);

/// The limit of lanes for forks, each of which has them all.
const MAX_FORKED_LANES: usize = 10_000;

/// The state of a stream during reading, and the results so far.
pub(crate) struct Decoder {
    pub(crate) state: StreamState,
    pub(crate) filter: Filter,
    pub(crate) lanes: Vec<Lane>,
    lane_ids: HashMap<LaneKey, u32>,
    /// Number of entries in the lists of all lanes.
    entries: usize,
    /// The positions of earlier readers in lanes that are not found yet.
    pub(crate) earlier: Earlier,
    /// Number of delta slots in all lanes.
    pub(crate) slots: usize,
    /// A copy of the current lane's slots, from before reading.
    pub(crate) slots_before: Vec<u64>,
    pub(crate) report: Report,
    /// The ends of all parts so far, if another decoder needs them.
    pub(super) ends: Option<Vec<PartState>>,
}

/// Whether the events of a part are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    No,
    /// They are not selected, but later parts of the block may be, and continue from them.
    Silently,
    Yes,
}

/// The range of a block in the input, and the error in its payload, if there is one.
pub(crate) struct Place {
    pub(crate) range: Range<u64>,
    pub(crate) wrong: Option<Reason>,
}

impl Place {
    /// Returns the range of the payload.
    fn payload(&self, header: &Header) -> Range<u64> {
        self.range.start + u64::from(header.header_len)..self.range.end
    }
}

impl Decoder {
    pub(crate) fn new(state: StreamState, filter: Filter) -> Decoder {
        Decoder {
            state,
            filter,
            lanes: Vec::new(),
            lane_ids: HashMap::new(),
            entries: 0,
            earlier: Earlier::default(),
            slots: 0,
            slots_before: Vec::new(),
            report: Report::default(),
            ends: None,
        }
    }

    /// Makes a decoder for some blocks of the same stream, with all sessions and registries, and
    /// the same lanes without accounts.
    pub(crate) fn fork(&self) -> Decoder {
        let mut fork = Decoder::new(self.state.fork(), self.filter.clone());
        fork.lanes = self.lanes.iter().map(|lane| Lane::new(lane.key)).collect();
        fork.lane_ids = self.lane_ids.clone();
        fork.ends = Some(Vec::new());
        fork
    }

    /// Begins the accounts of a fork again.
    pub(crate) fn renew(&mut self) {
        self.lanes.iter_mut().for_each(|lane| *lane = Lane::new(lane.key));
        (self.entries, self.slots, self.report) = (0, 0, Report::default());
        self.ends = Some(Vec::new());
    }

    /// Begins the account of one lane of a fork again.
    pub(crate) fn renew_lane(&mut self, lane: u32) {
        let lane = &mut self.lanes[lane as usize];
        self.slots -= lane.slots.len();
        self.entries -= lane.entries();
        *lane = Lane::new(lane.key);
    }

    /// Takes the ends of the parts that a fork has read.
    pub(crate) fn take_ends(&mut self) -> Vec<PartState> {
        self.ends.take().unwrap_or_default()
    }

    /// Returns true if forks can decode blocks in any order: no earlier reader has read events, and
    /// no limit is near.
    pub(crate) fn can_be_forked(&self) -> bool {
        self.is_far_from_limits() && self.lanes.iter().all(|lane| lane.covered.len() == 0)
    }

    /// Returns true if no limit can be reached by reading all blocks once. So the blocks can be
    /// read in any order.
    fn is_far_from_limits(&self) -> bool {
        let kinds = self.state.registries.iter().flat_map(|known| known.plan.slots());
        let most_slots = kinds.max().unwrap_or(0) as usize;
        self.lanes.len() <= MAX_FORKED_LANES
            && self.lanes.len().saturating_mul(most_slots) <= MAX_SLOTS
            && 3 * self.entries + self.lanes.len() < MAX_ENTRIES
    }

    /// Returns true if the state has room for a block's session and lane. Otherwise counts the
    /// block as undecodable.
    pub(crate) fn admits(&mut self, at: u64, header: &Header) -> bool {
        let reason = match self.has_room(header) {
            false => Reason::TooManyLanes,
            true if self.lists_gap(header) => return true,
            true => Reason::TooManyGaps,
        };
        self.report.blocks += 1;
        self.skip(at, header.block_len(), header.events, reason);
        false
    }

    /// Counts a block as undecodable.
    fn skip(&mut self, at: u64, len: u64, events: u32, reason: Reason) {
        self.report.bytes.undecodable += len;
        self.report.undecodable(Undecodable { range: at..at + len, events, reason });
    }

    /// Returns true if there is room for the gap before a block. Otherwise counts its events as
    /// unreadable.
    fn lists_gap(&mut self, header: &Header) -> bool {
        if self.has_entries() || header.block_type != BlockType::Events || header.events == 0 {
            return true;
        }
        let (lane, event_range) = (self.lane(header), EventRange::from(header));
        if !self.lanes[lane as usize].has_new_gap(header) {
            return true;
        }
        self.change(lane, |lane, has_room| {
            lane.note_losses(header.before, header, has_room);
            lane.note_end(header);
            lane.mark_unreadable(event_range.range(), &event_range, has_room);
        });
        false
    }

    fn has_entries(&self) -> bool {
        self.entries + self.lanes.len() < MAX_ENTRIES
    }

    /// Changes a lane, and counts the entries of its lists. Tells `change` whether there is room
    /// for more.
    pub(crate) fn change<R>(&mut self, lane: u32, change: impl FnOnce(&mut Lane, bool) -> R) -> R {
        let has_room = self.has_entries();
        let lane = &mut self.lanes[lane as usize];
        let before = lane.entries();
        let result = change(lane, has_room);
        self.entries = self.entries - before + lane.entries();
        result
    }

    /// Notes what the header of a block says about its lane.
    pub(crate) fn note(&mut self, lane: u32, header: &Header) {
        self.change(lane, |lane, has_room| lane.note(header, has_room));
    }

    pub(crate) fn has_room(&mut self, header: &Header) -> bool {
        if self.state.known_session(header.session).is_none() && self.state.sessions.len() >= MAX_SESSIONS {
            return false;
        }
        if header.block_type != BlockType::Events || self.lanes.len() < MAX_LANES {
            return true;
        }
        let key = self.lane_key(header);
        self.lane_ids.contains_key(&key)
    }

    fn lane_key(&mut self, header: &Header) -> LaneKey {
        LaneKey {
            session: self.state.session(header) as u32,
            thread: header.thread,
            registry: header.registry,
            kind: header.kind,
        }
    }

    /// Takes a block of another type than events.
    pub(crate) fn take(&mut self, block: &Block<'_>) {
        let Block { at, header, payload, .. } = block;
        if !self.admits(*at, header) {
            return;
        }
        self.report.blocks += 1;
        let len = header.block_len();
        let (header, payload) = match unpack(header, payload) {
            Ok(unpacked) => unpacked,
            Err(reason) => {
                self.state.not_unpacked(*at, header, &reason);
                self.report.bytes.read += len;
                return;
            }
        };
        let (header, payload) = (&header, &payload);
        match header.block_type {
            BlockType::Session => self.state.session_block(*at, header, payload),
            BlockType::Registry => self.state.registry_block(*at, header, payload, &self.filter),
            BlockType::Thread => self.state.thread_block(*at, header, payload),
            BlockType::Events => {}
            BlockType::Sync => {
                self.state.sync_block(header);
                if header.lost != Loss::default() {
                    // Losses that belong to no specific lane.
                    let lane = self.lane(header);
                    self.change(lane, |lane, has_room| lane.note_losses(0, header, has_room));
                }
            }
            BlockType::Unknown(code) => {
                self.report.unknown(code, len);
                return;
            }
        }
        self.report.bytes.read += len;
    }

    /// Takes bytes that are not a block, with the header at their start if it is valid.
    pub(crate) fn take_damage(&mut self, damage: Damage, header: Option<&Header>) {
        self.report.damage(damage);
        let Some(header) = header.filter(|header| self.has_room(header)) else { return };
        // The time of a session block is known, although its facts are not.
        self.state.session(header);
        if header.block_type == BlockType::Events {
            let lane = self.lane(header);
            let event_range = EventRange::from(header);
            self.note(lane, header);
            self.change(lane, |lane, has_room| {
                lane.mark_unreadable(event_range.range(), &event_range, has_room);
            });
        }
    }

    /// Takes a damaged events block whose header was valid.
    pub(crate) fn take_damaged_block(&mut self, damage: Damage, lane: u32, event_range: &EventRange) {
        self.change(lane, |lane, has_room| {
            lane.mark_unreadable(event_range.range(), event_range, has_room);
        });
        self.report.damage(damage);
    }

    /// Returns the lane of a block that [`Decoder::admits`] has room for.
    pub(crate) fn lane(&mut self, header: &Header) -> u32 {
        let key = self.lane_key(header);
        *self.lane_ids.entry(key).or_insert_with(|| {
            let mut lane = Lane::new(key);
            self.earlier.restore(&mut lane, header.session);
            self.entries += lane.entries();
            self.lanes.push(lane);
            self.lanes.len() as u32 - 1
        })
    }

    /// Returns whether the filter selects events of a part. Single events may still be filtered.
    pub(crate) fn want(&self, lane: u32, event_range: &EventRange, last: bool) -> Want {
        let LaneKey { session, thread, registry, kind } = self.lanes[lane as usize].key;
        let session = &self.state.sessions[session as usize];
        let Filter { threads, sessions, registries, from_ns, until_ns, .. } = &self.filter;
        let wanted = matches_any(threads, thread.into(), session.thread_name(thread).unwrap_or_default())
            && matches_any(sessions, session.id, session.facts.text("program").unwrap_or_default())
            && match self.state.registry(registry) {
                Some(index) => self.state.registries[index].wanted.kind(kind),
                None => matches_any(registries, registry, ""),
            };
        if !wanted || until_ns.is_some_and(|until| session.clock.ns(event_range.base_ticks) >= until) {
            return Want::No;
        }
        let is_early = from_ns.is_some_and(|from| session.clock.ns(event_range.end_ticks) < from);
        match is_early || !self.may_match(lane, event_range) {
            true if last => Want::No,
            true => Want::Silently,
            false => Want::Yes,
        }
    }

    /// Returns true if events of a part may match the condition of the filter.
    fn may_match(&self, lane: u32, event_range: &EventRange) -> bool {
        let LaneKey { session, thread, registry, kind } = self.lanes[lane as usize].key;
        let known = self.state.registry(registry).map(|index| &self.state.registries[index]);
        let Some((known, test)) = known.and_then(|known| Some((known, known.test()?))) else { return true };
        let session = &self.state.sessions[session as usize];
        let lane = test.lane(session, thread);
        let times = session.clock.ns(event_range.base_ticks)..=session.clock.ns(event_range.end_ticks);
        let events = known.registry.events.iter().enumerate();
        events
            .filter(|(_, event)| known.registry.kind_of(event).bit == kind)
            .any(|(index, _)| known.wanted.event(index as u32) && test.may_match_in(index, lane, &times))
    }

    /// Counts a block as filtered.
    pub(crate) fn leave_out(&mut self, lane: u32, event_range: &EventRange, len: u64) {
        self.report.blocks += 1;
        self.report.bytes.filtered += len;
        self.change(lane, |lane, _| lane.leave_out(event_range));
    }

    /// Counts a block as read by its header alone.
    pub(crate) fn count_whole(&mut self, at: u64, lane: u32, event_range: &EventRange, len: u64) {
        self.report.blocks += 1;
        match self.lanes[lane as usize].news(event_range) {
            Some(news) if !self.has_entries() && self.lanes[lane as usize].is_apart(&news) => {
                self.skip(at, len, event_range.events, Reason::TooManyGaps);
            }
            Some(news) => {
                self.report.events += news.end - news.start;
                self.change(lane, |lane, _| {
                    lane.read += news.end - news.start;
                    lane.cover(news, event_range);
                });
                self.report.bytes.read += len;
            }
            None if event_range.events == 0 => self.report.bytes.read += len,
            None => self.report.bytes.repeated += len,
        }
    }

    /// Opens a part for reading. Returns `None` if there is nothing to read, and counts the part
    /// then.
    pub(crate) fn open(&mut self, place: Place, header: &Header, want: Want) -> Option<Part> {
        let id = self.lane(header);
        self.note(id, header);
        let (event_range, len) = (EventRange::there(header), place.range.end - place.range.start);
        if want == Want::No {
            self.leave_out(id, &event_range, len);
            return None;
        }
        self.report.blocks += 1;
        if header.events == 0 && header.payload_len == 0 || header.is_withheld() {
            // A block that only states losses, or events that are elsewhere.
            self.report.bytes.read += len;
            return None;
        }
        let lane = &self.lanes[id as usize];
        let news = lane.news(&event_range);
        let repeats = header.events > 0 && news.is_none();
        let last = header.flags & flags::LAST != 0;
        if repeats && (last || lane.is_past(header)) {
            self.report.bytes.repeated += len;
            return None;
        }
        let is_apart = news.as_ref().is_some_and(|news| lane.is_apart(news));
        let begun = match place.wrong {
            Some(reason) => Err(reason),
            None if is_apart && !self.has_entries() => Err(Reason::TooManyGaps),
            None => self.begin(id, header),
        };
        let (registry, time) = match begun {
            Ok(begun) => begun,
            Err(_) if repeats => {
                self.report.bytes.repeated += len;
                return None;
            }
            Err(reason) => {
                self.refuse(id, place, header, reason);
                return None;
            }
        };
        let bytes = &mut self.report.bytes;
        *if repeats { &mut bytes.repeated } else { &mut bytes.read } += len;
        if want == Want::Silently {
            self.change(id, |lane, _| lane.leave_out(&event_range));
        }
        let lane = &self.lanes[id as usize];
        let part = Part::new(place.payload(header), header, id, lane.key.session, registry, time);
        Some(match news {
            Some(news) if want == Want::Yes => part.giving(news),
            // The part repeats others or is filtered. It is read only because the next part
            // continues from it.
            _ => part,
        })
    }

    /// Counts a part as unreadable.
    fn refuse(&mut self, lane: u32, place: Place, header: &Header, reason: Reason) {
        let event_range = EventRange::from(header);
        self.change(lane, |lane, has_room| {
            lane.open = None;
            lane.mark_unreadable(event_range.range(), &event_range, has_room);
        });
        self.report.bytes.undecodable += place.range.end - place.range.start;
        let range = place.payload(header);
        self.report.undecodable(Undecodable { range, events: header.events, reason });
    }

    /// Prepares the lane for a part. Returns the index of its registry, and the base of its first
    /// event's time.
    fn begin(&mut self, lane: u32, header: &Header) -> Result<(u32, u64), Reason> {
        let registry = self.state.registry(header.registry).ok_or(Reason::NoRegistry(header.registry))?;
        let kind = self.state.registries[registry].plan.kind(header.kind);
        let slots = kind.ok_or(Reason::NoKind(header.kind))?.slots as usize;
        let lane = &mut self.lanes[lane as usize];
        let time = if header.offset == 0 {
            if self.slots - lane.slots.len() + slots > MAX_SLOTS {
                return Err(Reason::TooManyLanes);
            }
            self.slots = self.slots - lane.slots.len() + slots;
            lane.slots.clear();
            lane.slots.resize(slots, 0);
            header.base_ticks
        } else {
            let open = lane.open.filter(|open| (open.seq, open.offset) == (header.seq, header.offset));
            open.ok_or(Reason::NoPredecessor)?.time
        };
        Ok((registry as u32, time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::marks;

    /// If no more gaps can be listed, blocks behind further ones are skipped.
    #[test]
    fn gaps_have_a_limit() {
        let mut decoder = Decoder::new(StreamState::new(false, marks::none), Filter::default());
        let header = |before| Header { before, events: 2, ..Header::new(BlockType::Events, 1) };
        let lane = decoder.lane(&header(0));
        decoder.note(lane, &header(0));
        decoder.entries = MAX_ENTRIES;
        let admitted = [0, 2, 4, 2].map(|before| decoder.admits(0, &header(before)));
        assert_eq!(admitted, [true, true, false, true]);
        assert_eq!((decoder.report.blocks, decoder.lanes[0].recorded.0), (1, 6));
    }
}
