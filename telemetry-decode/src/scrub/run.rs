//! Writes a stream again, block by block, without the values of sensitive parameters.

use std::io::{self, Write};

use telemetry_format::{BlockType, HEADER_LEN, Header, MAX_PAYLOAD, codec, flags};
use telemetry_schema::Sensitive;

use super::how::Scrub;
use super::labels::Labels;
use super::part::{Marked, Parts};
use crate::bytes::blocks::{Block, Blocks, Piece};
use crate::bytes::compression::{pack, unpack};
use crate::bytes::source::Source;
use crate::decode::state::StreamState;
use crate::sessions::facts::Facts;
use crate::sessions::session::Session;
use crate::write::block::write_block;

/// What [`Reader::scrub`](crate::Reader::scrub) wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scrubbed {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of events.
    pub events: u64,
    /// The number of values that were replaced.
    pub replaced: u64,
    /// The number of events that could not be read, so that they were left out.
    pub left_out: u64,
    /// The number of bytes that are not a whole block, or one of an unknown type. They were left
    /// out.
    pub bytes_left_out: u64,
}

/// Writes the blocks of a source, whose registries are known.
pub(crate) fn scrub(
    source: &Source<'_>,
    state: &StreamState,
    scrub: &Scrub,
    out: &mut dyn Write,
) -> io::Result<Scrubbed> {
    let strictest = state.registries.iter().filter_map(|known| known.registry.sensitive_labels()).max();
    let marked: Vec<Marked> =
        state.registries.iter().map(|known| Marked::new(&known.registry, strictest.is_some())).collect();
    let labels = match strictest {
        Some(strictest) => labels_of(source, state, &marked, strictest)?,
        None => Labels::default(),
    };
    let mut writing =
        Writing { state, scrub, marked, labels, parts: Parts::default(), out, done: Scrubbed::default() };
    let mut blocks = Blocks::skipping(source);
    while let Some(piece) = blocks.next()? {
        match piece {
            Piece::Block(block) => writing.block(&block)?,
            Piece::Damage(damage, header) => {
                writing.done.bytes_left_out += damage.range.end - damage.range.start;
                if let Some(header) = header.filter(|header| header.block_type == BlockType::Events) {
                    writing.leave_out(&header, header.events)?;
                }
            }
        }
    }
    writing.out.flush()?;
    Ok(Scrubbed { replaced: writing.parts.replaced, ..writing.done })
}

/// Returns which labels sensitive parameters stand for, and which others.
fn labels_of(
    source: &Source<'_>,
    state: &StreamState,
    marked: &[Marked],
    strictest: Sensitive,
) -> io::Result<Labels> {
    let mut labels = Labels::new(strictest);
    let mut blocks = Blocks::skipping(source);
    while let Some(piece) = blocks.next()? {
        let Piece::Block(Block { header, payload, .. }) = piece else { continue };
        let is_of_events = header.block_type == BlockType::Events && !header.is_withheld();
        let Some(index) = state.registry(header.registry).filter(|_| is_of_events) else { continue };
        let bit = 1_u64.checked_shl(header.kind.into()).unwrap_or(0);
        if marked[index].label_kinds & bit == 0 {
            continue;
        }
        if let Ok((header, payload)) = unpack(&header, payload) {
            labels.take(&state.registries[index], &marked[index].registry, &header, &payload);
        }
    }
    Ok(labels)
}

/// A stream that is being written.
struct Writing<'a> {
    state: &'a StreamState,
    scrub: &'a Scrub,
    /// By index of the registry.
    marked: Vec<Marked>,
    labels: Labels,
    parts: Parts,
    out: &'a mut dyn Write,
    done: Scrubbed,
}

impl Writing<'_> {
    fn block(&mut self, block: &Block<'_>) -> io::Result<()> {
        match block.header.block_type {
            BlockType::Events => self.events(block),
            BlockType::Session => self.session(block),
            BlockType::Registry | BlockType::Thread | BlockType::Sync => self.copy(block),
            _ => {
                self.done.bytes_left_out += block.bytes.len() as u64;
                Ok(())
            }
        }
    }

    fn copy(&mut self, block: &Block<'_>) -> io::Result<()> {
        self.done.blocks += 1;
        self.out.write_all(block.bytes)
    }

    fn events(&mut self, block: &Block<'_>) -> io::Result<()> {
        let header = &block.header;
        let index = self.state.registry(header.registry);
        if header.is_withheld() {
            return self.copy(block);
        }
        if index.is_some_and(|index| !self.marked[index].has_kind(header.kind)) {
            self.done.events += u64::from(header.events);
            return self.copy(block);
        }
        let rewritten = index.and_then(|index| {
            let (plain, payload) = unpack(header, block.payload).ok()?;
            let known = &self.state.registries[index];
            self.parts.rewrite(known, &self.marked[index], (self.scrub, &self.labels), &plain, &payload)
        });
        match rewritten {
            Some((new, payload)) => {
                self.done.events += u64::from(new.events);
                let events = header.events - new.events;
                self.write(new, &payload, header.codec)?;
                if events == 0 { Ok(()) } else { self.leave_out(header, events) }
            }
            // Nothing says what is sensitive in it, or where its values are.
            None => self.leave_out(header, header.events),
        }
    }

    /// Leaves out the last events of a block. A block without events says that they were recorded,
    /// and what the lane has lost.
    fn leave_out(&mut self, header: &Header, events: u32) -> io::Result<()> {
        self.done.left_out += u64::from(events);
        let before = header.before.saturating_add(header.events.into());
        let (seq, end) = (header.seq.wrapping_add(1), header.end_ticks);
        // Readers take the rate of the clock from this pair, so it is of one moment.
        let (base_ticks, base_wall) = match self.state.known_session(header.session) {
            Some(session) => (end, u64::try_from(session.clock.wall_ns(end)).unwrap_or(0)),
            None => (header.base_ticks, header.base_wall),
        };
        // What a shipper says of events that it shed stays so.
        let flags = header.flags & flags::SHED;
        self.write(
            Header { events: 0, before, seq, base_ticks, base_wall, offset: 0, flags, ..header.clone() },
            &[],
            codec::NONE,
        )
    }

    /// Adds the fact that the session is scrubbed.
    fn session(&mut self, block: &Block<'_>) -> io::Result<()> {
        let Ok((header, payload)) = unpack(&block.header, block.payload) else { return self.copy(block) };
        // A longer text has the fact in its last part.
        if header.flags & flags::LAST == 0 {
            return self.copy(block);
        }
        let text = self.scrub.text();
        let (mut facts, wrong) = Facts::read(&payload);
        let is_whole = header.offset == 0 && wrong.is_none();
        let new = match is_whole {
            true => {
                facts.set(Session::SCRUBBED, text);
                facts.to_toml()
            }
            false => format!("{}\n{} = \"{text}\"\n", String::from_utf8_lossy(&payload), Session::SCRUBBED),
        };
        self.write(header, new.as_bytes(), block.header.codec)
    }

    /// Writes a block, compressed if it was.
    fn write(&mut self, header: Header, payload: &[u8], packing: u8) -> io::Result<()> {
        if payload.len() > MAX_PAYLOAD as usize {
            let (len, thread) = (payload.len(), header.thread);
            return Err(io::Error::other(format!(
                "a block of thread {thread} becomes {len} bytes with the new values, expected at most \
                 {MAX_PAYLOAD}; help: `drop` makes values shorter than `hash`"
            )));
        }
        self.done.blocks += 1;
        let header = Header { header_len: HEADER_LEN as u16, codec: codec::NONE, ..header };
        match Some(payload).filter(|_| packing != codec::NONE).and_then(pack) {
            Some(packed) => {
                let unpacked_len = payload.len() as u32;
                let header = Header { codec: codec::DEFLATE, unpacked_len, ..header };
                Ok(write_block(self.out, header, &packed)?)
            }
            None => Ok(write_block(self.out, header, payload)?),
        }
    }
}
