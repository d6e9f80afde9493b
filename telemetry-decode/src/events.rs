//! Events, one after the other.

use std::io;

use telemetry_format::BlockType;

use crate::blocks::{Blocks, Piece};
use crate::completeness::Completeness;
use crate::decoder::{Decoder, Part, Want};
use crate::event::Event;
use crate::index::{Choice, IndexedBlock};
use crate::lane::Stretch;
use crate::load::Loader;
use crate::merge::Merge;
use crate::registries::KnownRegistry;
use crate::session::Session;
use crate::source::Source;

/// Events, one after the other. Each is borrowed until the next is asked for:
/// `while let Some(event) = events.next()? { … }`.
pub struct Events<'s> {
    decoder: Decoder,
    order: Ordered<'s>,
}

/// Where the next event comes from.
#[allow(clippy::large_enum_variant)]
enum Ordered<'s> {
    Once(Once<'s>),
    Listed(Listed<'s>),
    Merged(Merge<'s>),
}

impl<'s> Events<'s> {
    /// In one pass over anything.
    pub(crate) fn once(decoder: Decoder, blocks: Blocks<'s>) -> Self {
        Events { decoder, order: Ordered::Once(Once { blocks, part: None, header_len: 0 }) }
    }

    /// As they stand in an indexed source.
    pub(crate) fn listed(decoder: Decoder, source: Source<'s>, blocks: Vec<IndexedBlock>) -> Self {
        let Choice { wants, .. } = Choice::new(&blocks, &decoder);
        let listed = Listed { source, blocks, wants, next: 0, loader: Loader::default(), part: None };
        Events { decoder, order: Ordered::Listed(listed) }
    }

    /// By time.
    pub(crate) fn merged(decoder: Decoder, source: Source<'s>, blocks: Vec<IndexedBlock>) -> Self {
        let merge = Merge::new(source, blocks, &decoder);
        Events { decoder, order: Ordered::Merged(merge) }
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// Those of the input. Whatever is wrong with the stream itself is in [`Events::completeness`].
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<Event<'_>>> {
        let Events { decoder, order } = self;
        let found = match order {
            Ordered::Once(once) => once.advance(decoder)?,
            Ordered::Listed(listed) => listed.advance(decoder)?,
            Ordered::Merged(merge) => merge.advance(decoder)?,
        };
        if !found {
            return Ok(None);
        }
        let at = match order {
            Ordered::Once(once) => {
                once.part.as_ref().map(|part| (part, once.blocks.payload(once.header_len)))
            }
            Ordered::Listed(listed) => {
                listed.part.as_ref().map(|part| (part, listed.loader.payload(&listed.source)))
            }
            Ordered::Merged(merge) => merge.current(),
        };
        Ok(at.map(|(part, payload)| decoder.event(part, payload)))
    }

    /// What was read so far, and what was not; the verdict once `next` has given `None`.
    pub fn completeness(&self) -> Completeness {
        self.decoder.completeness()
    }

    /// The sessions found so far; all of them, from the start, unless a pipe is read in stream order.
    pub fn sessions(&self) -> &[Session] {
        &self.decoder.known.sessions
    }

    /// The registries that the caller added and those found so far.
    pub fn registries(&self) -> &[KnownRegistry] {
        &self.decoder.known.registries
    }
}

/// Stream order, in one pass.
struct Once<'s> {
    blocks: Blocks<'s>,
    /// Of the block given out last.
    part: Option<Part>,
    header_len: usize,
}

impl Once<'_> {
    #[inline]
    fn advance(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        loop {
            if let Some(part) = &mut self.part
                && decoder.read_until_wanted(part, self.blocks.payload(self.header_len))
            {
                return Ok(true);
            }
            if !self.next_part(decoder)? {
                return Ok(false);
            }
        }
    }

    #[cold]
    fn next_part(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        self.part = None;
        match self.blocks.next()? {
            None => return Ok(false),
            Some(Piece::Damage(damage, header)) => decoder.take_damage(damage, header.as_ref()),
            Some(Piece::Block(block)) if block.header.block_type == BlockType::Events => {
                let lane = decoder.lane(&block.header);
                let last = block.header.flags & telemetry_format::flags::LAST != 0;
                let want = decoder.want(lane, &Stretch::from(&block.header), last);
                self.header_len = block.header.header_len.into();
                self.part = decoder.open(block.at, &block.header, want);
            }
            Some(Piece::Block(block)) => decoder.take(&block),
        }
        Ok(true)
    }
}

/// Stream order, by an index.
struct Listed<'s> {
    source: Source<'s>,
    blocks: Vec<IndexedBlock>,
    wants: Vec<Want>,
    next: usize,
    loader: Loader,
    part: Option<Part>,
}

impl Listed<'_> {
    #[inline]
    fn advance(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        loop {
            if let Some(part) = &mut self.part
                && decoder.read_until_wanted(part, self.loader.payload(&self.source))
            {
                return Ok(true);
            }
            if !self.next_part(decoder)? {
                return Ok(false);
            }
        }
    }

    #[cold]
    fn next_part(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        let Some(block) = self.blocks.get(self.next) else { return Ok(false) };
        self.part = self.loader.open(&self.source, block, self.wants[self.next], decoder)?;
        self.next += 1;
        Ok(true)
    }
}
