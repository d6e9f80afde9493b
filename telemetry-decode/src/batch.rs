//! A few events read ahead, so that what reading them needs is looked up once for all.

use std::ops::Range;

use telemetry_format::Malformed;

use crate::event::Raw;
use crate::part::{Reading, Take};
use crate::plan::EventPlan;
use crate::session::Session;

/// Most events of a batch.
const EVENTS: usize = 64;

/// A few events of one part, of which the first is current.
#[derive(Default)]
pub(crate) struct Batch {
    heads: Vec<Head>,
    /// Parameters of all events, and room for more.
    raw: Vec<Raw>,
    /// Those in use.
    used: usize,
    /// Index of the current event.
    current: usize,
}

/// An event without its parameters.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    /// Clock reading.
    pub(crate) time: u64,
    /// Index in its registry.
    pub(crate) event: u32,
    /// Bytes that it takes in its block.
    pub(crate) len: u32,
    /// Where in the payload it begins.
    pub(crate) at: u32,
    /// Its parameters.
    first: u32,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        (self.used, self.current) = (0, 0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Goes on to the next event; false behind the last.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> bool {
        self.current += 1;
        self.current < self.heads.len()
    }

    /// Clock reading of the current event.
    #[inline(always)]
    pub(crate) fn time(&self) -> Option<u64> {
        self.heads.get(self.current).map(|head| head.time)
    }

    /// The current event and its parameters.
    #[inline(always)]
    pub(crate) fn current(&self) -> Option<(&Head, &[Raw])> {
        let head = self.heads.get(self.current)?;
        let end = self.heads.get(self.current + 1).map_or(self.used, |next| next.first as usize);
        Some((head, self.raw.get(head.first as usize..end)?))
    }
}

/// Makes room for some parameters, and as many again.
#[cold]
#[inline(never)]
fn grow(raw: &mut Vec<Raw>, place: Range<usize>) -> &mut [Raw] {
    raw.resize(place.end * 2, Raw::default());
    raw.get_mut(place).unwrap_or_default()
}

impl Take<'_> for Batch {
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.heads.len() >= EVENTS
    }

    #[inline(always)]
    fn read(&mut self, event: &EventPlan, reading: &mut Reading<'_, '_>) -> Result<(), Malformed> {
        let params = event.params as usize;
        let place = match self.raw.get_mut(self.used..self.used + params) {
            Some(place) => place,
            None => grow(&mut self.raw, self.used..self.used + params),
        };
        event.read(&mut reading.cursor, reading.slots, reading.payload.len(), place)
    }

    #[inline(always)]
    fn keep(&mut self, event: &EventPlan, time: u64, bytes: Range<u32>, _: &Session) {
        let Range { start: at, end } = bytes;
        self.heads.push(Head { time, event: event.index, len: end - at, at, first: self.used as u32 });
        self.used += event.params as usize;
    }
}
