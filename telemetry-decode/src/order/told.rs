//! Events that tell of another moment than that of their emission, as the mark `time` of the relation says: by time
//! they come at that moment.
//!
//! They may stand far behind what they tell of, so they are read before all others, and held.

use std::io;

use telemetry_schema::Registry;

use crate::decode::decoder::Decoder;
use crate::order::merge::Merge;
use crate::registry::event::Event;
use crate::registry::filter::{Filter, Selector};
use crate::values::raw::Raw;

/// Bytes that are held. If there is more, all events come at the time of their emission.
const ROOM: usize = 32 << 20;

/// An event that is held, of the moment that it tells of.
struct Held {
    wall_ns: i64,
    ticks: u64,
    session: usize,
    registry: usize,
    thread: u32,
    index: usize,
    packed_len: u32,
    offset: u64,
    payload: Vec<u8>,
    raw: Vec<Raw>,
}

/// The events of a merge, with those that are held at their moments.
pub(crate) struct Told<'s> {
    merge: Merge<'s>,
    /// By time, the next one last.
    held: Vec<Held>,
    /// The event given out last, if it was one of these.
    current: Option<Held>,
    /// The merge is at an event that was not given out yet.
    waits: bool,
    is_at_end: bool,
}

/// True if a relation has events that tell of another moment.
pub(crate) fn has_some(registry: &Registry) -> bool {
    registry.events.iter().any(|event| event.time.is_some())
}

/// A filter that wants those of what another one wants that may tell of another moment, whenever they were emitted.
pub(crate) fn filter<'r>(wanted: &Filter, registries: impl Iterator<Item = &'r Registry>) -> Filter {
    let mut filter = Filter { from_ns: None, until_ns: None, ..wanted.clone() };
    if filter.kinds.is_empty() && filter.events.is_empty() {
        for registry in registries {
            let told = registry.events.iter().filter(|event| event.time.is_some());
            filter
                .events
                .extend(told.map(|event| Selector::Text(format!("{}:{}", registry.name, event.name))));
        }
    }
    filter
}

/// What is held of the events of a merge that has the filter of [`filter`]; none if that is too much, or nothing.
fn hold(mut merge: Merge<'_>, decoder: &mut Decoder, wanted: &Filter) -> io::Result<Vec<Held>> {
    let (mut held, mut room) = (Vec::new(), ROOM);
    while merge.advance(decoder)? {
        let Some(event) = merge.event(decoder) else { break };
        let Some(one) = Held::of(&event, decoder) else { continue };
        let Some(left) = room.checked_sub(one.len()) else { return Ok(Vec::new()) };
        room = left;
        if wanted.wants_time(event.session.clock.ns(one.ticks)) {
            held.push(one);
        }
    }
    // Of the same time, those that were emitted first come first.
    held.sort_by_key(|one| one.wall_ns);
    held.reverse();
    Ok(held)
}

impl Held {
    fn of(event: &Event<'_>, decoder: &Decoder) -> Option<Held> {
        let ticks = event.told_ticks()?;
        let same = |one: &crate::sessions::session::Session| one.id == event.session.id;
        let mut held = Held {
            wall_ns: event.session.clock.wall_ns(ticks),
            ticks,
            session: decoder.known.sessions.iter().position(same)?,
            registry: decoder.known.registry(event.known.fingerprint)?,
            thread: event.thread,
            index: event.index,
            packed_len: event.packed_len,
            offset: event.offset,
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
        size_of::<Held>() + self.payload.len() + size_of_val(&self.raw[..])
    }

    fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        let session = decoder.known.sessions.get(self.session)?;
        let registry = decoder.known.registries.get(self.registry)?;
        Some(Event {
            session,
            thread: self.thread,
            ticks: self.ticks,
            time_ns: session.clock.ns(self.ticks),
            known: registry,
            schema: registry.registry.events.get(self.index)?,
            packed_len: self.packed_len,
            offset: self.offset,
            index: self.index,
            payload: &self.payload,
            raw: &self.raw,
        })
    }
}

impl<'s> Told<'s> {
    /// The events of `merge`, of which `first` has those that tell of another moment. Without any that is the merge.
    pub(crate) fn new(
        merge: Merge<'s>,
        first: Merge<'_>,
        first_decoder: &mut Decoder,
        wanted: &Filter,
    ) -> io::Result<Result<Told<'s>, Merge<'s>>> {
        let held = hold(first, first_decoder, wanted)?;
        if held.is_empty() {
            return Ok(Err(merge));
        }
        Ok(Ok(Told { merge, held, current: None, waits: false, is_at_end: false }))
    }

    /// Moves to the next event; false at the end.
    pub(crate) fn advance(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        self.current = None;
        while !self.waits && !self.is_at_end {
            match self.merge.advance(decoder)? {
                false => self.is_at_end = true,
                // Those that are held come, or came, at their moment.
                true => {
                    self.waits = self.merge.event(decoder).is_some_and(|event| event.told_ticks().is_none())
                }
            }
        }
        let waiting = if self.waits { self.merge.event(decoder).map(|event| event.wall_ns()) } else { None };
        if self.held.last().is_some_and(|held| waiting.is_none_or(|waiting| held.wall_ns <= waiting)) {
            self.current = self.held.pop();
            return Ok(true);
        }
        Ok(std::mem::take(&mut self.waits))
    }

    /// The event moved to.
    pub(crate) fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        match &self.current {
            Some(held) => held.event(decoder),
            None => self.merge.event(decoder),
        }
    }
}
