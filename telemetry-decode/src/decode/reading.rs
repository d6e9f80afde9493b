//! Reads one event of a part: its head, whether it is selected, and its taker.

use std::ops::Range;

use telemetry_format::{Cursor, Malformed};

use crate::registry::filter::Filter;
use crate::registry::known_registry::KnownRegistry;
use crate::registry::plan::{EventPlan, Plan};
use crate::report::completeness::Reason;
use crate::sessions::session::Session;
use crate::values::raw::Raw;

/// A taker of a part's events.
pub(crate) trait Take<'p> {
    /// Returns true if it takes no more for now.
    fn is_full(&self) -> bool;
    /// Reads the parameters of an event with this code. Takes the event if it has a stamp; without
    /// one, the event is filtered.
    fn take(
        &mut self,
        reading: &mut Reading<'p, '_>,
        code: u64,
        stamp: Option<Stamp<'_>>,
    ) -> Result<(), Reason>;

    /// Reads and takes events with these numbers in the part, all of which are selected, until the
    /// taker is full. May leave out events that are not needed. Returns the number of events read,
    /// and the error in the next one.
    #[inline(always)]
    fn take_all(
        &mut self,
        reading: &mut Reading<'p, '_>,
        payload_end: usize,
        numbers: Range<u32>,
        session: &Session,
    ) -> (u32, Result<(), Reason>) {
        let mut number = numbers.start;
        while number < numbers.end && !self.is_full() {
            let before = reading.cursor;
            let left = before.rest().len();
            let (code, time) = match reading.head() {
                Ok(head) => head,
                Err(malformed) => {
                    reading.cursor = before;
                    return (number - numbers.start, Err(malformed.into()));
                }
            };
            let stamp = Stamp { time, at: (payload_end - left) as u32, number, left, session };
            if let Err(reason) = self.take(reading, code, Some(stamp)) {
                reading.cursor = before;
                return (number - numbers.start, Err(reason));
            }
            reading.time = time;
            number += 1;
        }
        (number - numbers.start, Ok(()))
    }
}

/// The time and the place of an event.
pub(crate) struct Stamp<'s> {
    /// Its clock reading.
    pub(crate) time: u64,
    /// Its offset in the payload.
    pub(crate) at: u32,
    /// Its number in the part.
    pub(crate) number: u32,
    /// Number of bytes from the event to the end of the window.
    pub(crate) left: usize,
    pub(crate) session: &'s Session,
}

/// The position in a part, and the state for reading on.
pub(crate) struct Reading<'p, 's> {
    pub(crate) payload: &'p [u8],
    pub(crate) cursor: Cursor<'p>,
    /// Clock reading of the latest event.
    pub(super) time: u64,
    /// The lane's delta slots.
    pub(crate) slots: &'s mut [u64],
    pub(super) plan: &'s Plan,
    /// Bit number of the block's kind.
    pub(super) kind: u8,
    /// Number of events that were read but are not needed.
    pub(super) unneeded: u64,
    /// Behind an event that is not needed, reading stops if fewer bytes than these are left. So it
    /// rarely reaches the end of a window, behind which the rest of an event may be.
    pub(super) margin: usize,
    pub(super) is_short: bool,
}

/// The selection of returned events.
pub(super) struct Giving<'s> {
    /// Some events are returned.
    pub(super) gives: bool,
    /// All events are returned.
    pub(super) all: bool,
    /// Number of filtered events.
    pub(super) filtered: u64,
    pub(super) registry: &'s KnownRegistry,
    pub(super) session: &'s Session,
    pub(super) filter: &'s Filter,
}

impl Giving<'_> {
    pub(super) fn set(&mut self, gives: bool) {
        self.gives = gives;
        self.all = gives && !self.filter.is_timed() && self.registry.wanted.events.is_none();
    }

    /// Returns true if an event of the kind is returned, by its code and time.
    #[inline(never)]
    fn wants(&self, kind: u8, code: u64, time: u64) -> bool {
        let event = self.registry.plan.event(code, kind);
        self.gives
            && event.is_some_and(|event| self.registry.wanted.event(event.index))
            && (!self.filter.is_timed() || self.filter.wants_time(self.session.clock.ns(time)))
    }
}

impl<'p, 's> Reading<'p, 's> {
    /// Reads the next event, which begins at offset `at` of the payload and has this number in the
    /// part.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        taker: &mut impl Take<'p>,
        at: u32,
        number: u32,
        giving: &mut Giving<'_>,
    ) -> Result<(), Reason> {
        let left = self.cursor.rest().len();
        let (code, time) = self.head()?;
        let is_wanted = giving.all || giving.wants(self.kind, code, time);
        let stamp = Stamp { time, at, number, left, session: giving.session };
        taker.take(self, code, is_wanted.then_some(stamp))?;
        if !giving.all {
            giving.filtered += u64::from(giving.gives && !is_wanted);
        }
        self.time = time;
        Ok(())
    }

    /// Reads the code and the clock reading of an event.
    #[inline(always)]
    pub(super) fn head(&mut self) -> Result<(u64, u64), Malformed> {
        let (code, ticks) = self.cursor.two_unsigned()?;
        Ok((code, self.time.wrapping_add(ticks)))
    }

    /// Returns the plan of an event by its code.
    #[inline(always)]
    pub(crate) fn event(&self, code: u64) -> Result<&'s EventPlan, Reason> {
        self.plan.event(code, self.kind).ok_or(Reason::UnknownEvent(code))
    }

    /// Reads the parameters of an event into `raw`, which must be long enough.
    #[inline(always)]
    pub(crate) fn params(&mut self, event: &EventPlan, raw: &mut [Raw]) -> Result<(), Malformed> {
        event.read(&mut self.cursor, self.slots, self.payload.len(), raw)
    }

    /// Reads the parameters of an event as [`Reading::params`] does, with the values of hidden
    /// ones.
    #[inline(always)]
    pub(super) fn all_params(&mut self, event: &EventPlan, raw: &mut [Raw]) -> Result<(), Malformed> {
        event.read_all(&mut self.cursor, self.slots, self.payload.len(), raw)
    }
}
