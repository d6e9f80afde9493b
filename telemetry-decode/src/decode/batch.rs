//! A few events that are read ahead. So the lookups before reading are made once for all of them.

use std::ops::Range;

use telemetry_format::Cursor;

use super::reading::{Reading, Stamp, Take};
use crate::registry::plan::{EventPlan, Plan};
use crate::report::completeness::Reason;
use crate::sessions::session::Session;
use crate::values::raw::Raw;

/// The maximum number of events in a batch.
const MAX_EVENTS: usize = 64;

/// What follows the events that were taken.
#[derive(PartialEq, Eq)]
enum Next {
    /// An event of which each value probably takes one byte, because it was so before.
    Short,
    Any,
}

/// The number of events for which a new batch has memory.
const FIRST_EVENTS: usize = 8;

/// A few events of one part, of which one is current.
#[derive(Default)]
pub(crate) struct Batch {
    heads: Vec<Head>,
    /// Parameters of all events, with spare capacity.
    raw: Vec<Raw>,
    /// Number of used parameters.
    used: u32,
    /// Index of the current event.
    current: usize,
    /// It takes any number of events, not only [`MAX_EVENTS`].
    is_unlimited: bool,
}

/// An event without its parameters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Head {
    /// Clock reading.
    pub(crate) time: u64,
    /// Index of the event in its registry.
    pub(crate) event: u32,
    /// Encoded length in its block.
    pub(crate) len: u32,
    /// Offset of the event in the payload.
    pub(crate) at: u32,
    /// Number of the event in its part.
    pub(crate) number: u32,
    /// Index of its first parameter.
    first: u32,
    end: u32,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        (self.used, self.current) = (0, 0);
    }

    /// Lets the batch take any number of events.
    pub(crate) fn take_any_number(&mut self) {
        self.is_unlimited = true;
    }

    fn most(&self) -> usize {
        if self.is_unlimited { usize::MAX } else { MAX_EVENTS }
    }

    /// Returns the allocated memory.
    pub(crate) fn room(&self) -> usize {
        self.heads.capacity() * size_of::<Head>() + self.raw.capacity() * size_of::<Raw>()
    }

    /// Keeps the events for which `wants` returns true, by the event and its parameters. Returns
    /// the number of the others.
    pub(crate) fn retain(&mut self, mut wants: impl FnMut(&Head, &[Raw]) -> bool) -> u64 {
        let before = self.heads.len();
        let raw = &self.raw;
        self.heads.retain(|head| wants(head, head.params(raw)));
        (before - self.heads.len()) as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Moves to the next event. Returns false after the last.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> bool {
        self.current += 1;
        self.current < self.heads.len()
    }

    /// Returns the clock readings of the events after the current one.
    #[inline(always)]
    pub(crate) fn later_times(&self) -> impl Iterator<Item = u64> {
        self.heads.get(self.current + 1..).unwrap_or_default().iter().map(|head| head.time)
    }

    /// Moves on by a number of events. Returns the current event and those passed.
    #[inline(always)]
    pub(crate) fn pass(&mut self, events: usize) -> Range<usize> {
        let start = self.current;
        self.current += events;
        start..self.current + 1
    }

    /// Returns the number of events after the current one.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.heads.len().saturating_sub(self.current + 1)
    }

    /// Returns some events, with the list of parameters for [`Head::params`].
    #[inline(always)]
    pub(crate) fn range(&self, events: Range<usize>) -> (&[Head], &[Raw]) {
        (self.heads.get(events).unwrap_or_default(), &self.raw)
    }

    /// Returns the clock reading of the current event.
    #[inline(always)]
    pub(crate) fn time(&self) -> Option<u64> {
        self.heads.get(self.current).map(|head| head.time)
    }

    /// Returns the current event and its parameters.
    #[inline(always)]
    pub(crate) fn current(&self) -> Option<(&Head, &[Raw])> {
        let head = self.heads.get(self.current)?;
        Some((head, self.raw.get(head.first as usize..head.end as usize)?))
    }
}

impl Head {
    /// Returns the event's parameters in the list of its batch.
    #[inline(always)]
    pub(crate) fn params<'r>(&self, all: &'r [Raw]) -> &'r [Raw] {
        all.get(self.param_range()).unwrap_or_default()
    }

    /// Returns the places of the event's parameters in the list of its batch.
    #[inline(always)]
    pub(crate) fn param_range(&self) -> Range<usize> {
        self.first as usize..self.end as usize
    }

    /// Returns the places of the parameters from this event to a later one of its batch.
    #[inline(always)]
    pub(crate) fn all_params(&self, last: &Head) -> Range<usize> {
        self.first as usize..last.end as usize
    }

    /// Returns the head for a list where the parameters of `from`, an earlier event of the batch,
    /// begin at `start`.
    #[inline(always)]
    pub(crate) fn moved(&self, from: &Head, start: u32) -> Head {
        let first = self.first - from.first + start;
        Head { first, end: self.end - self.first + first, ..*self }
    }
}

/// Reads the code and the clock reading of an event, whose kind must be the block's. `time` is the
/// reading before.
#[inline(always)]
fn read_head<'p>(
    plan: &'p Plan,
    cursor: &mut Cursor<'_>,
    time: u64,
    kind_bit: u8,
) -> Result<(&'p EventPlan, u64), Reason> {
    let (code, ticks) = cursor.two_unsigned()?;
    let event = plan.event(code, kind_bit).ok_or(Reason::UnknownEvent(code))?;
    Ok((event, time.wrapping_add(ticks)))
}

/// Grows the list to twice the length that `place` needs, and returns the parameters there.
#[cold]
#[inline(never)]
fn grow(raw: &mut Vec<Raw>, place: Range<usize>) -> &mut [Raw] {
    raw.resize(place.end * 2, Raw::default());
    raw.get_mut(place).unwrap_or_default()
}

impl Batch {
    /// Does the work of [`Batch::take`] for many events.
    fn take_each(
        &mut self,
        reading: &mut Reading<'_, '_>,
        payload_end: usize,
        numbers: Range<u32>,
    ) -> (u32, Result<(), Reason>) {
        let (start, places) = (self.heads.len(), self.make_room(numbers.len()));
        let mut taken = 0;
        let read = loop {
            taken += self.take_short(reading, payload_end, numbers.start + taken, start + taken as usize);
            let (others, read) =
                self.take_any(reading, payload_end, numbers.start + taken, start + taken as usize);
            taken += others;
            if read != Ok(Next::Short) {
                break read.map(drop);
            }
        };
        debug_assert!(taken as usize <= places, "as many as there are places");
        self.heads.truncate(start + taken as usize);
        (taken, read)
    }

    /// Takes events while each of their values takes one byte, and there is room. `number` is that
    /// of the first, and `start` the place of its head. Returns how many it took.
    ///
    /// It is a loop of its own, so that the few variables stay in registers.
    #[inline(never)]
    fn take_short(
        &mut self,
        reading: &mut Reading<'_, '_>,
        payload_end: usize,
        mut number: u32,
        start: usize,
    ) -> u32 {
        let before = number;
        let (plan, kind, slots) = (reading.plan, reading.kind, &mut *reading.slots);
        let (mut cursor, mut time, mut first) = (reading.cursor, reading.time, self.used);
        let mut raw = self.raw.get_mut(first as usize..).unwrap_or_default();
        for head in &mut self.heads[start..] {
            let Some((event, word)) = plan.short(cursor, kind) else { break };
            let Some(next) = event.read(word, cursor, slots, &mut raw) else { break };
            time = time.wrapping_add(word.ticks());
            let (at, len) = ((payload_end - cursor.rest().len()) as u32, event.len());
            let end = first + u32::from(event.params);
            *head = Head { time, event: event.index, len, at, number, first, end };
            (number, first) = (number + 1, end);
            cursor = next;
        }
        self.used = first;
        (reading.cursor, reading.time) = (cursor, time);
        number - before
    }

    /// Takes events up to one of which each value takes one byte. The parameters are those of
    /// [`Batch::take_short`].
    #[inline(never)]
    fn take_any(
        &mut self,
        reading: &mut Reading<'_, '_>,
        payload_end: usize,
        mut number: u32,
        start: usize,
    ) -> (u32, Result<Next, Reason>) {
        let Batch { heads, raw, used, .. } = self;
        let (plan, kind, payload_len) = (reading.plan, reading.kind, reading.payload.len());
        let slots = &mut *reading.slots;
        let (mut cursor, mut time) = (reading.cursor, reading.time);
        let (before, mut first) = (number, *used);
        let read = 'read: {
            for head in &mut heads[start..] {
                let mut ahead = cursor;
                let (event, later) = match read_head(plan, &mut ahead, time, kind) {
                    Ok(head) => head,
                    Err(reason) => break 'read Err(reason),
                };
                let end = first + event.params() as u32;
                let Some(of_event) = raw.get_mut(first as usize..end as usize) else {
                    // The caller goes on when there is room.
                    raw.resize(end as usize * 2, Raw::default());
                    break;
                };
                if let Err(malformed) = event.read(&mut ahead, slots, payload_len, of_event) {
                    break 'read Err(malformed.into());
                }
                let left = cursor.rest().len();
                let (at, len) = ((payload_end - left) as u32, (left - ahead.rest().len()) as u32);
                *head = Head { time: later, event: event.index, len, at, number, first, end };
                let is_short = len == end - first + 2;
                (number, first) = (number + 1, end);
                (cursor, time) = (ahead, later);
                if is_short {
                    break 'read Ok(Next::Short);
                }
            }
            Ok(Next::Any)
        };
        *used = first;
        (reading.cursor, reading.time) = (cursor, time);
        (number - before, read)
    }

    /// Does the same, but leaves out events that are not needed.
    #[inline(never)]
    fn take_needed(
        &mut self,
        reading: &mut Reading<'_, '_>,
        payload_end: usize,
        numbers: Range<u32>,
    ) -> (u32, Result<(), Reason>) {
        let (start, places) = (self.heads.len(), self.make_room(numbers.len()));
        let Batch { heads, raw, used, .. } = self;
        let (plan, kind, payload_len) = (reading.plan, reading.kind, reading.payload.len());
        let slots = &mut *reading.slots;
        let (mut cursor, mut time) = (reading.cursor, reading.time);
        let (mut number, mut first) = (numbers.start, *used);
        let mut free = heads[start..start + places].iter_mut();
        let read = 'read: {
            while number < numbers.end && free.len() > 0 {
                let mut ahead = cursor;
                let (event, later) = match read_head(plan, &mut ahead, time, kind) {
                    Ok(head) => head,
                    Err(reason) => break 'read Err(reason),
                };
                let end = first + event.params() as u32;
                let Some(of_event) = raw.get_mut(first as usize..end as usize) else {
                    raw.resize(end as usize * 2, Raw::default());
                    break;
                };
                if let Err(malformed) = event.read(&mut ahead, slots, payload_len, of_event) {
                    break 'read Err(malformed.into());
                }
                let is_end = number + 1 == numbers.end || ahead.rest().len() < reading.margin;
                // The last event is taken if no other is, so that the caller sees progress.
                if (event.is_needed || is_end && free.len() == places)
                    && let Some(head) = free.next()
                {
                    let left = cursor.rest().len();
                    let (at, len) = ((payload_end - left) as u32, (left - ahead.rest().len()) as u32);
                    *head = Head { time: later, event: event.index, len, at, number, first, end };
                    first = end;
                }
                number += 1;
                (cursor, time) = (ahead, later);
                if is_end && !event.is_needed {
                    reading.is_short = number < numbers.end;
                    break;
                }
            }
            Ok(())
        };
        let (read_events, taken) = (number - numbers.start, places - free.len());
        heads.truncate(start + taken);
        *used = first;
        reading.unneeded += u64::from(read_events) - taken as u64;
        (reading.cursor, reading.time) = (cursor, time);
        (read_events, read)
    }

    /// Adds empty heads for at most this many events. Returns their number.
    fn make_room(&mut self, events: usize) -> usize {
        let start = self.heads.len();
        // Many lanes have only a few events each, so the list grows step by step.
        let places = events.min(self.most() - start).min(self.heads.capacity().max(FIRST_EVENTS));
        self.heads.resize(start + places, Head::default());
        places
    }
}

impl Take<'_> for Batch {
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.heads.len() >= self.most()
    }

    fn take_all(
        &mut self,
        reading: &mut Reading<'_, '_>,
        payload_end: usize,
        numbers: Range<u32>,
        _: &Session,
    ) -> (u32, Result<(), Reason>) {
        match reading.plan.needs_all {
            true => self.take_each(reading, payload_end, numbers),
            false => self.take_needed(reading, payload_end, numbers),
        }
    }

    #[inline(always)]
    fn take(
        &mut self,
        reading: &mut Reading<'_, '_>,
        code: u64,
        stamp: Option<Stamp<'_>>,
    ) -> Result<(), Reason> {
        let event = reading.event(code)?;
        let (first, end) = (self.used as usize, self.used as usize + event.params());
        let raw = match self.raw.get_mut(first..end) {
            Some(raw) => raw,
            None => grow(&mut self.raw, first..end),
        };
        reading.params(event, raw)?;
        if let Some(Stamp { time, at, number, left, .. }) = stamp {
            let len = (left - reading.cursor.rest().len()) as u32;
            let (first, end) = (self.used, end as u32);
            self.heads.push(Head { time, event: event.index, len, at, number, first, end });
            self.used = end;
        }
        Ok(())
    }
}
