//! The events of a part, one after the other: the same for generic and generated code.

use std::ops::Range;

use telemetry_format::flags::LAST;
use telemetry_format::{Cursor, Header, Malformed};

use crate::batch::Batch;
use crate::completeness::{Reason, Undecodable};
use crate::decoder::Decoder;
use crate::event::{Event, Raw};
use crate::lane::{Open, Stretch};
use crate::plan::EventPlan;
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
        self.close(part);
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
        let is_timed = self.filter.from_ns.is_some() || self.filter.until_ns.is_some();
        let wants_all = !is_timed && registry.wanted.events.is_none();
        let mut reading = Reading {
            payload,
            cursor: Cursor::new(payload.get(part.pos - window.at..).unwrap_or_default()),
            time: part.time,
            slots: &mut lane.slots,
        };
        // Out of the part, so that they can stay in registers.
        let (give, end, kind) = (part.give.clone(), part.end.min(stop), part.header.kind);
        let mut number = part.next;
        let mut reached_beyond = false;
        while !taker.is_full() {
            if number == end {
                let is_trailing = end == part.end && !(is_last && reading.cursor.is_empty());
                part.wrong = is_trailing.then_some(Reason::Trailing);
                break;
            }
            let before = reading.cursor;
            let event = match reading.event(registry, kind, taker) {
                Ok(event) => event,
                Err(reason) => {
                    reading.cursor = before;
                    reached_beyond = !is_last;
                    part.wrong = is_last.then_some(reason);
                    break;
                }
            };
            number += 1;
            if !give.contains(&(number - 1)) {
                continue;
            }
            let passes = wants_all
                || registry.wanted.event(event.index) && {
                    let ns = session.clock.ns(reading.time);
                    self.filter.from_ns.is_none_or(|from| from <= ns)
                        && self.filter.until_ns.is_none_or(|until| ns < until)
                };
            if passes {
                let end = window.at + payload.len();
                let bytes = (end - before.rest().len()) as u32..(end - reading.cursor.rest().len()) as u32;
                taker.keep(event, reading.time, bytes, session);
            } else {
                part.filtered += 1;
            }
        }
        part.next = number;
        part.time = reading.time;
        part.pos = window.at + payload.len() - reading.cursor.rest().len();
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

    /// Ends a part: at its end, or where something is wrong.
    fn close(&mut self, part: &Part) {
        let Header { seq, offset, payload_len, flags, .. } = part.header;
        let stretch = Stretch::from(&part.header);
        let lane = &mut self.lanes[part.lane as usize];
        let goes_on = flags & LAST == 0 && part.wrong.is_none();
        let open = Open { seq, offset: offset.saturating_add(payload_len), time: part.time };
        lane.open = goes_on.then_some(open);
        let covered = part.give.start..part.give.end.min(part.next).max(part.give.start);
        lane.filtered += part.filtered;
        lane.read += covered.end - covered.start - part.filtered;
        lane.cover(covered, &stretch);
        let Some(reason) = part.wrong else { return };
        let rest = part.next..part.end;
        let range = part.offset(part.pos as u32)..part.place.end;
        self.report.undecodable(Undecodable { range, events: (rest.end - rest.start) as u32, reason });
        lane.give_up(rest, &stretch);
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
    let Some(slots) = registry.plan.kind(kind).map(|kind| kind.slots as usize) else {
        return Walked { events: 0, len: 0, wrong: Some(Reason::NoKind(kind)) };
    };
    at.slots.resize(slots, 0);
    let cursor = Cursor::new(payload);
    let mut reading = Reading { payload, cursor, time: at.time, slots: &mut at.slots };
    let mut raws = Raws(vec![Raw::default(); registry.plan.max_params()]);
    let mut walked = Walked { events: 0, len: 0, wrong: None };
    while walked.events < events {
        match reading.event(registry, kind, &mut raws) {
            Ok(event) => {
                let end = payload.len() - reading.cursor.rest().len();
                let raw = raws.0.get(..event.params as usize).unwrap_or_default();
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

/// The parameters of one event.
struct Raws(Vec<Raw>);

impl Take<'_> for Raws {
    fn is_full(&self) -> bool {
        false
    }

    fn read(&mut self, event: &EventPlan, reading: &mut Reading<'_, '_>) -> Result<(), Malformed> {
        event.read(&mut reading.cursor, reading.slots, reading.payload.len(), &mut self.0)
    }

    fn keep(&mut self, _: &EventPlan, _: u64, _: Range<u32>, _: &Session) {}
}

/// Who takes the events of a part.
pub(crate) trait Take<'p> {
    /// True if it takes no more for now.
    fn is_full(&self) -> bool;
    /// Reads the parameters of an event.
    fn read(&mut self, event: &EventPlan, reading: &mut Reading<'p, '_>) -> Result<(), Malformed>;
    /// Takes the event read last, which stands in these bytes of the payload. Not called if nobody wants it.
    fn keep(&mut self, event: &EventPlan, time: u64, bytes: Range<u32>, session: &Session);
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
