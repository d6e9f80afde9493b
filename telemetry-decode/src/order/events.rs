//! Events in order.

use std::borrow::Cow;
use std::io;

use telemetry_format::{BlockType, flags};
use telemetry_schema::Registry;

use crate::bytes::blocks::{Blocks, Piece};
use crate::bytes::compression::unpack;
use crate::bytes::source::Source;
use crate::decode::batch::Batch;
use crate::decode::copies::Known;
use crate::decode::decoder::{Decoder, Place, Want};
use crate::decode::event_batch::EventBatch;
use crate::decode::part::Part;
use crate::lanes::lane::EventRange;
use crate::lanes::position::Position;
use crate::logs::events::{LogEvents, LogInput};
use crate::order::block::IndexedBlock;
use crate::order::by_lane::{ByLane, InStreamOrder};
use crate::order::load::{Loaded, Loader};
use crate::order::merge::Merge;
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
        Events { decoder, order: Ordered::Stream(InStream { feed, part: None, batch: Batch::default() }) }
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
    /// Those of the input. Problems of the stream itself are in [`Events::completeness`].
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
                let events = stream.batch.pass(stream.batch.left());
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
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
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
    pub(crate) fn next_part(&mut self) -> io::Result<Option<(&mut Decoder, Part, &[u8])>> {
        let Ordered::Stream(stream) = &mut self.order else { return Ok(None) };
        let part = loop {
            match stream.feed.next(&mut self.decoder)? {
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

    /// Returns the known gaps, where events of lanes are missing or unreadable. In time order,
    /// these include all gaps before the latest event: losses and missing blocks are known from the
    /// start, and damage is found before the first event after it.
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

/// Stream order.
pub(super) struct InStream<'s> {
    pub(super) feed: Feed<'s>,
    /// The part whose events are in the batch.
    part: Option<Part>,
    batch: Batch,
}

/// The source of blocks.
pub(super) enum Feed<'s> {
    /// One pass over any source.
    Once {
        blocks: Blocks<'s>,
        header_len: usize,
        /// The decompressed payload, if it was compressed.
        unpacked: Option<Vec<u8>>,
    },
    /// The blocks of an index.
    Listed {
        source: Source<'s>,
        blocks: Box<InStreamOrder>,
        loader: Loader<'s>,
        /// The blocks so far, if another decoder needs them.
        taken: Option<Vec<TakenBlock>>,
    },
}

/// A block that was taken from a list.
pub(super) struct TakenBlock {
    pub(super) block: IndexedBlock,
    pub(super) want: Want,
    pub(super) loaded: Loaded,
    /// It has a part that was read.
    pub(super) is_read: bool,
}

impl<'s> InStream<'s> {
    /// Begins to read blocks of an index. Keeps the blocks in `taken`, if there is a list.
    pub(super) fn listed(
        source: Source<'s>,
        blocks: ByLane,
        decoder: &Decoder,
        taken: Option<Vec<TakenBlock>>,
    ) -> InStream<'s> {
        let blocks = Box::new(InStreamOrder::new(blocks, decoder));
        let feed = Feed::Listed { source, blocks, loader: Loader::default(), taken };
        InStream { feed, part: None, batch: Batch::default() }
    }

    /// Moves to the next event. Returns false at the end.
    #[inline(always)]
    fn advance(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        Ok(self.batch.step() || self.read_on(decoder)?)
    }

    /// Moves to the next batch of events. Returns false at the end.
    #[cold]
    #[inline(never)]
    fn read_on(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        loop {
            if self.read_part(decoder) {
                return Ok(true);
            }
            match self.feed.next(decoder)? {
                None => return Ok(false),
                Some(part) => self.part = part,
            }
        }
    }

    /// Moves to the next batch of the current part. Returns false at its end.
    fn read_part(&mut self, decoder: &mut Decoder) -> bool {
        if let Some(part) = &mut self.part {
            decoder.read(part, self.feed.payload(), &mut self.batch);
            if !self.batch.is_empty() {
                return true;
            }
        }
        self.part = None;
        false
    }

    #[inline(always)]
    fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        decoder.event(self.part.as_ref()?, self.feed.payload(), &self.batch)
    }
}

impl Feed<'_> {
    /// Returns the payload of the latest block.
    #[inline(always)]
    fn payload(&self) -> &[u8] {
        match self {
            Feed::Once { unpacked: Some(payload), .. } => payload,
            Feed::Once { blocks, header_len, .. } => blocks.payload(*header_len),
            Feed::Listed { loader, .. } => loader.payload(),
        }
    }

    /// Takes the next block or damage. Returns its part if it has selected events; `None` at the
    /// end.
    fn next(&mut self, decoder: &mut Decoder) -> io::Result<Option<Option<Part>>> {
        match self {
            Feed::Once { blocks, header_len, unpacked } => {
                *unpacked = None;
                match blocks.next()? {
                    None => return Ok(None),
                    Some(Piece::Damage(damage, header)) => decoder.take_damage(damage, header.as_ref()),
                    Some(Piece::Block(block)) if block.header.block_type == BlockType::Events => {
                        if !decoder.admits(block.at, &block.header) {
                            return Ok(Some(None));
                        }
                        let lane = decoder.lane(&block.header);
                        let last = block.header.flags & flags::LAST != 0;
                        let want = decoder.want(lane, &EventRange::from(&block.header), last);
                        if decoder.state.has_names(block.header.registry, block.header.kind) {
                            decoder.state.names_block(lane, &block.header, block.payload);
                        }
                        *header_len = block.header.header_len.into();
                        let range = block.at..block.at + block.header.block_len();
                        let (header, wrong) = match (want, unpack(&block.header, block.payload)) {
                            (Want::No, _) => (block.header, None),
                            (_, Ok((header, payload))) => {
                                if let Cow::Owned(payload) = payload {
                                    *unpacked = Some(payload);
                                }
                                (header, None)
                            }
                            (_, Err(reason)) => (block.header, Some(reason)),
                        };
                        return Ok(Some(decoder.open(Place { range, wrong }, &header, want)));
                    }
                    Some(Piece::Block(block)) => decoder.take(&block),
                }
                Ok(Some(None))
            }
            Feed::Listed { source, blocks, loader, taken } => {
                let Some((block, want)) = blocks.next()? else { return Ok(None) };
                let Some(taken) = taken else { return Ok(Some(loader.open(source, &block, want, decoder)?)) };
                let loaded = loader.load_wanted(source, &block, want)?;
                let part = loaded.clone().open(&block, want, decoder);
                taken.push(TakenBlock { block, want, loaded, is_read: part.is_some() });
                Ok(Some(part))
            }
        }
    }
}
