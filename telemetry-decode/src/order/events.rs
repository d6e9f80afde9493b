//! Events in order.

use std::num::NonZeroUsize;
use std::ops::Range;

use telemetry_schema::Registry;

use crate::bytes::blocks::Blocks;
use crate::bytes::source::Source;
use crate::decode::copies::Known;
use crate::decode::decoder::Decoder;
use crate::decode::event_batch::EventBatch;
use crate::decode::part::Part;
use crate::lanes::position::Position;
use crate::logs::events::{LogEvents, LogInput};
use crate::order::ahead::{Ahead, Giving};
use crate::order::by_lane::ByLane;
use crate::order::in_stream::{Feed, InStream};
use crate::order::merge::{MAX_PASSED, Merge};
use crate::order::retimed::Retimed;
use crate::registry::event::Event;
use crate::registry::known_registry::KnownRegistry;
use crate::report::completeness::{Completeness, Gap};
use crate::report::error::Result;
use crate::report::opaque::opaque;
use crate::sessions::session::Session;

/// Events in order. Each is borrowed until the next one is requested: `while let Some(event) =
/// events.next()? { … }`. [`Events::into_owned`] makes an iterator of copies.
///
/// ```no_run
/// use telemetry_decode::Reader;
///
/// let mut events = Reader::open("telemetry.tel")?.events()?;
/// while let Some(event) = events.next()? {
///     println!("{} {}", event.time_ns(), event.name());
/// }
/// if !events.completeness().is_complete() {
///     eprintln!("{}", events.completeness());
/// }
/// # Ok::<(), telemetry_decode::Error>(())
/// ```
#[must_use = "`next` reads the events"]
pub struct Events<'s> {
    pub(crate) decoder: Decoder,
    pub(super) order: Ordered<'s>,
}

opaque!(Events<'_>, "Events");

/// The source of the next event.
#[allow(clippy::large_enum_variant)]
pub(super) enum Ordered<'s> {
    Stream(InStream<'s>),
    Merged(Merge<'s>),
    Retimed(Retimed<'s>),
    Logs(LogEvents<'s>),
}

/// Moves `$order` to its next event, and returns the event. A macro, because a generic function
/// calls the two methods through function items, which the compiler does not inline reliably.
macro_rules! next_of {
    ($order:expr, $decoder:expr) => {{
        if !$order.advance($decoder)? {
            return Ok(None);
        }
        $decoder.report.events += 1;
        Ok($order.event($decoder))
    }};
}

impl<'s> Events<'s> {
    /// Reads any source in one pass.
    pub(crate) fn once(decoder: Decoder, blocks: Blocks<'s>) -> Self {
        let feed = Feed::Once { blocks, header_len: 0, unpacked: None };
        Events { decoder, order: Ordered::Stream(InStream::new(feed)) }
    }

    /// Reads an indexed source in stream order.
    pub(crate) fn listed(decoder: Decoder, source: Source<'s>, blocks: ByLane) -> Self {
        let order = Ordered::Stream(InStream::listed(source, blocks, &decoder, None));
        Events { decoder, order }
    }

    /// Reads an indexed source by time.
    pub(crate) fn merged(decoder: Decoder, merge: Merge<'s>) -> Self {
        Events { decoder, order: Ordered::Merged(merge) }
    }

    /// Reads by time, where some events come at the time in their parameter with the mark `time`.
    pub(crate) fn retimed(decoder: Decoder, retimed: Retimed<'s>) -> Self {
        Events { decoder, order: Ordered::Retimed(retimed) }
    }

    /// Reads logs of other systems.
    pub(crate) fn of_logs(mut decoder: Decoder, input: LogInput<'s>, by_time: bool) -> Result<Self> {
        let logs = LogEvents::new(input, by_time, &mut decoder)?;
        Ok(Events { decoder, order: Ordered::Logs(logs) })
    }

    /// Returns the next event; `None` at the end.
    ///
    /// # Errors
    /// Those of the input. Problems of the stream itself are in [`Events::completeness`]. In one
    /// pass over a pipe, [`Error::Filter`](crate::Error::Filter) if a condition is on values that
    /// all registries so far hide. Then each later block of events is refused, too. If a read of
    /// the pipe failed, the next call goes on after it, as if a read that timed out had waited.
    #[allow(clippy::should_implement_trait)]
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Events { decoder, order } = self;
        // Decides the order once, not for each step.
        match order {
            Ordered::Stream(stream) => next_of!(stream, decoder),
            Ordered::Merged(merge) => next_of!(merge, decoder),
            Ordered::Retimed(retimed) => next_of!(retimed, decoder),
            Ordered::Logs(logs) => next_of!(logs, decoder),
        }
    }

    /// Returns the next events of one thread, as many as are read already; `None` at the end. The
    /// order is that of [`Events::next`]. Lookups and checks are made once for all of them, so this
    /// is the fastest way to read many events.
    ///
    /// ```no_run
    /// # use telemetry_decode::Reader;
    /// let mut events = Reader::open("telemetry.tel")?.events()?;
    /// let mut bytes = 0;
    /// while let Some(batch) = events.next_batch()? {
    ///     bytes += batch.iter().map(|event| u64::from(event.packed_len())).sum::<u64>();
    /// }
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Events::next`].
    pub fn next_batch(&mut self) -> Result<Option<EventBatch<'_>>> {
        if !self.advance()? {
            return Ok(None);
        }
        let Events { decoder, order } = self;
        let batch = match order {
            Ordered::Stream(stream) => {
                let events = stream.batch.pass(stream.batch.left().min(MAX_PASSED));
                decoder.report.events += events.len() as u64 - 1;
                stream
                    .part
                    .as_ref()
                    .and_then(|part| decoder.events(part, stream.feed.payload(), &stream.batch, events))
            }
            Ordered::Merged(merge) => {
                let events = merge.pass();
                decoder.report.events += events.len() as u64 - 1;
                merge.events(decoder, events)
            }
            Ordered::Retimed(retimed) => retimed.event(decoder).map(EventBatch::of),
            Ordered::Logs(logs) => logs.event(decoder).map(EventBatch::of),
        };
        Ok(batch)
    }

    /// Moves to the next event. Returns false at the end.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let found = match &mut self.order {
            Ordered::Stream(stream) => stream.advance(&mut self.decoder)?,
            Ordered::Merged(merge) => merge.advance(&mut self.decoder)?,
            Ordered::Retimed(retimed) => retimed.advance(&mut self.decoder)?,
            Ordered::Logs(logs) => logs.advance(&mut self.decoder)?,
        };
        self.decoder.report.events += u64::from(found);
        Ok(found)
    }

    /// Returns the current event.
    #[inline(always)]
    pub(crate) fn current(&self) -> Option<Event<'_>> {
        match &self.order {
            Ordered::Stream(stream) => stream.event(&self.decoder),
            Ordered::Merged(merge) => merge.event(&self.decoder),
            Ordered::Retimed(retimed) => retimed.event(&self.decoder),
            Ordered::Logs(logs) => logs.event(&self.decoder),
        }
    }

    /// Returns true if events come in stream order.
    pub(crate) fn is_in_stream_order(&self) -> bool {
        matches!(self.order, Ordered::Stream(_))
    }

    /// Moves to the next event of the current part, in stream order. Returns false at its end.
    pub(crate) fn advance_in_part(&mut self) -> bool {
        let Ordered::Stream(stream) = &mut self.order else { return false };
        let found = stream.batch.step() || stream.read_part(&mut self.decoder);
        self.decoder.report.events += u64::from(found);
        found
    }

    /// Returns the next part in stream order, for the caller to read; `None` at the end. Then no
    /// part is current.
    pub(crate) fn next_part(&mut self) -> Result<Option<(&mut Decoder, Part, &[u8])>> {
        let Ordered::Stream(stream) = &mut self.order else { return Ok(None) };
        let part = loop {
            if let Feed::Listed { helpers, .. } = &mut stream.feed {
                // The caller decodes.
                *helpers = None;
            }
            match stream.feed.next(&mut self.decoder, &mut None)? {
                None => return Ok(None),
                Some(None) => {}
                Some(Some(part)) => break part,
            }
        };
        Ok(Some((&mut self.decoder, part, stream.feed.payload())))
    }

    /// Reads and counts all events, but leaves out most of those that are not needed, by registry
    /// and index of the event. Must be called before the first event. Not public API.
    #[doc(hidden)]
    pub fn need(&mut self, is_needed: impl Fn(&Registry, usize) -> bool) {
        if matches!(self.order, Ordered::Merged(_)) {
            // A condition decides what is filtered out, and needs all events for that.
            let registries = self.decoder.state.registries.iter_mut();
            for known in registries.filter(|known| known.test().is_none()) {
                let registry = &known.registry;
                known.plan.need(|event| is_needed(registry, event));
            }
        }
    }

    /// Decodes blocks on this many threads, of which one is the caller's, before their events are
    /// asked for. The events and the accounts are the same. One thread reads logs, pipes in stream
    /// order, streams in memory, and streams whose blocks need each other. Must be called before
    /// the first event, and after [`Events::need`]. Not public API.
    #[doc(hidden)]
    pub fn decode_ahead(&mut self, threads: NonZeroUsize) {
        self.decode_ahead_in(threads, Giving::usual(threads));
    }

    /// Decodes in jobs of other sizes, for tests. Returns false if one thread reads.
    #[doc(hidden)]
    pub fn decode_ahead_in(&mut self, threads: NonZeroUsize, giving: Giving) -> bool {
        match &mut self.order {
            Ordered::Merged(merge) => merge.decode_ahead(threads, giving, &self.decoder),
            Ordered::Stream(InStream { feed: Feed::Listed { source, blocks, helpers, .. }, .. }) => {
                let order = |groups: &[Range<u64>]| blocks.order(groups);
                *helpers = Ahead::new(threads, giving, source, blocks.all(), &self.decoder, order);
                helpers.is_some()
            }
            Ordered::Stream(_) | Ordered::Retimed(_) | Ordered::Logs(_) => false,
        }
    }

    /// Returns all sessions and registries, if they are known before the first event, and events
    /// come from blocks. Then other threads can read copies of the batches. Not public API.
    #[doc(hidden)]
    #[must_use]
    pub fn known(&self) -> Option<Known> {
        match &self.order {
            Ordered::Stream(InStream { feed: Feed::Listed { .. }, .. }) | Ordered::Merged(_) => {
                let state = self.decoder.state.fork();
                Some(Known { sessions: state.sessions, registries: state.registries })
            }
            Ordered::Stream(_) | Ordered::Retimed(_) | Ordered::Logs(_) => None,
        }
    }

    /// Returns the counts of read and unread events so far. They are the verdict after `next` has
    /// returned `None`.
    #[must_use = "it says whether events are missing"]
    pub fn completeness(&self) -> Completeness {
        self.decoder.completeness()
    }

    /// Returns the number of bytes accounted for so far.
    pub fn bytes_done(&self) -> u64 {
        self.decoder.report.bytes.total()
    }

    /// Returns the number of damaged ranges and undecodable parts so far. When it grows,
    /// [`Events::gaps`] has more.
    pub fn damages(&self) -> u64 {
        self.decoder.report.damages()
    }

    /// Returns the known gaps, where events of lanes are lost, missing, excluded or unreadable. In
    /// time order, these include all gaps before the latest event: what headers state is known from
    /// the start, and damage is found before the first event after it.
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        self.decoder.gaps()
    }

    /// Returns the sessions so far. They are all known from the start, except for a pipe in stream
    /// order.
    pub fn sessions(&self) -> &[Session] {
        &self.decoder.state.sessions
    }

    /// Returns the position in each lane, including events of earlier readers, for a later reader
    /// ([`crate::Reader::resume`]).
    #[must_use]
    pub fn positions(&self) -> Vec<Position> {
        let id = |session: u32| self.decoder.state.sessions[session as usize].id;
        self.decoder.lanes.iter().map(|lane| Position::of(lane, id(lane.key.session))).collect()
    }

    /// Returns the number of events of each type in logs of other systems, whatever the filter,
    /// even before the first event is read. Returns `None` for streams.
    pub fn log_counts(&self) -> Option<Vec<LogCount>> {
        let Ordered::Logs(logs) = &self.order else { return None };
        let counts = logs.counts();
        Some(counts.map(|(registry, event, count)| LogCount { registry, event, count }).collect())
    }

    /// Returns the decompressed length of logs of other systems. Returns `None` for streams.
    pub fn log_bytes(&self) -> Option<u64> {
        let Ordered::Logs(logs) = &self.order else { return None };
        Some(logs.len())
    }

    /// Returns the registries from the caller, and those found so far.
    pub fn registries(&self) -> &[KnownRegistry] {
        &self.decoder.state.registries
    }
}

/// The number of events of one type in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogCount {
    /// Index into [`Events::registries`].
    pub registry: usize,
    /// Index of the event type in the registry.
    pub event: usize,
    /// Number of events.
    pub count: u64,
}
