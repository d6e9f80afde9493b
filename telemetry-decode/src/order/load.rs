//! Loads the blocks of an index when they are needed.

use std::io;
use std::ops::Range;

use telemetry_format::{HEADER_LEN, Header, codec};

use crate::bytes::blocks::wrong_payload;
use crate::bytes::compression::unpack;
use crate::bytes::source::Source;
use crate::bytes::spill::Spill;
use crate::decode::decoder::{Decoder, Place, Want};
use crate::decode::part::{MIN_LEFT, Part, Window};
use crate::order::block::IndexedBlock;
use crate::report::completeness::{Cause, Damage, Reason};

/// Bytes of a payload in memory, for a block that is one of many.
const WINDOW_LEN: usize = 8 << 10;

/// A compressed payload whose decompressed length is at most this stays in memory as a whole, if
/// there is room.
const MAX_WHOLE_LEN: usize = 64 << 10;

/// The largest buffer that is kept for checking the next block.
const MAX_SCRATCH_LEN: usize = 1 << 20;

/// Holds the payload of one block, or a window of it.
#[derive(Default)]
pub(crate) struct Loader<'s> {
    /// The payload, if the source is memory.
    in_place: Option<&'s [u8]>,
    /// Otherwise the block, or a window of its payload.
    buffer: Vec<u8>,
    /// Range of the payload in the buffer.
    start: usize,
    end: usize,
    /// Offset of the window in the payload.
    at: usize,
    /// Range of the payload in the source.
    place: Range<u64>,
    /// Decompressed length of the payload.
    len: usize,
    /// The maximum length of the window.
    width: usize,
    /// The window reaches to the end of the payload.
    is_last: bool,
    /// The window is shorter than the next event.
    is_short: bool,
    /// The payload is compressed in the source.
    is_packed: bool,
    /// Range of the decompressed payload in the spill, if it was moved there.
    spilled: Option<Range<u64>>,
}

impl<'s> Loader<'s> {
    /// Returns the payload of the latest block.
    #[inline(always)]
    pub(crate) fn payload(&self) -> &[u8] {
        match self.in_place {
            Some(payload) => payload,
            None => self.buffer.get(self.start..self.end).unwrap_or_default(),
        }
    }

    /// Opens a block as [`Loader::open`] does, but keeps only a window of its payload, or nothing
    /// if there is no `room`. The buffer goes back to `scratch`.
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
            let is_whole = self.is_packed && self.len <= MAX_WHOLE_LEN && room;
            let most = if is_whole { MAX_WHOLE_LEN } else { WINDOW_LEN };
            if self.is_packed && !is_whole {
                self.spilled = spill.put(self.payload())?;
                if self.spilled.is_none() {
                    decoder.abandon(begun, Reason::NoRoom(self.len as u32));
                    part = Ok(None);
                }
            }
            let payload = self.payload();
            first.extend_from_slice(&payload[..payload.len().min(if room { most } else { 0 })]);
            self.is_last = first.len() == self.len;
            (self.start, self.end) = (0, first.len());
        }
        *scratch = std::mem::replace(&mut self.buffer, first);
        if scratch.capacity() > MAX_SCRATCH_LEN {
            *scratch = Vec::new();
        }
        part
    }

    /// Returns the window of a block opened by [`Loader::open_narrow`], from offset `pos` of the
    /// payload on.
    pub(crate) fn window(
        &mut self,
        source: &Source<'s>,
        spill: &Spill,
        pos: usize,
    ) -> io::Result<Window<'_>> {
        if !self.is_last && (self.is_short || self.left(pos) < MIN_LEFT) {
            let rest = self.len.saturating_sub(pos);
            let most = rest.min(self.width);
            self.buffer.resize(most, 0);
            let read = match (&self.spilled, spill.source()) {
                (Some(place), Some(spilled)) => {
                    spilled.read_all_at(place.start + pos as u64, &mut self.buffer)?
                }
                _ => source.read_all_at(self.place.start + pos as u64, &mut self.buffer)?,
            };
            // The file may have been truncated or changed since.
            self.is_last = read == rest || read < most;
            self.buffer.truncate(read);
            (self.start, self.end, self.at) = (0, read, pos);
            self.is_short = false;
        }
        Ok(Window { bytes: self.payload(), at: self.at, is_last: self.is_last })
    }

    /// Returns the number of bytes in the window after offset `pos` of the payload.
    fn left(&self, pos: usize) -> usize {
        (self.at + self.buffer.len()).saturating_sub(pos)
    }

    /// Widens the window, because the event at `pos` is longer than it.
    pub(crate) fn widen(&mut self, pos: usize) {
        self.is_short = true;
        if self.left(pos) >= self.width {
            self.width = self.width.saturating_mul(2);
        }
    }

    /// Returns the allocated memory.
    pub(crate) fn room(&self) -> usize {
        self.buffer.capacity()
    }

    /// Drops the window until it is needed again, if the payload can be read again. Returns the
    /// buffer.
    pub(crate) fn park(&mut self) -> Option<Vec<u8>> {
        if self.in_place.is_some() || self.is_packed && self.spilled.is_none() {
            return None;
        }
        (self.start, self.end, self.is_last, self.is_short) = (0, 0, false, true);
        self.width = WINDOW_LEN;
        Some(std::mem::take(&mut self.buffer))
    }

    /// Returns the buffer, and holds nothing more.
    pub(crate) fn take_buffer(&mut self) -> Vec<u8> {
        (self.start, self.end) = (0, 0);
        std::mem::take(&mut self.buffer)
    }

    /// Takes a buffer to read into.
    pub(crate) fn give(&mut self, buffer: Vec<u8>) {
        if self.buffer.capacity() == 0 {
            self.buffer = buffer;
            self.buffer.clear();
        }
    }

    /// Opens a block for reading. If any of it is selected, reads its bytes and checks them.
    pub(crate) fn open(
        &mut self,
        source: &Source<'s>,
        block: &IndexedBlock,
        want: Want,
        decoder: &mut Decoder,
    ) -> io::Result<Option<Part>> {
        Ok(self.load_wanted(source, block, want)?.open(block, want, decoder))
    }

    /// Reads the bytes of a block and checks them, if any of it is selected.
    pub(crate) fn load_wanted(
        &mut self,
        source: &Source<'s>,
        block: &IndexedBlock,
        want: Want,
    ) -> io::Result<Loaded> {
        if want == Want::No {
            return Ok(Loaded::LeftOut);
        }
        Ok(match self.load(source, block)? {
            Ok(header) => {
                let (header, wrong) = self.unpack(header);
                Loaded::Whole(Box::new(header), wrong)
            }
            Err(cause) => Loaded::Damaged(cause),
        })
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
        (self.len, self.width) = (self.end - self.start, WINDOW_LEN);
        (self.is_last, self.is_short, self.is_packed) = (true, false, false);
        Ok(Ok(header))
    }

    /// Decompresses the loaded payload, if it is compressed.
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

    /// Frees all memory, and the range in the spill.
    pub(crate) fn release(&mut self, spill: &mut Spill) {
        if let Some(place) = &self.spilled {
            spill.remove(place);
        }
        *self = Loader::default();
    }
}

/// A block as it was loaded.
#[derive(Clone)]
pub(crate) enum Loaded {
    /// None of it is selected.
    LeftOut,
    /// Its header after decompression, and the error in its payload, if there is one.
    Whole(Box<Header>, Option<Reason>),
    Damaged(Cause),
}

impl Loaded {
    /// Opens the block for reading. Returns `None` if there is nothing to read, and counts the
    /// block then.
    pub(crate) fn open(self, block: &IndexedBlock, want: Want, decoder: &mut Decoder) -> Option<Part> {
        let range = block.at..block.at + u64::from(block.len);
        match self {
            Loaded::LeftOut => decoder.leave_out(block.lane, &block.event_range(), block.len.into()),
            Loaded::Whole(header, wrong) => return decoder.open(Place { range, wrong }, &header, want),
            Loaded::Damaged(cause) => {
                let damage = Damage { range, cause, events: block.events };
                decoder.take_damaged_block(damage, block.lane, &block.event_range());
            }
        }
        None
    }
}

/// Checks a block again, because its payload was not read before, and a file may have changed.
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
