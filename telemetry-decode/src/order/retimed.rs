//! Events with a parameter with the mark `time`. In time order they come at that time, not at their
//! emission.
//!
//! Such an event may be far behind its time in the stream. So all of them are read first, and kept
//! in memory.

use std::io;

use telemetry_schema::Registry;

use crate::decode::decoder::Decoder;
use crate::order::merge::Merge;
use crate::registry::event::Event;
use crate::registry::filter::{Filter, Selector};
use crate::values::raw::Raw;

/// The memory limit for these events. If it is exceeded, all events come at the time of emission.
const MAX_HELD: usize = 32 << 20;

/// An event in memory, at the time in its parameter.
struct Marked {
    wall_ns: i64,
    ticks: u64,
    session: usize,
    registry: usize,
    thread: u32,
    index: usize,
    packed_len: u32,
    offset: u64,
    position: u64,
    payload: Vec<u8>,
    raw: Vec<Raw>,
}

/// The events of a merge, together with those kept in memory.
pub(crate) struct Retimed<'s> {
    merge: Merge<'s>,
    /// By time, the next one last.
    held: Vec<Marked>,
    /// The current event, if it is one of these.
    current: Option<Marked>,
    /// The merge is at an event that was not returned yet.
    waits: bool,
    is_at_end: bool,
}

/// Returns true if a registry has events with the mark `time`.
pub(crate) fn has_marked(registry: &Registry) -> bool {
    registry.events.iter().any(|event| event.time.is_some())
}

/// Returns a filter for the events with the mark `time` that `wanted` selects, at any time of
/// emission.
pub(crate) fn filter<'r>(wanted: &Filter, registries: impl Iterator<Item = &'r Registry>) -> Filter {
    let mut filter = Filter { from_ns: None, until_ns: None, condition: None, ..wanted.clone() };
    if filter.kinds.is_empty() && filter.events.is_empty() {
        for registry in registries {
            let marked = registry.events.iter().filter(|event| event.time.is_some());
            filter
                .events
                .extend(marked.map(|event| Selector::Text(format!("{}:{}", registry.name, event.name))));
        }
    }
    filter
}

/// Reads the events of a merge with the filter of [`filter`]. Returns none if they exceed the
/// memory limit.
fn hold(mut merge: Merge<'_>, decoder: &mut Decoder, wanted: &Filter) -> io::Result<Vec<Marked>> {
    let (mut held, mut room) = (Vec::new(), MAX_HELD);
    while merge.advance(decoder)? {
        let Some(event) = merge.event(decoder) else { break };
        let Some(one) = Marked::of(&event, decoder) else { continue };
        let Some(left) = room.checked_sub(one.len()) else { return Ok(Vec::new()) };
        room = left;
        if wanted.wants_time(event.session.clock.ns(one.ticks)) {
            held.push(one);
        }
    }
    // The sort is stable, so events of the same time stay in the order of emission.
    held.sort_by_key(|one| one.wall_ns);
    held.reverse();
    Ok(held)
}

impl Marked {
    fn of(event: &Event<'_>, decoder: &Decoder) -> Option<Marked> {
        let ticks = event.marked_ticks()?;
        let same = |one: &crate::sessions::session::Session| one.id == event.session.id;
        let mut held = Marked {
            wall_ns: event.session.clock.wall_ns(ticks),
            ticks,
            session: decoder.state.sessions.iter().position(same)?,
            registry: decoder.state.registry(event.known.fingerprint)?,
            thread: event.thread,
            index: event.index,
            packed_len: event.packed_len,
            offset: event.offset,
            position: event.position,
            payload: Vec::new(),
            raw: Vec::with_capacity(event.raw.len()),
        };
        for raw in event.raw {
            let at = held.payload.len() as u32;
            held.payload.extend_from_slice(raw.run(event.payload));
            held.raw.push(Raw { bits: raw.bits, at, end: held.payload.len() as u32 });
        }
        Some(held)
    }

    fn len(&self) -> usize {
        size_of::<Marked>() + self.payload.len() + size_of_val(&self.raw[..])
    }

    fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        let session = decoder.state.sessions.get(self.session)?;
        let registry = decoder.state.registries.get(self.registry)?;
        Some(Event {
            session,
            thread: self.thread,
            ticks: self.ticks,
            time_ns: session.clock.ns(self.ticks),
            known: registry,
            schema: registry.registry.events.get(self.index)?,
            packed_len: self.packed_len,
            offset: self.offset,
            position: self.position,
            index: self.index,
            payload: &self.payload,
            raw: &self.raw,
        })
    }
}

impl<'s> Retimed<'s> {
    /// Combines `merge` with the events with the mark `time` from `first`. Returns `merge` alone if
    /// there are none.
    pub(crate) fn new(
        merge: Merge<'s>,
        first: Merge<'_>,
        first_decoder: &mut Decoder,
        wanted: &Filter,
    ) -> io::Result<Result<Retimed<'s>, Merge<'s>>> {
        let held = hold(first, first_decoder, wanted)?;
        if held.is_empty() {
            return Ok(Err(merge));
        }
        Ok(Ok(Retimed { merge, held, current: None, waits: false, is_at_end: false }))
    }

    /// Moves to the next event. Returns false at the end.
    pub(crate) fn advance(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        self.current = None;
        while !self.waits && !self.is_at_end {
            match self.merge.advance(decoder)? {
                false => self.is_at_end = true,
                // Events in memory are returned at their own time.
                true => {
                    self.waits = self.merge.event(decoder).is_some_and(|event| event.marked_ticks().is_none())
                }
            }
        }
        let waiting = if self.waits { self.merge.event(decoder).map(|event| event.wall_ns()) } else { None };
        while self.held.last().is_some_and(|held| waiting.is_none_or(|waiting| held.wall_ns <= waiting)) {
            self.current = self.held.pop();
            let event = self.current.as_ref().and_then(|held| held.event(decoder));
            if event.is_none_or(|event| event.passes()) {
                return Ok(true);
            }
            self.current = None;
        }
        Ok(std::mem::take(&mut self.waits))
    }

    /// Returns the current event.
    pub(crate) fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        match &self.current {
            Some(held) => held.event(decoder),
            None => self.merge.event(decoder),
        }
    }
}
