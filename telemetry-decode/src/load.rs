//! Blocks of an index, read when they are needed.

use std::io;

use telemetry_format::{HEADER_LEN, Header};

use crate::blocks::wrong_payload;
use crate::completeness::{Cause, Damage};
use crate::decoder::{Decoder, Want};
use crate::index::IndexedBlock;
use crate::part::Part;
use crate::source::Source;

/// Holds the payload of one block.
#[derive(Default)]
pub(crate) struct Loader {
    /// The block, if its source is a file.
    buffer: Vec<u8>,
    /// Where the payload is: in the buffer, or in the memory that is the source.
    start: usize,
    end: usize,
}

impl Loader {
    /// The payload of the block opened last.
    #[inline(always)]
    pub(crate) fn payload<'a>(&'a self, source: &Source<'a>) -> &'a [u8] {
        let bytes = match source {
            Source::Slice(bytes) => *bytes,
            Source::Files(_) => &self.buffer,
        };
        bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Begins to read a block: reads its bytes if any of it is wanted, and checks them.
    pub(crate) fn open(
        &mut self,
        source: &Source<'_>,
        block: &IndexedBlock,
        want: Want,
        decoder: &mut Decoder,
    ) -> io::Result<Option<Part>> {
        if want == Want::No {
            decoder.leave_out(block.lane, &block.stretch(), block.len.into());
            return Ok(None);
        }
        let (start, len) = (block.at as usize, block.len as usize);
        let bytes = match source {
            Source::Slice(bytes) => bytes.get(start..start + len).unwrap_or_default(),
            Source::Files(files) => {
                self.buffer.resize(len, 0);
                let mut read = 0;
                while read < len {
                    match files.read_at(block.at + read as u64, &mut self.buffer[read..])? {
                        0 => break,
                        more => read += more,
                    }
                }
                &self.buffer[..read]
            }
        };
        let header = match check(bytes, len) {
            Ok(header) => header,
            Err(cause) => {
                let range = block.at..block.at + u64::from(block.len);
                let damage = Damage { range, cause, events: block.events };
                decoder.take_damaged_block(damage, block.lane, &block.stretch());
                return Ok(None);
            }
        };
        let before = if matches!(source, Source::Slice(_)) { start } else { 0 };
        (self.start, self.end) = (before + usize::from(header.header_len), before + len);
        Ok(decoder.open(block.at, &header, want))
    }

    /// Gives the memory back.
    pub(crate) fn release(&mut self) {
        self.buffer = Vec::new();
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
