//! Blocks of an index, read when they are needed.

use std::io;
use std::ops::Range;

use telemetry_format::{HEADER_LEN, Header, codec};

use crate::blocks::wrong_payload;
use crate::completeness::{Cause, Damage, Reason};
use crate::compression::unpack;
use crate::decoder::{Decoder, Place, Want};
use crate::index::IndexedBlock;
use crate::part::{Part, Window};
use crate::source::Source;

/// Bytes that are held of the payload of a block that is one of many.
const WIDTH: usize = 8 << 10;

/// When fewer than these are left, the next ones are read.
const LOW: usize = 2 << 10;

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
    /// What is here reaches to its end.
    is_last: bool,
    /// All that is left of it is to be held.
    is_wide: bool,
    /// It was compressed, and stands in the buffer, whole.
    is_unpacked: bool,
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
        if let Source::Files(_) = source
            && !self.is_unpacked
        {
            let payload = self.payload();
            let first = payload[..payload.len().min(WIDTH)].to_vec();
            self.is_last = first.len() == payload.len();
            *scratch = std::mem::replace(&mut self.buffer, first);
            (self.start, self.end) = (0, self.buffer.len());
        }
        part
    }

    /// What is held of the payload of a block that was opened narrowly, at a place in it and behind that.
    pub(crate) fn window(&mut self, source: &Source<'s>, pos: usize) -> io::Result<Window<'_>> {
        if let Source::Files(_) = source {
            let len = (self.place.end - self.place.start) as usize;
            let left = (self.at + self.buffer.len()).saturating_sub(pos);
            if !self.is_last && (left < LOW || self.is_wide) {
                let rest = len.saturating_sub(pos);
                self.buffer.resize(if self.is_wide { rest } else { rest.min(WIDTH) }, 0);
                let read = source.read_all_at(self.place.start + pos as u64, &mut self.buffer)?;
                // A file may have become shorter since.
                self.is_last = read == rest || read < self.buffer.len();
                self.buffer.truncate(read);
                (self.start, self.end, self.at) = (0, read, pos);
            }
        }
        Ok(Window { bytes: self.payload(), at: self.at, is_last: self.is_last })
    }

    /// Holds all of the payload that is left: an event is longer than what was held.
    pub(crate) fn widen(&mut self) {
        self.is_wide = true;
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
        self.is_unpacked = false;
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
        (self.is_last, self.is_wide) = (true, false);
        self.place = block.at + u64::from(header.header_len)..block.at + u64::from(block.len);
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
                (self.start, self.end, self.is_unpacked) = (0, self.buffer.len(), true);
                self.in_place = None;
                (header, None)
            }
            Err(reason) => (header, Some(reason)),
        }
    }

    /// Gives the memory back.
    pub(crate) fn release(&mut self) {
        (self.in_place, self.buffer) = (None, Vec::new());
        (self.start, self.end) = (0, 0);
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
