//! Blocks of an index, read when they are needed.

use std::io;
use std::ops::Range;

use telemetry_format::{HEADER_LEN, Header, codec};

use crate::bytes::blocks::wrong_payload;
use crate::bytes::compression::unpack;
use crate::bytes::source::Source;
use crate::bytes::spill::Spill;
use crate::decode::decoder::{Decoder, Place, Want};
use crate::decode::part::{Part, Window};
use crate::order::index::IndexedBlock;
use crate::report::completeness::{Cause, Damage, Reason};

/// Bytes that are held of the payload of a block that is one of many.
const WIDTH: usize = 8 << 10;

/// A compressed payload that is no longer than this, unpacked, is held whole where there is room.
const WHOLE: usize = 64 << 10;

/// When fewer than these are left, the next ones are read.
const LOW: usize = 2 << 10;

/// Bytes that are kept for the next block to be checked in; those of a longer one are given back.
const SCRATCH: usize = 1 << 20;

/// Holds the payload of one block, or some of it.
#[derive(Default)]
pub(crate) struct Loader<'s> {
    /// The payload, if it stands in memory that is the source.
    in_place: Option<&'s [u8]>,
    /// Else the block, or some of its payload.
    buffer: Vec<u8>,
    /// Where in the buffer the payload is.
    start: usize,
    end: usize,
    /// Where what is here begins in the payload.
    at: usize,
    /// Where the payload is in the source.
    place: Range<u64>,
    /// Bytes of it, unpacked.
    len: usize,
    /// How many of them are held, if there are that many.
    width: usize,
    /// What is here reaches to its end.
    is_last: bool,
    /// What is here is less than the next event.
    is_short: bool,
    /// It is compressed in the source.
    is_packed: bool,
    /// It was unpacked to this place of the spill, where it is read from.
    spilled: Option<Range<u64>>,
}

impl<'s> Loader<'s> {
    /// The payload of the block opened last.
    #[inline(always)]
    pub(crate) fn payload(&self) -> &[u8] {
        match self.in_place {
            Some(payload) => payload,
            None => self.buffer.get(self.start..self.end).unwrap_or_default(),
        }
    }

    /// As [`Loader::open`]; then only some of the payload is held, or none if there is no `room`, and the memory is given
    /// back to `scratch`.
    pub(crate) fn open_narrow(
        &mut self,
        from: (&Source<'s>, &mut Spill),
        block: &IndexedBlock,
        want: Want,
        decoder: &mut Decoder,
        scratch: &mut Vec<u8>,
        room: bool,
    ) -> io::Result<Option<Part>> {
        let (source, spill) = from;
        self.buffer = std::mem::take(scratch);
        let mut part = self.open(source, block, want, decoder);
        let mut first = Vec::new();
        if let Ok(Some(begun)) = &mut part
            && self.in_place.is_none()
        {
            let is_whole = self.is_packed && self.len <= WHOLE && room;
            let most = if is_whole { WHOLE } else { WIDTH };
            if self.is_packed && !is_whole {
                self.spilled = spill.put(self.payload())?;
                if self.spilled.is_none() {
                    decoder.give_up(begun, Reason::NoRoom(self.len as u32));
                    part = Ok(None);
                }
            }
            let payload = self.payload();
            first.extend_from_slice(&payload[..payload.len().min(if room { most } else { 0 })]);
            self.is_last = first.len() == self.len;
            (self.start, self.end) = (0, first.len());
        }
        *scratch = std::mem::replace(&mut self.buffer, first);
        if scratch.capacity() > SCRATCH {
            *scratch = Vec::new();
        }
        part
    }

    /// What is held of the payload of a block that was opened narrowly, at a place in it and behind that.
    pub(crate) fn window(
        &mut self,
        source: &Source<'s>,
        spill: &Spill,
        pos: usize,
    ) -> io::Result<Window<'_>> {
        if !self.is_last && (self.is_short || self.left(pos) < LOW) {
            let rest = self.len.saturating_sub(pos);
            let most = rest.min(self.width);
            self.buffer.resize(most, 0);
            let read = match (&self.spilled, spill.source()) {
                (Some(place), Some(spilled)) => {
                    spilled.read_all_at(place.start + pos as u64, &mut self.buffer)?
                }
                _ => source.read_all_at(self.place.start + pos as u64, &mut self.buffer)?,
            };
            // A file may have become shorter, or another, since.
            self.is_last = read == rest || read < most;
            self.buffer.truncate(read);
            (self.start, self.end, self.at) = (0, read, pos);
            self.is_short = false;
        }
        Ok(Window { bytes: self.payload(), at: self.at, is_last: self.is_last })
    }

    /// Bytes that are held from a place of the payload on.
    fn left(&self, pos: usize) -> usize {
        (self.at + self.buffer.len()).saturating_sub(pos)
    }

    /// Holds more of the payload, since an event that begins at a place of it is longer than what is held.
    pub(crate) fn widen(&mut self, pos: usize) {
        self.is_short = true;
        if self.left(pos) >= self.width {
            self.width = self.width.saturating_mul(2);
        }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn room(&self) -> usize {
        self.buffer.capacity()
    }

    /// Holds nothing of the payload until more is asked for, if it can be read again; gives the memory back.
    pub(crate) fn park(&mut self) -> Option<Vec<u8>> {
        if self.in_place.is_some() || self.is_packed && self.spilled.is_none() {
            return None;
        }
        (self.start, self.end, self.is_last, self.is_short) = (0, 0, false, true);
        self.width = WIDTH;
        Some(std::mem::take(&mut self.buffer))
    }

    /// Takes memory to read into.
    pub(crate) fn give(&mut self, buffer: Vec<u8>) {
        if self.buffer.capacity() == 0 {
            self.buffer = buffer;
            self.buffer.clear();
        }
    }

    /// Begins to read a block: reads its bytes if any of it is wanted, and checks them.
    pub(crate) fn open(
        &mut self,
        source: &Source<'s>,
        block: &IndexedBlock,
        want: Want,
        decoder: &mut Decoder,
    ) -> io::Result<Option<Part>> {
        if want == Want::No {
            decoder.leave_out(block.lane, &block.stretch(), block.len.into());
            return Ok(None);
        }
        match self.load(source, block)? {
            Ok(header) => {
                let range = block.at..block.at + u64::from(block.len);
                let (header, wrong) = self.unpack(header);
                Ok(decoder.open(Place { range, wrong }, &header, want))
            }
            Err(cause) => {
                let range = block.at..block.at + u64::from(block.len);
                let damage = Damage { range, cause, events: block.events };
                decoder.take_damaged_block(damage, block.lane, &block.stretch());
                Ok(None)
            }
        }
    }

    /// Reads the bytes of a block, and checks them.
    pub(crate) fn load(
        &mut self,
        source: &Source<'s>,
        block: &IndexedBlock,
    ) -> io::Result<Result<Header, Cause>> {
        let (start, len) = (block.at as usize, block.len as usize);
        let in_place = match source {
            Source::Slice(bytes) => Some(bytes.get(start..start + len).unwrap_or_default()),
            Source::Files(_) => {
                self.buffer.resize(len, 0);
                let read = source.read_all_at(block.at, &mut self.buffer)?;
                self.buffer.truncate(read);
                None
            }
        };
        let header = match check(in_place.unwrap_or(&self.buffer), len) {
            Ok(header) => header,
            Err(cause) => return Ok(Err(cause)),
        };
        (self.start, self.end, self.at) = (header.header_len.into(), len, 0);
        self.in_place = in_place.and_then(|block| block.get(self.start..));
        self.place = block.at + u64::from(header.header_len)..block.at + u64::from(block.len);
        (self.len, self.width) = (self.end - self.start, WIDTH);
        (self.is_last, self.is_short, self.is_packed) = (true, false, false);
        Ok(Ok(header))
    }

    /// Unpacks the payload that was loaded, if it is compressed.
    fn unpack(&mut self, header: Header) -> (Header, Option<Reason>) {
        if header.codec == codec::NONE {
            return (header, None);
        }
        match unpack(&header, self.payload()) {
            Ok((header, payload)) => {
                self.buffer = payload.into_owned();
                (self.start, self.end, self.len) = (0, self.buffer.len(), self.buffer.len());
                (self.in_place, self.is_packed) = (None, true);
                (header, None)
            }
            Err(reason) => (header, Some(reason)),
        }
    }

    /// Gives everything back.
    pub(crate) fn release(&mut self, spill: &mut Spill) {
        if let Some(place) = &self.spilled {
            spill.remove(place);
        }
        *self = Loader::default();
    }
}

/// Checks a block again: its payload was not read yet, and a file may have changed since.
fn check(bytes: &[u8], len: usize) -> Result<Header, Cause> {
    let header = Header::decode(bytes, crc32c::crc32c).map_err(Cause::Header)?;
    if bytes.len() < len || header.block_len() != len as u64 {
        return Err(Cause::Truncated { found: bytes.len() as u64, expected: header.block_len() });
    }
    debug_assert!(usize::from(header.header_len) >= HEADER_LEN);
    match wrong_payload(&header, &bytes[header.header_len.into()..]) {
        Some(cause) => Err(cause),
        None => Ok(header),
    }
}
