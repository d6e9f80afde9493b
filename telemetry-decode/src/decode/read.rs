//! Reads the events of a part in one loop, for generic and generated code.

use std::ops::Range;

use telemetry_format::flags::LAST;
use telemetry_format::{Cursor, Header};

use super::batch::Batch;
use super::decoder::Decoder;
use super::event_batch::EventBatch;
use super::part::{MIN_LEFT, Part, PartState, Window};
use super::reading::{Giving, Reading, Take};
use crate::lanes::lane::{EventRange, PartEnd};
use crate::registry::condition::{Candidate, Test};
use crate::registry::event::Event;
use crate::registry::known_registry::KnownRegistry;
use crate::report::completeness::{Reason, Undecodable};

impl Decoder {
    /// Reads the next returned events of a part, at most a full batch. If it reads none, the part
    /// has no more, and is closed.
    pub(crate) fn read(&mut self, part: &mut Part, payload: &[u8], batch: &mut Batch) {
        loop {
            batch.clear();
            self.read_into(part, Window::all(payload), u64::MAX, batch);
            if batch.is_empty() || !self.sift(part, payload, batch) {
                break;
            }
        }
        if batch.is_empty() {
            self.close(part);
        }
    }

    /// Reads the next returned events of a part through a window that begins at the next event.
    /// Returns false, and reads nothing, if the next event exceeds the window. The batch may stay
    /// empty although more events will come.
    pub(crate) fn read_window(&mut self, part: &mut Part, window: Window<'_>, batch: &mut Batch) -> bool {
        batch.clear();
        let position = part.position();
        if !window.is_last {
            self.slots_before.clone_from(&self.lanes[part.lane as usize].slots);
        }
        let reached_beyond = self.read_into(part, window, u64::MAX, batch);
        if reached_beyond {
            // The event that exceeds the window has changed slots. So the events before it are read
            // again.
            let stop = part.next;
            part.go_back(position);
            self.lanes[part.lane as usize].slots.clone_from(&self.slots_before);
            batch.clear();
            if stop == part.next {
                return false;
            }
            self.read_into(part, window, stop, batch);
        }
        self.sift(part, window.bytes, batch);
        if batch.is_empty() && part.is_at_end() {
            self.close(part);
        }
        true
    }

    /// Reads the next event through a window as [`Decoder::read_window`] does. Skips it if it is
    /// filtered.
    pub(crate) fn read_one(&mut self, part: &mut Part, window: Window<'_>, batch: &mut Batch) -> bool {
        batch.clear();
        let position = part.position();
        if !window.is_last {
            self.slots_before.clone_from(&self.lanes[part.lane as usize].slots);
        }
        if self.read_into(part, window, part.next.saturating_add(1), batch) {
            part.go_back(position);
            self.lanes[part.lane as usize].slots.clone_from(&self.slots_before);
            batch.clear();
            return false;
        }
        self.sift(part, window.bytes, batch);
        if batch.is_empty() && part.is_at_end() {
            self.close(part);
        }
        true
    }

    /// Reads all returned events of a part into one batch, and closes the part.
    pub(crate) fn read_whole(&mut self, part: &mut Part, payload: &[u8], batch: &mut Batch) -> PartState {
        batch.clear();
        batch.take_any_number();
        self.read_into(part, Window::all(payload), u64::MAX, batch);
        self.sift(part, payload, batch);
        self.close(part);
        PartState::of(part)
    }

    /// Keeps the events of a batch that match the condition of the filter. Returns true if it kept
    /// none of some.
    #[inline(always)]
    fn sift(&self, part: &mut Part, payload: &[u8], batch: &mut Batch) -> bool {
        match self.state.registries[part.registry as usize].test() {
            Some(test) => self.sift_by(test, part, payload, batch),
            None => false,
        }
    }

    #[inline(never)]
    fn sift_by(&self, test: &dyn Test, part: &mut Part, payload: &[u8], batch: &mut Batch) -> bool {
        if batch.is_empty() {
            return false;
        }
        let session = &self.state.sessions[part.session as usize];
        let known = &self.state.registries[part.registry as usize];
        let (registry, lane) = ((&known.registry, &known.namings), test.lane(session, part.header.thread));
        part.filtered += batch.retain(|head, raw| {
            let candidate = Candidate::new(session, registry, head.event, head.time);
            test.matches(&candidate.with(payload, raw), lane)
        });
        batch.is_empty()
    }

    /// Reads all events of a part, and closes it.
    pub(crate) fn read_all<'p>(&mut self, part: &mut Part, payload: &'p [u8], taker: &mut impl Take<'p>) {
        self.read_into(part, Window::all(payload), u64::MAX, taker);
        self.report.events += self.close(part);
    }

    /// Reads events until the taker is full, the part ends, or the next event has the number
    /// `stop`. Returns true if an event exceeds the window.
    #[inline(always)]
    fn read_into<'p>(
        &mut self,
        part: &mut Part,
        window: Window<'p>,
        stop: u64,
        taker: &mut impl Take<'p>,
    ) -> bool {
        let (payload, is_last) = (window.bytes, window.is_last);
        let registry = &self.state.registries[part.registry as usize];
        let session = &self.state.sessions[part.session as usize];
        let lane = &mut self.lanes[part.lane as usize];
        let mut reading = Reading {
            payload,
            cursor: Cursor::new(payload.get(part.pos - window.at..).unwrap_or_default()),
            time: part.time,
            slots: &mut lane.slots,
            plan: &registry.plan,
            kind: part.header.kind,
            unneeded: 0,
            margin: if is_last { 0 } else { MIN_LEFT },
            is_short: false,
        };
        // Local copies, so that they can stay in registers.
        let (give, end) = (part.give.clone(), part.end.min(stop));
        let payload_end = window.at + payload.len();
        let mut number = part.next;
        // All events before number `until` are returned, or none of them. So each event needs only
        // one comparison.
        let mut until = number;
        let mut giving =
            Giving { gives: false, all: false, filtered: 0, registry, session, filter: &self.filter };
        let first = part.header.before;
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
            if giving.all {
                // A part has fewer than 2^32 events.
                let in_part = |number: u64| number.wrapping_sub(first) as u32;
                let numbers = in_part(number)..in_part(until);
                let (read, result) = taker.take_all(&mut reading, payload_end, numbers, session);
                number += u64::from(read);
                if let Err(reason) = result {
                    reached_beyond = !is_last;
                    part.wrong = is_last.then_some(reason);
                    break;
                }
                if reading.is_short {
                    break;
                }
                continue;
            }
            let before = reading.cursor;
            let at = (payload_end - before.rest().len()) as u32;
            let in_part = number.wrapping_sub(first) as u32;
            if let Err(reason) = reading.next(taker, at, in_part, &mut giving) {
                reading.cursor = before;
                reached_beyond = !is_last;
                part.wrong = is_last.then_some(reason);
                break;
            }
            number += 1;
        }
        part.filtered += giving.filtered;
        part.unneeded += reading.unneeded;
        part.next = number;
        part.time = reading.time;
        part.pos = payload_end - reading.cursor.rest().len();
        reached_beyond
    }

    /// Returns the registry and the thread number of a part.
    pub(crate) fn origin(&self, part: &Part) -> (&KnownRegistry, u32) {
        (&self.state.registries[part.registry as usize], part.header.thread)
    }

    /// Returns the current event of a batch.
    #[inline(always)]
    pub(crate) fn event<'a>(&'a self, part: &Part, payload: &'a [u8], batch: &'a Batch) -> Option<Event<'a>> {
        let session = self.state.sessions.get(part.session as usize)?;
        let registry = self.state.registries.get(part.registry as usize)?;
        let (head, raw) = batch.current()?;
        Some(Event {
            session,
            thread: part.header.thread,
            ticks: head.time,
            time_ns: session.clock.ns(head.time),
            known: registry,
            schema: registry.registry.events.get(head.event as usize)?,
            index: head.event as usize,
            packed_len: head.len,
            offset: part.offset(head.at),
            position: part.header.before.wrapping_add(head.number.into()),
            payload,
            raw,
        })
    }

    /// Returns some events of a batch.
    #[inline]
    pub(crate) fn events<'a>(
        &'a self,
        part: &Part,
        payload: &'a [u8],
        batch: &'a Batch,
        events: Range<usize>,
    ) -> Option<EventBatch<'a>> {
        let session = self.state.sessions.get(part.session as usize)?;
        let registry = self.state.registries.get(part.registry as usize)?;
        let (heads, raw) = batch.range(events);
        let (offset, is_plain) = (part.place.start, part.is_plain);
        let thread = part.header.thread;
        Some(EventBatch {
            session,
            session_index: part.session,
            thread,
            known: registry,
            registry_index: part.registry,
            offset,
            is_plain,
            before: part.header.before,
            payload,
            heads,
            raw,
            one: None,
        })
    }

    /// Accounts for a part that a fork has read, and closes it.
    pub(crate) fn account_for(&mut self, mut part: Part, end: PartState) {
        end.give_to(&mut part);
        self.report.events += self.close(&part);
    }

    /// Accounts for a part that a fork has read, after its events were returned, and closes it.
    pub(crate) fn finish(&mut self, part: &mut Part, end: PartState) {
        end.give_to(part);
        self.close(part);
    }

    /// Ends a part before its next event, because of an error.
    pub(crate) fn abandon(&mut self, part: &mut Part, reason: Reason) {
        part.wrong = Some(reason);
        self.close(part);
    }

    /// Closes a part at its end or at an error. Returns the number of its returned events.
    fn close(&mut self, part: &Part) -> u64 {
        if let Some(ends) = &mut self.ends {
            ends.push(PartState::of(part));
        }
        let Header { seq, offset, payload_len, flags, .. } = part.header;
        let event_range = EventRange::from(&part.header);
        let lane = &mut self.lanes[part.lane as usize];
        let goes_on = flags & LAST == 0 && part.wrong.is_none();
        let open = PartEnd { seq, offset: offset.saturating_add(payload_len), time: part.time };
        lane.open = goes_on.then_some(open);
        if !goes_on {
            self.slots -= lane.slots.len();
            lane.slots = Vec::new();
        }
        let covered = part.give.start..part.give.end.min(part.next).max(part.give.start);
        lane.filtered += part.filtered;
        let given = covered.end - covered.start - part.filtered;
        lane.read += given;
        self.report.events += part.unneeded;
        self.change(part.lane, |lane, _| lane.cover(covered, &event_range));
        let Some(reason) = part.wrong else { return given };
        let rest = part.next..part.end;
        let range = part.offset(part.pos as u32)..part.place.end;
        self.report.undecodable(Undecodable { range, events: (rest.end - rest.start) as u32, reason });
        self.change(part.lane, |lane, has_room| lane.mark_unreadable(rest, &event_range, has_room));
        given
    }
}
