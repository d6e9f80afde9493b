//! Consecutive events of one thread, whose session and registry are looked up once for all.

use super::batch::Head;
use crate::registry::event::Event;
use crate::registry::known_registry::KnownRegistry;
use crate::report::opaque::opaque;
use crate::sessions::session::Session;
use crate::values::raw::Raw;

/// Consecutive events of one thread and one registry; never empty. It ends with the next batch, as
/// an event ends with the next one.
#[derive(Clone, Copy)]
pub struct EventBatch<'a> {
    pub(super) session: &'a Session,
    pub(super) session_index: u32,
    pub(super) thread: u32,
    pub(super) known: &'a KnownRegistry,
    pub(super) registry_index: u32,
    /// The offset of the payload in the input.
    pub(super) offset: u64,
    /// The payload is not compressed.
    pub(super) is_plain: bool,
    /// Number of events recorded in the lane before the part.
    pub(super) before: u64,
    pub(super) payload: &'a [u8],
    pub(super) heads: &'a [Head],
    pub(super) raw: &'a [Raw],
    /// The only event, where events do not come from a block.
    pub(super) one: Option<Event<'a>>,
}

opaque!(EventBatch<'_>, "EventBatch");

impl<'a> EventBatch<'a> {
    /// Makes a batch of one event.
    #[doc(hidden)]
    #[inline]
    pub fn of(event: Event<'a>) -> EventBatch<'a> {
        EventBatch {
            session: event.session,
            session_index: 0,
            thread: event.thread,
            known: event.known,
            registry_index: 0,
            offset: 0,
            is_plain: true,
            before: 0,
            payload: &[],
            heads: &[],
            raw: &[],
            one: Some(event),
        }
    }

    /// Returns the session of the events.
    #[inline]
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns the session's number for the thread that emitted the events.
    #[inline]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Returns the registry of the events, with its fingerprint.
    #[inline]
    pub fn known_registry(&self) -> &'a KnownRegistry {
        self.known
    }

    /// Returns the number of events.
    #[allow(clippy::len_without_is_empty)]
    #[inline]
    pub fn len(&self) -> usize {
        self.heads.len() + usize::from(self.one.is_some())
    }

    /// Returns the batch without the events after the first `most`. Not public API.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn first(&self, most: usize) -> EventBatch<'a> {
        let heads = self.heads.get(..most).unwrap_or(self.heads);
        EventBatch { heads, one: self.one.filter(|_| most > 0), ..*self }
    }

    /// Returns the events.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Event<'a>> + use<'a> {
        let batch = *self;
        self.rows().map(move |row| batch.event(&row))
    }

    /// Returns the events as rows, which are smaller. Not public API.
    #[doc(hidden)]
    #[inline(always)]
    pub fn rows(&self) -> Rows<'a> {
        let EventBatch { heads, raw, one, .. } = *self;
        Rows { heads: heads.iter(), all: raw, one }
    }

    /// Returns the event of a row.
    #[doc(hidden)]
    #[inline(always)]
    pub fn event(&self, row: &Row<'a>) -> Event<'a> {
        if let Some(event) = self.one {
            return event;
        }
        Event {
            session: self.session,
            thread: self.thread,
            ticks: row.ticks,
            time_ns: self.session.clock.ns(row.ticks),
            position: self.before.wrapping_add(row.number.into()),
            known: self.known,
            schema: &self.known.registry.events[row.index as usize],
            index: row.index as usize,
            packed_len: row.packed_len,
            offset: if self.is_plain { self.offset + u64::from(row.at) } else { self.offset },
            payload: self.payload,
            raw: row.raw,
        }
    }
}

/// What differs from event to event of a batch.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub ticks: u64,
    /// Index of the event in its registry.
    pub index: u32,
    pub packed_len: u32,
    /// Offset of the event in the payload.
    at: u32,
    /// Number of the event in its part.
    number: u32,
    raw: &'a [Raw],
}

impl Row<'_> {
    /// Returns the bits of a number that is not an array, as the encoding gives them: a whole
    /// number itself, two's complement if negative.
    #[inline(always)]
    pub fn bits(&self, index: usize) -> u64 {
        self.raw.get(index).map_or(0, |raw| raw.bits)
    }

    /// Returns the same of all parameters.
    #[inline(always)]
    pub fn all_bits(&self) -> impl ExactSizeIterator<Item = u64> {
        self.raw.iter().map(|raw| raw.bits)
    }
}

/// The rows of a batch. An iterator with one loop, so that the compiler inlines the loop's body.
#[doc(hidden)]
pub struct Rows<'a> {
    heads: std::slice::Iter<'a, Head>,
    all: &'a [Raw],
    one: Option<Event<'a>>,
}

opaque!(Rows<'_>, "Rows");

impl<'a> Iterator for Rows<'a> {
    type Item = Row<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Row<'a>> {
        let Some(head) = self.heads.next() else { return self.next_one() };
        Some(Row {
            ticks: head.time,
            index: head.event,
            packed_len: head.len,
            at: head.at,
            number: head.number,
            raw: head.params(self.all),
        })
    }
}

impl<'a> Rows<'a> {
    #[cold]
    fn next_one(&mut self) -> Option<Row<'a>> {
        let Event { ticks, index, packed_len, raw, .. } = self.one.take()?;
        Some(Row { ticks, index: index as u32, packed_len, at: 0, number: 0, raw })
    }
}
