//! Events in stream order: one block after the other.

use std::borrow::Cow;

use telemetry_format::{BlockType, flags};

use crate::bytes::blocks::{Blocks, Piece};
use crate::bytes::compression::unpack;
use crate::bytes::source::Source;
use crate::decode::batch::Batch;
use crate::decode::decoder::{Decoder, Place, Want};
use crate::decode::part::{Part, PartState};
use crate::lanes::lane::EventRange;
use crate::order::ahead::{Ahead, ReadPart};
use crate::order::block::IndexedBlock;
use crate::order::by_lane::{ByLane, InStreamOrder};
use crate::order::load::{Loaded, Loader};
use crate::registry::event::Event;
use crate::report::error::Result;

/// Stream order.
pub(super) struct InStream<'s> {
    pub(super) feed: Feed<'s>,
    /// The part whose events are in the batch.
    pub(super) part: Option<Part>,
    pub(super) batch: Batch,
    /// The end of that part, if another thread has read it.
    end: Option<PartState>,
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
        /// Decodes blocks on other threads.
        helpers: Option<Box<Ahead>>,
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
        InStream::new(Feed::Listed { source, blocks, loader: Loader::default(), taken, helpers: None })
    }

    pub(super) fn new(feed: Feed<'s>) -> InStream<'s> {
        InStream { feed, part: None, batch: Batch::default(), end: None }
    }

    /// Moves to the next event. Returns false at the end.
    #[inline(always)]
    pub(super) fn advance(&mut self, decoder: &mut Decoder) -> Result<bool> {
        Ok(self.batch.step() || self.read_on(decoder)?)
    }

    /// Moves to the next batch of events. Returns false at the end.
    #[cold]
    #[inline(never)]
    fn read_on(&mut self, decoder: &mut Decoder) -> Result<bool> {
        loop {
            if self.read_part(decoder) {
                return Ok(true);
            }
            let mut read = None;
            match self.feed.next(decoder, &mut read)? {
                None => return Ok(false),
                Some(part) => self.part = part,
            }
            if let Some(ReadPart { batch, end, .. }) = read {
                (self.batch, self.end) = (batch, Some(end));
                if !self.batch.is_empty() {
                    return Ok(true);
                }
            }
        }
    }

    /// Moves to the next batch of the current part. Returns false at its end.
    pub(super) fn read_part(&mut self, decoder: &mut Decoder) -> bool {
        if let Some(end) = self.end.take() {
            // All of its events were returned.
            if let Some(mut part) = self.part.take() {
                decoder.finish(&mut part, end);
            }
            let batch = std::mem::take(&mut self.batch);
            if let Feed::Listed { loader, helpers: Some(helpers), .. } = &mut self.feed {
                helpers.give_back(loader, batch);
            }
            return false;
        }
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
    pub(super) fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        decoder.event(self.part.as_ref()?, self.feed.payload(), &self.batch)
    }
}

impl Feed<'_> {
    /// Returns the payload of the latest block.
    #[inline(always)]
    pub(super) fn payload(&self) -> &[u8] {
        match self {
            Feed::Once { unpacked: Some(payload), .. } => payload,
            Feed::Once { blocks, header_len, .. } => blocks.payload(*header_len),
            Feed::Listed { loader, .. } => loader.payload(),
        }
    }

    /// Takes the next block or damage. Returns its part if it has selected events; `None` at the
    /// end. Sets `read` if another thread has read them.
    pub(super) fn next(
        &mut self,
        decoder: &mut Decoder,
        read: &mut Option<ReadPart>,
    ) -> Result<Option<Option<Part>>> {
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
                        decoder.check_hidden()?;
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
                    Some(Piece::Block(block)) => {
                        decoder.take(&block);
                        // A registry comes just before the first block that needs it. So at a sync
                        // block, all registries of the blocks so far are known, and their sessions.
                        if block.header.block_type == BlockType::Sync {
                            decoder.check_hidden()?;
                        }
                    }
                }
                Ok(Some(None))
            }
            Feed::Listed { source, blocks, loader, taken, helpers } => {
                let Some((place, block, want)) = blocks.next()? else { return Ok(None) };
                if let Some(found) = helpers.as_mut().and_then(|helpers| helpers.take(place, blocks.all())) {
                    let part = found.loaded.open(&block, want, decoder);
                    debug_assert_eq!(part.is_some(), found.read.is_some(), "the same decision as elsewhere");
                    if let Some(mut found) = found.read {
                        *loader = std::mem::take(&mut found.loader);
                        *read = Some(*found);
                    }
                    return Ok(Some(part));
                }
                let Some(taken) = taken else { return Ok(Some(loader.open(source, &block, want, decoder)?)) };
                let loaded = loader.load_wanted(source, &block, want)?;
                let part = loaded.clone().open(&block, want, decoder);
                taken.push(TakenBlock { block, want, loaded, is_read: part.is_some() });
                Ok(Some(part))
            }
        }
    }
}
