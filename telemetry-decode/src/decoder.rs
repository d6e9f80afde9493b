//! Parts of blocks to events: the same for every order of reading.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use telemetry_format::{BlockType, Cursor, Header, Loss, Malformed, flags};

use crate::batch::Batch;
use crate::blocks::Block;
use crate::completeness::{Bytes, Completeness, Damage, MAX_LISTED, Reason, Undecodable};
use crate::event::Event;
use crate::filter::Filter;
use crate::known::Known;
use crate::lane::{Lane, LaneKey, Open, Stretch};
use crate::plan::EventPlan;
use crate::registries::{KnownRegistry, matches_any};
use crate::session::Session;

/// Most slots of all lanes together. A stream that would need more does not come from a program.
const MAX_SLOTS: usize = 16 << 20;

/// What is known of a stream while it is read, and what was read so far.
pub(crate) struct Decoder {
    pub(crate) known: Known,
    pub(crate) filter: Filter,
    pub(crate) lanes: Vec<Lane>,
    lane_ids: HashMap<LaneKey, u32>,
    /// Slots of all lanes.
    slots: usize,
    pub(crate) report: Report,
}

/// What was found, apart from lanes.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) bytes: Bytes,
    pub(crate) blocks: u64,
    pub(crate) events: u64,
    damage: Vec<Damage>,
    damaged_ranges: u64,
    undecodable: Vec<Undecodable>,
    undecodable_parts: u64,
    unknown_blocks: BTreeMap<u8, u64>,
}

/// Whether the events of a part are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    No,
    /// They are not, but later parts of the block may be, and continue from them.
    Silently,
    Yes,
}

/// A part of a block while its events are read.
pub(crate) struct Part {
    pub(crate) lane: u32,
    pub(crate) session: u32,
    registry: u32,
    thread: u32,
    kind: u8,
    last: bool,
    seq: u32,
    offset: u32,
    /// Where the payload stands in the input, and how long it is.
    at: u64,
    len: usize,
    stretch: Stretch,
    /// Numbers (in the lane) of the events to give out.
    give: Range<u64>,
    /// Number of the next event.
    next: u64,
    /// Number behind that of the last.
    end: u64,
    /// Where in the payload it begins.
    pos: usize,
    /// Clock reading of the event read last.
    pub(crate) time: u64,
    filtered: u64,
    /// Why no more can be read of it.
    wrong: Option<Reason>,
}

impl Decoder {
    pub(crate) fn new(known: Known, filter: Filter) -> Decoder {
        Decoder {
            known,
            filter,
            lanes: Vec::new(),
            lane_ids: HashMap::new(),
            slots: 0,
            report: Report::default(),
        }
    }

    /// Takes a block that is not of events.
    pub(crate) fn take(&mut self, block: &Block<'_>) {
        let Block { at, header, payload } = block;
        self.report.blocks += 1;
        match header.block_type {
            BlockType::Session => self.known.session_block(*at, header, payload),
            BlockType::Registry => self.known.registry_block(*at, header, payload, &self.filter),
            BlockType::Thread => self.known.thread_block(*at, header, payload),
            BlockType::Events => {}
            BlockType::Sync => {
                self.known.session(header);
                if header.lost != Loss::default() {
                    // Losses of no lane in particular.
                    let lane = self.lane(header);
                    self.lanes[lane as usize].note(header);
                }
            }
            BlockType::Unknown(code) => {
                *self.report.unknown_blocks.entry(code).or_default() += 1;
                self.report.bytes.unknown += header.block_len();
                return;
            }
        }
        self.report.bytes.read += header.block_len();
    }

    /// Takes bytes that are no block.
    pub(crate) fn take_damage(&mut self, damage: Damage, header: Option<&Header>) {
        if let Some(header) = header.filter(|header| header.block_type == BlockType::Events) {
            let lane = self.lane(header);
            self.lanes[lane as usize].note(header);
            let stretch = Stretch::from(header);
            self.lanes[lane as usize].give_up(stretch.range(), &stretch);
        }
        let Report { bytes, damage: list, damaged_ranges, .. } = &mut self.report;
        bytes.damaged += damage.range.end - damage.range.start;
        *damaged_ranges += 1;
        if list.len() < MAX_LISTED {
            list.push(damage);
        }
    }

    /// Takes an events block that was whole by its header, and is damaged.
    pub(crate) fn take_damaged_block(&mut self, damage: Damage, lane: u32, stretch: &Stretch) {
        self.lanes[lane as usize].give_up(stretch.range(), stretch);
        self.take_damage(damage, None);
    }

    /// The lane of a block.
    pub(crate) fn lane(&mut self, header: &Header) -> u32 {
        let key = LaneKey {
            session: self.known.session(header) as u32,
            thread: header.thread,
            registry: header.registry,
            kind: header.kind,
        };
        *self.lane_ids.entry(key).or_insert_with(|| {
            self.lanes.push(Lane::new(key));
            self.lanes.len() as u32 - 1
        })
    }

    /// Whether the filter wants events of a part; exactly so but for single events.
    pub(crate) fn want(&self, lane: u32, stretch: &Stretch, last: bool) -> Want {
        let LaneKey { session, thread, registry, kind } = self.lanes[lane as usize].key;
        let session = &self.known.sessions[session as usize];
        let Filter { threads, sessions, registries, from_ns, until_ns, .. } = &self.filter;
        let wanted = matches_any(threads, thread.into(), session.thread_name(thread).unwrap_or_default())
            && matches_any(sessions, session.id, session.facts.text("program").unwrap_or_default())
            && match self.known.registry(registry) {
                Some(index) => self.known.registries[index].wanted.kind(kind),
                None => matches_any(registries, registry, ""),
            };
        if !wanted || until_ns.is_some_and(|until| session.clock.ns(stretch.base_ticks) >= until) {
            return Want::No;
        }
        match from_ns.is_some_and(|from| session.clock.ns(stretch.end_ticks) < from) {
            true if last => Want::No,
            true => Want::Silently,
            false => Want::Yes,
        }
    }

    /// Accounts for a block that the filter does not want.
    pub(crate) fn leave_out(&mut self, lane: u32, stretch: &Stretch, len: u64) {
        self.report.blocks += 1;
        self.report.bytes.filtered += len;
        self.lanes[lane as usize].leave_out(stretch);
    }

    /// Counts a block as read by its header alone.
    pub(crate) fn count_whole(&mut self, lane: u32, stretch: &Stretch, len: u64) {
        self.report.blocks += 1;
        let lane = &mut self.lanes[lane as usize];
        match lane.news(stretch) {
            Some(news) => {
                lane.read += news.end - news.start;
                self.report.events += news.end - news.start;
                lane.cover(news, stretch);
                self.report.bytes.read += len;
            }
            None if stretch.events == 0 => self.report.bytes.read += len,
            None => self.report.bytes.repeated += len,
        }
    }

    /// Begins to read a part at `at`. None if there is nothing to read; it is accounted for then.
    pub(crate) fn open(&mut self, at: u64, header: &Header, want: Want) -> Option<Part> {
        let id = self.lane(header);
        let lane = &mut self.lanes[id as usize];
        lane.note(header);
        let (stretch, len) = (Stretch::from(header), header.block_len());
        if want == Want::No {
            self.leave_out(id, &stretch, len);
            return None;
        }
        self.report.blocks += 1;
        if header.events == 0 && header.payload_len == 0 {
            // Tells losses only.
            self.report.bytes.read += len;
            return None;
        }
        let news = lane.news(&stretch);
        let repeats = header.events > 0 && news.is_none();
        let last = header.flags & flags::LAST != 0;
        if repeats && (last || lane.is_past(header)) {
            self.report.bytes.repeated += len;
            return None;
        }
        let (registry, time) = match self.begin(id, header) {
            Ok(begun) => begun,
            Err(_) if repeats => {
                self.report.bytes.repeated += len;
                return None;
            }
            Err(reason) => {
                self.refuse(id, at, header, reason);
                return None;
            }
        };
        let bytes = &mut self.report.bytes;
        *if repeats { &mut bytes.repeated } else { &mut bytes.read } += len;
        let lane = &mut self.lanes[id as usize];
        if want == Want::Silently {
            lane.leave_out(&stretch);
        }
        Some(Part {
            lane: id,
            session: lane.key.session,
            registry,
            thread: header.thread,
            kind: header.kind,
            last,
            seq: header.seq,
            offset: header.offset,
            at: at + u64::from(header.header_len),
            len: header.payload_len as usize,
            stretch,
            // A part that repeats others, or is not wanted, is read for the sake of the next one.
            give: news.filter(|_| want == Want::Yes).unwrap_or(stretch.before..stretch.before),
            next: stretch.before,
            end: stretch.range().end,
            pos: 0,
            time,
            filtered: 0,
            wrong: None,
        })
    }

    /// Accounts for a part that cannot be read.
    fn refuse(&mut self, lane: u32, at: u64, header: &Header, reason: Reason) {
        let lane = &mut self.lanes[lane as usize];
        let stretch = Stretch::from(header);
        lane.open = None;
        lane.give_up(stretch.range(), &stretch);
        self.report.bytes.undecodable += header.block_len();
        let range = at + u64::from(header.header_len)..at + header.block_len();
        self.report.undecodable(Undecodable { range, events: header.events, reason });
    }

    /// Looks up what a part needs: its registry's index, and the time that its first event counts from.
    fn begin(&mut self, lane: u32, header: &Header) -> Result<(u32, u64), Reason> {
        if header.codec != 0 {
            return Err(Reason::Codec(header.codec));
        }
        let registry = self.known.registry(header.registry).ok_or(Reason::NoRegistry(header.registry))?;
        let kind = self.known.registries[registry].plan.kind(header.kind);
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

    /// Reads the next events of a part that are to be given out, up to a batch full. None are left of
    /// the part if none are read; it is then closed.
    pub(crate) fn read(&mut self, part: &mut Part, payload: &[u8], batch: &mut Batch) {
        batch.clear(self.known.registries[part.registry as usize].plan.max_params());
        self.read_into(part, payload, batch);
        if batch.is_empty() {
            self.close(part);
        }
    }

    /// Reads all events of a part, and closes it.
    pub(crate) fn read_all<'p>(&mut self, part: &mut Part, payload: &'p [u8], taker: &mut impl Take<'p>) {
        self.read_into(part, payload, taker);
        self.close(part);
    }

    /// Reads events of a part until the taker has enough, or the part has no more.
    #[inline(always)]
    fn read_into<'p>(&mut self, part: &mut Part, payload: &'p [u8], taker: &mut impl Take<'p>) {
        let registry = &self.known.registries[part.registry as usize];
        let session = &self.known.sessions[part.session as usize];
        let lane = &mut self.lanes[part.lane as usize];
        let window = self.filter.from_ns.is_some() || self.filter.until_ns.is_some();
        let wants_all = !window && registry.wanted.events.is_none();
        let mut reading = Reading {
            payload,
            cursor: Cursor::new(payload.get(part.pos..).unwrap_or_default()),
            time: part.time,
            slots: &mut lane.slots,
        };
        let mut number = part.next;
        while !taker.is_full() {
            if number == part.end {
                part.wrong = (!reading.cursor.is_empty()).then_some(Reason::Trailing);
                break;
            }
            let before = reading.cursor;
            let event = match reading.event(registry, part.kind, taker) {
                Ok(event) => event,
                Err(reason) => {
                    reading.cursor = before;
                    part.wrong = Some(reason);
                    break;
                }
            };
            number += 1;
            if !part.give.contains(&(number - 1)) {
                continue;
            }
            let passes = wants_all
                || registry.wanted.event(event.index) && {
                    let ns = session.clock.ns(reading.time);
                    self.filter.from_ns.is_none_or(|from| from <= ns)
                        && self.filter.until_ns.is_none_or(|until| ns < until)
                };
            if passes {
                taker.keep(event, reading.time, session);
            } else {
                part.filtered += 1;
            }
        }
        part.next = number;
        part.time = reading.time;
        part.pos = payload.len() - reading.cursor.rest().len();
    }

    /// The registry of a part, and its thread's number.
    pub(crate) fn origin(&self, part: &Part) -> (&KnownRegistry, u32) {
        (&self.known.registries[part.registry as usize], part.thread)
    }

    /// An event of a batch of a part.
    #[inline(always)]
    pub(crate) fn event<'a>(&'a self, part: &Part, payload: &'a [u8], batch: &'a Batch) -> Option<Event<'a>> {
        let session = self.known.sessions.get(part.session as usize)?;
        let registry = self.known.registries.get(part.registry as usize)?;
        let (head, raw) = batch.current()?;
        Some(Event {
            session,
            thread: part.thread,
            ticks: head.time,
            time_ns: session.clock.ns(head.time),
            registry,
            schema: registry.registry.events.get(head.event as usize)?,
            index: head.event as usize,
            payload,
            raw,
        })
    }

    /// Ends a part: at its end, or where something is wrong.
    fn close(&mut self, part: &Part) {
        let lane = &mut self.lanes[part.lane as usize];
        let goes_on = !part.last && part.wrong.is_none();
        lane.open = goes_on.then_some(Open {
            seq: part.seq,
            offset: part.offset.saturating_add(part.len as u32),
            time: part.time,
        });
        let covered = part.give.start..part.give.end.min(part.next).max(part.give.start);
        lane.filtered += part.filtered;
        lane.read += covered.end - covered.start - part.filtered;
        lane.cover(covered, &part.stretch);
        let Some(reason) = part.wrong else { return };
        let rest = part.next..part.end;
        lane.give_up(rest.clone(), &part.stretch);
        self.report.undecodable(Undecodable {
            range: part.at + part.pos as u64..part.at + part.len as u64,
            events: (rest.end - rest.start) as u32,
            reason,
        });
    }

    /// What was read so far.
    pub(crate) fn completeness(&self) -> Completeness {
        let report = &self.report;
        let lanes = self.lanes.iter().map(|lane| {
            let session = &self.known.sessions[lane.key.session as usize];
            let registry = self.known.registry(lane.key.registry).map(|index| &self.known.registries[index]);
            let kind =
                registry.and_then(|registry| registry.kinds.iter().find(|kind| kind.bit == lane.key.kind));
            lane.report(session.id, kind.map(|kind| kind.name.as_str()), session.clock.start_ticks())
        });
        Completeness {
            bytes: report.bytes,
            blocks: report.blocks,
            events: report.events,
            lanes: lanes.collect(),
            damage: report.damage.clone(),
            damaged_ranges: report.damaged_ranges,
            undecodable: report.undecodable.clone(),
            undecodable_parts: report.undecodable_parts,
            unknown_blocks: report.unknown_blocks.clone(),
            sessions: self.known.sessions.iter().map(|session| (session.id, session.ended)).collect(),
            unreadable: self.known.unreadable.clone(),
            unmatched: self.unmatched(),
        }
    }

    /// Names of the filter that nothing in the stream has.
    fn unmatched(&self) -> Vec<String> {
        let Known { sessions, registries, .. } = &self.known;
        let kinds = || registries.iter().flat_map(|registry| &registry.kinds);
        let events = || registries.iter().flat_map(|registry| &registry.events);
        let threads = || {
            let named = sessions.iter().flat_map(|session| &session.threads);
            let named = named.map(|(number, facts)| (*number, facts.text("name").unwrap_or_default()));
            named.chain(self.lanes.iter().map(|lane| (lane.key.thread, "")))
        };
        let filter = &self.filter;
        let mut unmatched = Vec::new();
        let mut check = |what: &str, names: &[crate::Name], has: &dyn Fn(&crate::Name) -> bool| {
            let missing = names.iter().filter(|name| !has(name));
            unmatched.extend(missing.map(|name| format!("{what} `{name}`")));
        };
        check("kind", &filter.kinds, &|name| kinds().any(|kind| name.is(kind.bit.into(), &kind.name)));
        check("event", &filter.events, &|name| events().any(|event| name.is(event.code.into(), &event.name)));
        check("thread", &filter.threads, &|name| {
            threads().any(|(number, text)| name.is(number.into(), text))
        });
        check("session", &filter.sessions, &|name| {
            sessions
                .iter()
                .any(|session| name.is(session.id, session.facts.text("program").unwrap_or_default()))
        });
        check("registry", &filter.registries, &|name| {
            registries.iter().any(|registry| name.is(registry.fingerprint, &registry.name))
        });
        unmatched
    }
}

/// Who takes the events of a part.
pub(crate) trait Take<'p> {
    /// True if it takes no more for now.
    fn is_full(&self) -> bool;
    /// Reads the parameters of an event.
    fn read(&mut self, event: &EventPlan, reading: &mut Reading<'p, '_>) -> Result<(), Malformed>;
    /// Takes the event read last. Not called if nobody wants it.
    fn keep(&mut self, event: &EventPlan, time: u64, session: &Session);
}

/// Where the events of a part are read.
pub(crate) struct Reading<'p, 's> {
    pub(crate) payload: &'p [u8],
    pub(crate) cursor: Cursor<'p>,
    time: u64,
    /// Of the lane.
    pub(crate) slots: &'s mut [u64],
}

impl<'p> Reading<'p, '_> {
    /// Reads one event.
    #[inline(always)]
    fn event<'r>(
        &mut self,
        registry: &'r KnownRegistry,
        kind: u8,
        taker: &mut impl Take<'p>,
    ) -> Result<&'r EventPlan, Reason> {
        let (code, ticks) = (self.cursor.unsigned()?, self.cursor.unsigned()?);
        let event = registry.plan.event(code, kind).ok_or(Reason::UnknownEvent(code))?;
        taker.read(event, self)?;
        self.time = self.time.wrapping_add(ticks);
        Ok(event)
    }
}

impl Report {
    fn undecodable(&mut self, part: Undecodable) {
        self.undecodable_parts += 1;
        if self.undecodable.len() < MAX_LISTED {
            self.undecodable.push(part);
        }
    }
}
