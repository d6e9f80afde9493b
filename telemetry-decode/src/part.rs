//! The events of a part, one after the other: the same for generic and generated code.

use std::ops::Range;

use telemetry_format::flags::LAST;
use telemetry_format::{Cursor, Header, Malformed};

use crate::batch::Batch;
use crate::completeness::{Reason, Undecodable};
use crate::decoder::Decoder;
use crate::event::{Event, Raw};
use crate::filter::Filter;
use crate::lane::{Open, Stretch};
use crate::plan::{EventPlan, Plan};
use crate::registries::KnownRegistry;
use crate::session::Session;

/// A part of a block while its events are read.
pub(crate) struct Part {
    /// What its block says.
    header: Header,
    pub(crate) lane: u32,
    pub(crate) session: u32,
    registry: u32,
    /// Where the payload stands in the input.
    place: Range<u64>,
    /// It stands there as it is read.
    is_plain: bool,
    /// Numbers (in the lane) of the events to give out.
    give: Range<u64>,
    /// Number of the next event.
    next: u64,
    /// Number behind that of the last.
    end: u64,
    /// Where in the payload the next event begins.
    pos: usize,
    /// Clock reading of the event read last.
    pub(crate) time: u64,
    filtered: u64,
    /// Why no more can be read of it.
    wrong: Option<Reason>,
}

impl Part {
    /// The part of a block whose payload stands at `place`, and whose first event counts from `time`.
    pub(crate) fn new(
        place: Range<u64>,
        header: &Header,
        lane: u32,
        session: u32,
        registry: u32,
        time: u64,
    ) -> Part {
        let Range { start, end } = Stretch::from(header).range();
        Part {
            header: header.clone(),
            lane,
            session,
            registry,
            is_plain: place.end - place.start == u64::from(header.payload_len),
            place,
            give: start..start,
            next: start,
            end,
            pos: 0,
            time,
            filtered: 0,
            wrong: None,
        }
    }

    /// The same, giving out the events of a range; by default none.
    pub(crate) fn giving(self, give: Range<u64>) -> Part {
        Part { give, ..self }
    }

    /// Where in the input a place of the payload is; of a compressed one where it begins.
    #[inline(always)]
    pub(crate) fn offset(&self, at: u32) -> u64 {
        if self.is_plain { self.place.start + u64::from(at) } else { self.place.start }
    }

    /// Where in the payload the next event begins.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Bit number of its kind.
    pub(crate) fn kind(&self) -> u8 {
        self.header.kind
    }

    /// True if no more can be read of it.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next == self.end || self.wrong.is_some()
    }
}

/// Some of the bytes of a payload.
#[derive(Clone, Copy)]
pub(crate) struct Window<'p> {
    pub(crate) bytes: &'p [u8],
    /// Where in the payload they begin.
    pub(crate) at: usize,
    /// They reach to its end, or there are no more.
    pub(crate) is_last: bool,
}

impl<'p> Window<'p> {
    fn all(payload: &'p [u8]) -> Window<'p> {
        Window { bytes: payload, at: 0, is_last: true }
    }
}

impl Decoder {
    /// Reads the next events of a part that are to be given out, up to a batch full. None are left of
    /// the part if none are read; it is then closed.
    pub(crate) fn read(&mut self, part: &mut Part, payload: &[u8], batch: &mut Batch) {
        batch.clear();
        self.read_into(part, Window::all(payload), u64::MAX, batch);
        if batch.is_empty() {
            self.close(part);
        }
    }

    /// The same for a part of which only some of the payload is here, at the next event and behind it. False, and
    /// nothing is read, if that is less than the next event. A batch may stay empty though more will come.
    pub(crate) fn read_window(&mut self, part: &mut Part, window: Window<'_>, batch: &mut Batch) -> bool {
        batch.clear();
        let (next, pos, time, filtered) = (part.next, part.pos, part.time, part.filtered);
        if !window.is_last {
            self.slots_before.clone_from(&self.lanes[part.lane as usize].slots);
        }
        let reached_beyond = self.read_into(part, window, u64::MAX, batch);
        if reached_beyond {
            // The event that reaches beyond has changed slots. Those before it are read once more.
            let stop = part.next;
            (part.next, part.pos, part.time, part.filtered) = (next, pos, time, filtered);
            self.lanes[part.lane as usize].slots.clone_from(&self.slots_before);
            batch.clear();
            if stop == next {
                return false;
            }
            self.read_into(part, window, stop, batch);
        }
        if batch.is_empty() && part.is_at_end() {
            self.close(part);
        }
        true
    }

    /// Reads all events of a part, and closes it.
    pub(crate) fn read_all<'p>(&mut self, part: &mut Part, payload: &'p [u8], taker: &mut impl Take<'p>) {
        self.read_into(part, Window::all(payload), u64::MAX, taker);
        self.report.events += self.close(part);
    }

    /// Reads events of a part until the taker has enough, the part has no more, or the event of a number is
    /// next. True if an event reaches beyond the window.
    #[inline(always)]
    fn read_into<'p>(
        &mut self,
        part: &mut Part,
        window: Window<'p>,
        stop: u64,
        taker: &mut impl Take<'p>,
    ) -> bool {
        let (payload, is_last) = (window.bytes, window.is_last);
        let registry = &self.known.registries[part.registry as usize];
        let session = &self.known.sessions[part.session as usize];
        let lane = &mut self.lanes[part.lane as usize];
        let mut reading = Reading {
            payload,
            cursor: Cursor::new(payload.get(part.pos - window.at..).unwrap_or_default()),
            time: part.time,
            slots: &mut lane.slots,
            plan: &registry.plan,
            kind: part.header.kind,
        };
        // Out of the part, so that they can stay in registers.
        let (give, end) = (part.give.clone(), part.end.min(stop));
        let payload_end = window.at + payload.len();
        let mut number = part.next;
        // Up to the event of number `until` all are given out, or none: what is so of each is not asked of each.
        let mut until = number;
        let mut giving =
            Giving { gives: false, all: false, filtered: 0, registry, session, filter: &self.filter };
        let mut reached_beyond = false;
        while !taker.is_full() {
            if number == until {
                if number == end {
                    let is_trailing = end == part.end && !(is_last && reading.cursor.is_empty());
                    part.wrong = is_trailing.then_some(Reason::Trailing);
                    break;
                }
                until = [give.start, give.end].into_iter().filter(|edge| *edge > number).fold(end, u64::min);
                giving.set(give.contains(&number));
            }
            let before = reading.cursor;
            let at = (payload_end - before.rest().len()) as u32;
            if let Err(reason) = reading.next(taker, at, &mut giving) {
                reading.cursor = before;
                reached_beyond = !is_last;
                part.wrong = is_last.then_some(reason);
                break;
            }
            number += 1;
        }
        part.filtered += giving.filtered;
        part.next = number;
        part.time = reading.time;
        part.pos = payload_end - reading.cursor.rest().len();
        reached_beyond
    }

    /// The registry of a part, and its thread's number.
    pub(crate) fn origin(&self, part: &Part) -> (&KnownRegistry, u32) {
        (&self.known.registries[part.registry as usize], part.header.thread)
    }

    /// An event of a batch of a part.
    #[inline(always)]
    pub(crate) fn event<'a>(&'a self, part: &Part, payload: &'a [u8], batch: &'a Batch) -> Option<Event<'a>> {
        let session = self.known.sessions.get(part.session as usize)?;
        let registry = self.known.registries.get(part.registry as usize)?;
        let (head, raw) = batch.current()?;
        Some(Event {
            session,
            thread: part.header.thread,
            ticks: head.time,
            time_ns: session.clock.ns(head.time),
            registry,
            schema: registry.registry.events.get(head.event as usize)?,
            index: head.event as usize,
            packed_len: head.len,
            offset: part.offset(head.at),
            payload,
            raw,
        })
    }

    /// Ends a part before its next event.
    pub(crate) fn give_up(&mut self, part: &mut Part, reason: Reason) {
        part.wrong = Some(reason);
        self.close(part);
    }

    /// Ends a part: at its end, or where something is wrong. The number of its events that were given out.
    fn close(&mut self, part: &Part) -> u64 {
        let Header { seq, offset, payload_len, flags, .. } = part.header;
        let stretch = Stretch::from(&part.header);
        let lane = &mut self.lanes[part.lane as usize];
        let goes_on = flags & LAST == 0 && part.wrong.is_none();
        let open = Open { seq, offset: offset.saturating_add(payload_len), time: part.time };
        lane.open = goes_on.then_some(open);
        let covered = part.give.start..part.give.end.min(part.next).max(part.give.start);
        lane.filtered += part.filtered;
        let given = covered.end - covered.start - part.filtered;
        lane.read += given;
        lane.cover(covered, &stretch);
        let Some(reason) = part.wrong else { return given };
        let rest = part.next..part.end;
        let range = part.offset(part.pos as u32)..part.place.end;
        self.report.undecodable(Undecodable { range, events: (rest.end - rest.start) as u32, reason });
        lane.give_up(rest, &stretch);
        given
    }
}

/// Where a walk through the parts of a block is.
#[derive(Default)]
pub(crate) struct Walk {
    /// Clock reading of the last event.
    pub(crate) time: u64,
    slots: Vec<u64>,
}

/// How far a walk came.
pub(crate) struct Walked {
    pub(crate) events: u32,
    /// Bytes of them.
    pub(crate) len: usize,
    /// Why it ended before the last event.
    pub(crate) wrong: Option<Reason>,
}

impl From<&Header> for Walk {
    /// At the start of a block.
    fn from(header: &Header) -> Walk {
        Walk { time: header.base_ticks, slots: Vec::new() }
    }
}

/// Goes through at most so many events of a payload, apart from what is given out, and calls a function with
/// the index, the clock reading, the parameters and the bytes of each.
pub(crate) fn walk(
    registry: &KnownRegistry,
    kind: u8,
    payload: &[u8],
    events: u32,
    at: &mut Walk,
    mut visit: impl FnMut(u32, u64, &[Raw], Range<usize>),
) -> Walked {
    let plan = &registry.plan;
    let Some(slots) = plan.kind(kind).map(|kind| kind.slots as usize) else {
        return Walked { events: 0, len: 0, wrong: Some(Reason::NoKind(kind)) };
    };
    at.slots.resize(slots, 0);
    let cursor = Cursor::new(payload);
    let mut reading = Reading { payload, cursor, time: at.time, slots: &mut at.slots, plan, kind };
    let mut raw = vec![Raw::default(); plan.max_params()];
    let mut walked = Walked { events: 0, len: 0, wrong: None };
    while walked.events < events {
        let read = reading.head().map_err(Reason::from).and_then(|(code, time)| {
            let event = reading.event(code)?;
            reading.params(event, &mut raw)?;
            reading.time = time;
            Ok(event)
        });
        match read {
            Ok(event) => {
                let end = payload.len() - reading.cursor.rest().len();
                let raw = raw.get(..event.params()).unwrap_or_default();
                visit(event.index, reading.time, raw, walked.len..end);
                (walked.events, walked.len) = (walked.events + 1, end);
            }
            Err(reason) => {
                walked.wrong = Some(reason);
                break;
            }
        }
    }
    at.time = reading.time;
    walked
}

/// Who takes the events of a part.
pub(crate) trait Take<'p> {
    /// True if it takes no more for now.
    fn is_full(&self) -> bool;
    /// Reads the parameters of an event of a code, and takes the event if it has a stamp: else nobody wants it.
    fn take(
        &mut self,
        reading: &mut Reading<'p, '_>,
        code: u64,
        stamp: Option<Stamp<'_>>,
    ) -> Result<(), Reason>;
}

/// When and where an event is.
pub(crate) struct Stamp<'s> {
    /// Its clock reading.
    pub(crate) time: u64,
    /// Where in the payload it begins.
    pub(crate) at: u32,
    /// Bytes from there to the end of what is here of the payload.
    pub(crate) left: usize,
    pub(crate) session: &'s Session,
}

/// Where the events of a part are read.
pub(crate) struct Reading<'p, 's> {
    pub(crate) payload: &'p [u8],
    pub(crate) cursor: Cursor<'p>,
    /// Clock reading of the event read last.
    time: u64,
    /// Of the lane.
    pub(crate) slots: &'s mut [u64],
    plan: &'s Plan,
    /// Bit number of the block's kind.
    kind: u8,
}

/// Which events are given out.
struct Giving<'s> {
    /// Any are.
    gives: bool,
    /// All are.
    all: bool,
    /// Events that are not, though they might have been.
    filtered: u64,
    registry: &'s KnownRegistry,
    session: &'s Session,
    filter: &'s Filter,
}

impl Giving<'_> {
    fn set(&mut self, gives: bool) {
        self.gives = gives;
        self.all = gives && !self.filter.is_timed() && self.registry.wanted.events.is_none();
    }

    /// True if an event of the kind, by its code, is given out where not all are.
    #[inline(never)]
    fn wants(&self, kind: u8, code: u64, time: u64) -> bool {
        let event = self.registry.plan.event(code, kind);
        self.gives
            && event.is_some_and(|event| self.registry.wanted.event(event.index))
            && (!self.filter.is_timed() || self.filter.wants_time(self.session.clock.ns(time)))
    }
}

impl<'p, 's> Reading<'p, 's> {
    /// Reads the next event, which begins at a place of the payload.
    #[inline(always)]
    fn next(&mut self, taker: &mut impl Take<'p>, at: u32, giving: &mut Giving<'_>) -> Result<(), Reason> {
        let left = self.cursor.rest().len();
        let (code, time) = self.head()?;
        let is_wanted = giving.all || giving.wants(self.kind, code, time);
        let stamp = Stamp { time, at, left, session: giving.session };
        taker.take(self, code, is_wanted.then_some(stamp))?;
        if !giving.all {
            giving.filtered += u64::from(giving.gives && !is_wanted);
        }
        self.time = time;
        Ok(())
    }

    /// Reads the code and the clock reading of an event.
    #[inline(always)]
    fn head(&mut self) -> Result<(u64, u64), Malformed> {
        let (code, ticks) = (self.cursor.unsigned()?, self.cursor.unsigned()?);
        Ok((code, self.time.wrapping_add(ticks)))
    }

    /// How the event of a code is read.
    #[inline(always)]
    pub(crate) fn event(&self, code: u64) -> Result<&'s EventPlan, Reason> {
        self.plan.event(code, self.kind).ok_or(Reason::UnknownEvent(code))
    }

    /// Reads the parameters of an event, for which there must be room.
    #[inline(always)]
    pub(crate) fn params(&mut self, event: &EventPlan, raw: &mut [Raw]) -> Result<(), Malformed> {
        event.read(&mut self.cursor, self.slots, self.payload.len(), raw)
    }
}
