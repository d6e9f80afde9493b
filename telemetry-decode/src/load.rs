//! Blocks of an index, read when they are needed.

use std::io;
use std::ops::Range;

use telemetry_format::{HEADER_LEN, Header, codec};

use crate::blocks::wrong_payload;
use crate::completeness::{Cause, Damage, Reason};
use crate::compression::unpack;
use crate::decoder::{Decoder, Place, Want};
use crate::index::IndexedBlock;
use crate::inflate::Inflater;
use crate::part::{Part, Window};
use crate::source::Source;

/// Bytes that are held of the payload of a block that is one of many.
const WIDTH: usize = 8 << 10;

/// A compressed payload that is no longer than this, unpacked, is held whole: an [`Inflater`] takes almost as much, and
/// unpacks once more.
const WHOLE: usize = 64 << 10;

/// When fewer than these are left, the next ones are read.
const LOW: usize = 2 << 10;

/// Bytes that the lanes of a merge hold together, beyond [`WIDTH`] each, of compressed payloads whose events are
/// longer than that. Those of plain payloads are no more than the input has.
pub(crate) const MOST_WIDE: usize = 64 << 20;

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
    /// How many of them are held, if there are so many.
    width: usize,
    /// What is here reaches to its end.
    is_last: bool,
    /// What is here is less than the next event.
    is_short: bool,
    /// It is compressed in the source.
    is_packed: bool,
    /// Unpacks it from behind what is here on; made when that is first needed.
    inflater: Option<Box<Inflater>>,
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

    /// As [`Loader::open`]; then only some of the payload is held, and the memory is given back to `scratch`.
    pub(crate) fn open_narrow(
        &mut self,
        source: &Source<'s>,
        block: &IndexedBlock,
        want: Want,
        decoder: &mut Decoder,
        scratch: &mut Vec<u8>,
    ) -> io::Result<Option<Part>> {
        self.buffer = std::mem::take(scratch);
        let part = self.open(source, block, want, decoder);
        let mut first = Vec::new();
        if self.in_place.is_none() && matches!(part, Ok(Some(_))) {
            let most = if self.is_packed && self.len <= WHOLE { WHOLE } else { WIDTH };
            let payload = self.payload();
            first.extend_from_slice(&payload[..payload.len().min(most)]);
            self.is_last = first.len() == self.len;
            (self.start, self.end) = (0, first.len());
        }
        *scratch = std::mem::replace(&mut self.buffer, first);
        part
    }

    /// What is held of the payload of a block that was opened narrowly, at a place in it and behind that.
    pub(crate) fn window(&mut self, source: &Source<'s>, pos: usize) -> io::Result<Window<'_>> {
        if !self.is_last && (self.is_short || self.left(pos) < LOW) {
            let rest = self.len.saturating_sub(pos);
            let most = rest.min(self.width);
            let read = match self.is_packed {
                true => self.inflate(source, pos, most)?,
                false => {
                    self.buffer.resize(most, 0);
                    source.read_all_at(self.place.start + pos as u64, &mut self.buffer)?
                }
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

    /// Unpacks what is to be held from a place of the payload on, but for what is here of it; gives how much that is.
    fn inflate(&mut self, source: &Source<'s>, pos: usize, most: usize) -> io::Result<usize> {
        let inflater = match &mut self.inflater {
            Some(inflater) => inflater,
            None => {
                let mut inflater = Inflater::new(self.place.clone());
                // It has to come to where it goes on, through what is here since the block was opened.
                let read = inflater.read(source, &mut self.buffer)?;
                self.buffer.truncate(read);
                self.inflater.insert(Box::new(inflater))
            }
        };
        let done = (pos - self.at).min(self.buffer.len());
        self.buffer.drain(..done);
        let here = self.buffer.len();
        self.buffer.resize(most, 0);
        Ok(here + inflater.read(source, &mut self.buffer[here..])?)
    }

    /// Holds more of the payload, since an event that begins at a place of it is longer than what is held. Of one that
    /// is not compressed that is all that is left; of others what is needed, which is added to `wide`.
    pub(crate) fn widen(&mut self, pos: usize, wide: &mut usize) -> Result<(), Reason> {
        self.is_short = true;
        if !self.is_packed {
            self.width = usize::MAX;
        } else if self.left(pos) >= self.width {
            if *wide + self.width > MOST_WIDE {
                return Err(Reason::TooLong(self.width as u32));
            }
            *wide += self.width;
            self.width *= 2;
        }
        Ok(())
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
        self.inflater = None;
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

    /// Gives the memory back, and takes from `wide` what [`Loader::widen`] added.
    pub(crate) fn release(&mut self, wide: &mut usize) {
        if self.is_packed {
            *wide -= self.width - WIDTH;
        }
        *self = Loader::default();
    }
}

/// Checks a block again: its payload was not read yet, and a file may have changed since.
fn check(bytes: &[u8], len: usize) -> Result<Header, Cause> {
    let header = Header::decode(bytes, crc32c::crc32c).map_err(Cause::Header)?;
    if bytes.len() < len || header.block_len() != len as u64 {
        return Err(Cause::Cut { found: bytes.len() as u64, expected: header.block_len() });
    }
    debug_assert!(usize::from(header.header_len) >= HEADER_LEN);
    match wrong_payload(&header, &bytes[header.header_len.into()..]) {
        Some(cause) => Err(cause),
        None => Ok(header),
    }
}
