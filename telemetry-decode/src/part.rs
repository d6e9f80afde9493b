//! The events of a part, one after the other: the same for generic and generated code.

use std::ops::Range;

use telemetry_format::flags::LAST;
use telemetry_format::{Cursor, Header, Malformed};

use crate::batch::Batch;
use crate::completeness::{Reason, Undecodable};
use crate::decoder::Decoder;
use crate::event::Event;
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
    at: u64,
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
    /// The part of a block at `at`, whose first event counts from `time`.
    pub(crate) fn new(at: u64, header: &Header, lane: u32, session: u32, registry: u32, time: u64) -> Part {
        let Range { start, end } = Stretch::from(header).range();
        Part {
            header: header.clone(),
            lane,
            session,
            registry,
            at: at + u64::from(header.header_len),
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
}

impl Decoder {
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
        // Out of the part, so that they can stay in registers.
        let (give, end, kind) = (part.give.clone(), part.end, part.header.kind);
        let mut number = part.next;
        while !taker.is_full() {
            if number == end {
                part.wrong = (!reading.cursor.is_empty()).then_some(Reason::Trailing);
                break;
            }
            let before = reading.cursor;
            let event = match reading.event(registry, kind, taker) {
                Ok(event) => event,
                Err(reason) => {
                    reading.cursor = before;
                    part.wrong = Some(reason);
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
                let len = before.rest().len() - reading.cursor.rest().len();
                taker.keep(event, reading.time, len as u32, session);
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
        let range = part.at + part.pos as u64..part.at + u64::from(payload_len);
        self.report.undecodable(Undecodable { range, events: (rest.end - rest.start) as u32, reason });
        lane.give_up(rest, &stretch);
    }
}

/// Who takes the events of a part.
pub(crate) trait Take<'p> {
    /// True if it takes no more for now.
    fn is_full(&self) -> bool;
    /// Reads the parameters of an event.
    fn read(&mut self, event: &EventPlan, reading: &mut Reading<'p, '_>) -> Result<(), Malformed>;
    /// Takes the event read last, of so many bytes. Not called if nobody wants it.
    fn keep(&mut self, event: &EventPlan, time: u64, len: u32, session: &Session);
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
