//! Whole blocks in sequence, from any input.

use std::io::{self, Read};

use telemetry_format::{BlockType, HEADER_LEN, Header, HeaderError, MAGIC, MAX_PAYLOAD};

use crate::bytes::source::{Source, Window};
use crate::report::completeness::{Cause, Damage};
use crate::report::opaque::opaque;

/// Reads whole blocks in one pass. Bytes between them that are not a block are [`Piece::Damage`].
///
/// After damage, the reader searches for the next valid header, from the byte after the bad header.
/// So damage costs only the blocks that it is in. `docs/format.md` in the repository describes the
/// bytes.
///
/// ```
/// use telemetry_decode::blocks::{Blocks, Piece};
///
/// let mut blocks = Blocks::new(&b"no block"[..]);
/// let Some(Piece::Damage(damage, None)) = blocks.next()? else { panic!("not a block") };
/// assert_eq!(damage.range, 0..8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Blocks<'s> {
    window: Window<'s>,
    /// Length of the block returned last.
    given: usize,
    /// Damage whose end is not found yet, because the input failed.
    damaged: Option<Damaged>,
    /// Bytes of blocks with a wrong checksum.
    failed: u64,
    /// Length of a source with random access.
    len: u64,
    /// Maximum length of a block.
    most: u64,
}

opaque!(Blocks<'_>, "Blocks");

/// The next piece of a stream. It is whole or damaged, and there is no third.
#[derive(Debug)]
pub enum Piece<'a> {
    /// A block with a valid header and payload.
    Block(Block<'a>),
    /// Bytes that are not a whole block, and the header at their start if it is valid.
    Damage(Damage, Option<Header>),
}

/// A whole block.
#[derive(Debug)]
#[non_exhaustive]
pub struct Block<'a> {
    /// Byte offset of its header in the input.
    pub at: u64,
    /// Its header.
    pub header: Header,
    /// The bytes after the header.
    pub payload: &'a [u8],
    /// The whole block as in the stream. Empty for a block that was assembled in memory.
    pub bytes: &'a [u8],
}

/// The begin of damage.
struct Damaged {
    at: u64,
    cause: Cause,
    header: Option<Header>,
    /// Where the search for the next header starts.
    resume: u64,
}

/// Which payloads are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payloads {
    /// All payloads. Their checksums are checked.
    All,
    /// All but those of events blocks, which are returned without a payload and unchecked.
    NotOfEvents,
}

/// The limit of bytes with a wrong checksum, as a multiple of the bytes read. A damaged payload may
/// contain headers, and each may promise a long payload of its own. Each costs a checksum over the
/// same bytes again. The limit keeps the work in proportion to the input; beyond it, damaged blocks
/// are skipped by their length.
pub(crate) const MAX_FAILED_TIMES: u64 = 8;
pub(crate) const MAX_FAILED_START: u64 = 8 * MAX_PAYLOAD as u64;

impl<'s> Blocks<'s> {
    /// Reads from a file, a pipe or a socket, and never further than the next block needs.
    pub fn new(input: impl Read + Send + 's) -> Self {
        Blocks::over(Window::once(Box::new(input)))
    }

    /// Reads from memory, without a copy.
    pub fn from_slice(bytes: &'s [u8]) -> Self {
        Blocks::over(Window::slice(bytes))
    }

    /// Reads from a source with random access, and skips payloads.
    pub(crate) fn skipping(source: &Source<'s>) -> Self {
        Blocks { len: source.len(), ..Blocks::over(Window::skipping(source)) }
    }

    fn over(window: Window<'s>) -> Self {
        Blocks { window, given: 0, damaged: None, failed: 0, len: 0, most: u64::MAX }
    }

    /// Sets the maximum length of a block, with its header. Longer blocks count as damage, so they
    /// take no memory.
    pub fn max_block(self, bytes: u64) -> Self {
        Blocks { most: bytes, ..self }
    }

    /// Returns the next block or damage; `None` at the end.
    ///
    /// # Errors
    /// Those of the input. The next call goes on after it, as if a read that timed out had waited.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        self.next_with(Payloads::All)
    }

    /// Continues at another offset of the source.
    pub(crate) fn seek(&mut self, at: u64) {
        (self.given, self.damaged) = (0, None);
        self.window.seek(at);
    }

    /// Returns the header after the latest block, if there is a valid one.
    pub(crate) fn peek(&mut self) -> io::Result<Option<Header>> {
        self.window.skip(std::mem::take(&mut self.given));
        Ok(Header::decode(self.window.fill(HEADER_LEN)?, crc32c::crc32c).ok())
    }

    /// Returns the payload of the latest block.
    #[inline]
    pub(crate) fn payload(&self, header_len: usize) -> &[u8] {
        self.window.bytes().get(header_len..self.given).unwrap_or_default()
    }

    pub(crate) fn next_with(&mut self, payloads: Payloads) -> io::Result<Option<Piece<'_>>> {
        self.window.skip(std::mem::take(&mut self.given));
        if let Some(damaged) = self.damaged.take() {
            return self.damage(damaged).map(Some);
        }
        let at = self.window.at();
        let head = self.window.fill(HEADER_LEN)?;
        if head.is_empty() {
            return Ok(None);
        }
        let (cause, header) = match Header::decode(head, crc32c::crc32c) {
            Err(error) => (Cause::Header(error), None),
            Ok(header) if header.block_len() > self.most => {
                (Cause::Header(HeaderError::PayloadLen(header.payload_len)), None)
            }
            Ok(header) => {
                let skips = payloads == Payloads::NotOfEvents && header.block_type == BlockType::Events;
                if skips && at.checked_add(header.block_len()).is_some_and(|end| end <= self.len) {
                    self.given = header.block_len() as usize;
                    return Ok(Some(Piece::Block(Block { at, header, payload: &[], bytes: &[] })));
                }
                match self.check_payload(&header)? {
                    Some(cause) => (cause, Some(header)),
                    None => {
                        self.given = header.block_len() as usize;
                        let (payload, bytes) = (self.payload(header.header_len.into()), self.payload(0));
                        return Ok(Some(Piece::Block(Block { at, header, payload, bytes })));
                    }
                }
            }
        };
        let resume = self.resume_at(at, &cause, header.as_ref());
        self.damage(Damaged { at, cause, header, resume }).map(Some)
    }

    /// Returns damage, up to the next header.
    fn damage(&mut self, damaged: Damaged) -> io::Result<Piece<'static>> {
        if let Err(error) = self.find_header(damaged.resume) {
            self.damaged = Some(damaged);
            return Err(error);
        }
        let Damaged { at, cause, header, .. } = damaged;
        let events = header.as_ref().map_or(0, |header| header.events);
        Ok(Piece::Damage(Damage { range: at..self.window.at(), cause, events }, header))
    }

    fn check_payload(&mut self, header: &Header) -> io::Result<Option<Cause>> {
        let len = header.block_len() as usize;
        let bytes = self.window.fill(len)?;
        let Some(block) = bytes.get(..len) else {
            return Ok(Some(Cause::Truncated { found: bytes.len() as u64, expected: len as u64 }));
        };
        Ok(wrong_payload(header, &block[header.header_len.into()..]))
    }

    /// Returns the offset where the search for the next header starts after damage. This is the
    /// next byte, or the end of the damaged block if too many checksums were wrong.
    fn resume_at(&mut self, at: u64, cause: &Cause, header: Option<&Header>) -> u64 {
        if let (Cause::Payload { .. }, Some(header)) = (cause, header) {
            self.failed = self.failed.saturating_add(header.block_len());
            if self.failed > at.saturating_mul(MAX_FAILED_TIMES).saturating_add(MAX_FAILED_START) {
                return at + header.block_len();
            }
        }
        at + 1
    }

    /// Moves to the first valid header from `from` on, or to the end.
    fn find_header(&mut self, from: u64) -> io::Result<()> {
        while self.window.at() < from {
            let rest = usize::try_from(from - self.window.at()).unwrap_or(usize::MAX);
            let here = self.window.fill(1)?.len().min(rest);
            if here == 0 {
                return Ok(());
            }
            self.window.skip(here);
        }
        loop {
            let bytes = self.window.fill(HEADER_LEN)?;
            if bytes.len() < HEADER_LEN {
                // Too short for a block: not even a header fits.
                let rest = bytes.len();
                self.window.skip(rest);
                return Ok(());
            }
            let last = bytes.len() - HEADER_LEN;
            let found = find_magic(&bytes[..last + MAGIC.len()]);
            match found {
                Some(index) if Header::decode(&bytes[index..], crc32c::crc32c).is_ok() => {
                    self.window.skip(index);
                    return Ok(());
                }
                Some(index) => self.window.skip(index + 1),
                None => self.window.skip(last + 1),
            }
        }
    }
}

/// Checks a payload against its checksum.
pub(crate) fn wrong_payload(header: &Header, payload: &[u8]) -> Option<Cause> {
    let found = crc32c::crc32c(payload);
    (found != header.payload_crc).then_some(Cause::Payload { found, expected: header.payload_crc })
}

fn find_magic(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let index = from + bytes[from..].iter().position(|byte| *byte == MAGIC[0])?;
        if bytes[index..].starts_with(&MAGIC) {
            return Some(index);
        }
        from = index + 1;
    }
}
