//! The header of a block, the only fixed structure of a stream.
//!
//! ```text
//!        0       1       2       3       4       5       6       7
//!   0  0x89    'T'     'E'     'L'    '\r'    '\n'    0x1a    '\n'    magic
//!   8  version type    header_len     kind    flags   codec   0
//!  16  payload_len                    events                          one word: see `state`
//!  24  session
//!  32  registry
//!  40  thread                         seq
//!  48  offset                         unpacked_len
//!  56  base_ticks
//!  64  base_wall
//!  72  end_ticks
//!  80  before
//!  88  lost: pool
//!  96  lost: reentrant
//! 104  lost: sink
//! 112  lost: truncated
//! 120  excluded
//! 128  0
//! 136  payload_crc                    header_crc
//! 144  payload ...
//! ```
//!
//! If you change this structure, raise [`FORMAT_VERSION`], keep a reader for the old one, and
//! update the drawing in `docs/format.md`.

use crate::grouped::Grouped;
use crate::loss::Loss;

/// The first bytes of every block. As in PNG, the first byte is not text, and the line endings show
/// whether a transfer has translated them.
pub const MAGIC: [u8; 8] = *b"\x89TEL\r\n\x1a\n";

/// The version of the block layout, of the block types, and of the encodings.
pub const FORMAT_VERSION: u8 = 1;

/// Length of a version 1 header.
pub const HEADER_LEN: usize = 144;

/// Maximum payload length of one block. A reader refuses a longer one before it allocates memory
/// for it.
pub const MAX_PAYLOAD: u32 = 16 << 20;

/// The compression of a payload. Programs do not compress their payloads; tools that convert or
/// archive streams may.
pub mod codec {
    /// Not compressed.
    pub const NONE: u8 = 0;
    /// One deflate stream without a frame (RFC 1951).
    pub const DEFLATE: u8 = 1;
}

/// Bits of [`Header::flags`].
pub mod flags {
    /// The last part of its block: the lane's next events are in another block.
    pub const LAST: u8 = 1 << 0;
    /// The session ended normally, and no later block belongs to it.
    pub const END: u8 = 1 << 1;
    /// A part without events, at the end of events that a shipper shed. The lane's part before it
    /// says where they begin.
    pub const SHED: u8 = 1 << 2;
    /// The header of a part of a kind that stays on its host, without the payload. Its events count
    /// as excluded.
    pub const WITHHELD: u8 = 1 << 3;
}

/// The state word of an open block in memory.
pub mod state {
    /// The offset of the state word: payload length in the low half, number of events in the high
    /// half. One store publishes both.
    pub const OFFSET: usize = 16;

    /// Returns the state word.
    #[inline(always)]
    pub const fn pack(payload_len: u32, events: u32) -> u64 {
        (events as u64) << 32 | payload_len as u64
    }

    /// Returns the payload length and the number of events in the state word.
    #[inline(always)]
    pub const fn unpack(word: u64) -> (u32, u32) {
        (word as u32, (word >> 32) as u32)
    }
}

/// An open block in memory: the header of the stream, with a `header_len` that covers further
/// fields. Its checksum is that of the header with a state word of 0, and its `payload_crc` is 0.
pub mod memory {
    /// Number of bytes before the payload. The value marks the header of such a block.
    pub const HEADER_LEN: usize = 256;
    /// The offset of the system's number of the thread, 8 bytes.
    pub const THREAD_ID: usize = 144;
    /// The offset of the system's name of the thread, 16 bytes, padded with NUL.
    pub const THREAD_NAME: usize = 152;
    /// The offset of the clock reading when the block was sealed, 8 bytes; 0 while it is open.
    pub const END_TICKS: usize = 168;
}

/// The type of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockType {
    /// Facts about the run as TOML text: program, host, clock.
    Session,
    /// A registry in its canonical form, as TOML text.
    Registry,
    /// Facts about one thread as TOML text: its name and the system's number.
    Thread,
    /// Events of one lane.
    Events,
    /// No payload: everything recorded before `end_ticks` precedes this block in its stream.
    Sync,
    /// A type that this version does not know. Readers skip it by its length.
    Unknown(u8),
}

impl BlockType {
    /// Returns the number in the header.
    pub const fn code(self) -> u8 {
        match self {
            BlockType::Session => 1,
            BlockType::Registry => 2,
            BlockType::Thread => 3,
            BlockType::Events => 4,
            BlockType::Sync => 5,
            BlockType::Unknown(code) => code,
        }
    }

    /// Returns the type with this number in a header.
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => BlockType::Session,
            2 => BlockType::Registry,
            3 => BlockType::Thread,
            4 => BlockType::Events,
            5 => BlockType::Sync,
            other => BlockType::Unknown(other),
        }
    }
}

/// The fields of a block's header. Numbers are little-endian in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The type of the block.
    pub block_type: BlockType,
    /// Length of the header, at least [`HEADER_LEN`]. A later writer, or a block in memory, may
    /// have more fields after these.
    pub header_len: u16,
    /// The bit of the kind of the block's events.
    pub kind: u8,
    /// See [`flags`].
    pub flags: u8,
    /// The compression of the payload: one of [`codec`].
    pub codec: u8,
    /// Number of bytes between this header and the next block.
    pub payload_len: u32,
    /// Number of events in this part.
    pub events: u32,
    /// A number that no other run has.
    pub session: u64,
    /// The fingerprint of the registry of the block's events; 0 for none.
    pub registry: u64,
    /// The session's number of the thread, from 1; 0 for none.
    pub thread: u32,
    /// The number of the block in its lane (thread, registry and kind), from 0. The parts of a
    /// block share it.
    pub seq: u32,
    /// The offset of this part in the uncompressed payload of its block; 0 for the first part.
    pub offset: u32,
    /// Payload length before compression; the same as `payload_len` without compression.
    pub unpacked_len: u32,
    /// Clock reading when the block was opened. The time of its first event is relative to it.
    pub base_ticks: u64,
    /// The same moment in nanoseconds since 1970-01-01 UTC.
    pub base_wall: u64,
    /// A clock reading that no event of this part is later than.
    pub end_ticks: u64,
    /// Number of events that were recorded in this lane before this part, whether or not they
    /// reached a stream. In a sync block: number of events that its sink was given in its session.
    pub before: u64,
    /// The losses of the lane when this part was written.
    pub lost: Loss,
    /// Number of events of this lane before this part that were excluded from this stream, because
    /// their kind was not output at the time. Only grows.
    pub excluded: u64,
    /// CRC-32C of the payload as in the stream.
    pub payload_crc: u32,
}

/// A function that returns the CRC-32C (Castagnoli) of bytes. The caller passes it in. So this
/// crate has no dependencies, and its users choose a hardware implementation.
pub type Checksum = fn(&[u8]) -> u32;

/// Why bytes are not the header of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// There are fewer bytes than a header has.
    Truncated,
    /// The bytes do not begin with [`MAGIC`].
    Magic,
    /// The format version is one that this reader does not know.
    Version(u8),
    /// The header length is below [`HEADER_LEN`] or beyond what is read.
    HeaderLen(u16),
    /// The payload length is above [`MAX_PAYLOAD`].
    PayloadLen(u32),
    /// The sum of the event counts overflows.
    Events {
        /// The events of the lane before the block.
        before: u64,
        /// The events of the block.
        events: u32,
    },
    /// The header's checksum differs from that of its bytes.
    Checksum {
        /// The stored checksum.
        found: u32,
        /// The computed checksum.
        expected: u32,
    },
}

impl core::fmt::Display for HeaderError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            HeaderError::Truncated => write!(f, "the block header is cut short, expected {HEADER_LEN} bytes"),
            HeaderError::Magic => {
                write!(f, "no block begins here, expected the magic bytes 89 54 45 4c 0d 0a 1a 0a")
            }
            HeaderError::Version(found) => {
                write!(f, "format version {found}, expected {FORMAT_VERSION}; a newer telemetry may read it")
            }
            HeaderError::HeaderLen(found) => {
                write!(
                    f,
                    "a block header of {} bytes, expected {HEADER_LEN} or more",
                    Grouped::from(u64::from(*found))
                )
            }
            HeaderError::PayloadLen(found) => {
                let [found, most] = [*found, MAX_PAYLOAD].map(|len| Grouped::from(u64::from(len)));
                write!(f, "a payload of {found} bytes, expected at most {most}")
            }
            HeaderError::Events { before, events } => {
                let [events, before] = [u64::from(*events), *before].map(Grouped::from);
                write!(f, "{events} events behind {before}, expected fewer than 2^64 in all")
            }
            HeaderError::Checksum { found, expected } => {
                write!(f, "header checksum {found:08x}, expected {expected:08x}")
            }
        }
    }
}

impl core::error::Error for HeaderError {}

impl Header {
    /// Creates a header with only a type and a session.
    pub const fn new(block_type: BlockType, session: u64) -> Self {
        Header {
            block_type,
            header_len: HEADER_LEN as u16,
            kind: 0,
            flags: 0,
            codec: 0,
            payload_len: 0,
            events: 0,
            session,
            registry: 0,
            thread: 0,
            seq: 0,
            offset: 0,
            unpacked_len: 0,
            base_ticks: 0,
            base_wall: 0,
            end_ticks: 0,
            before: 0,
            lost: Loss { pool: 0, reentrant: 0, sink: 0, truncated: 0 },
            excluded: 0,
            payload_crc: 0,
        }
    }

    /// Returns the length of the whole block in the stream.
    pub const fn block_len(&self) -> u64 {
        self.header_len as u64 + self.payload_len as u64
    }

    /// Returns true if the events are not in the payload, because they stay on their host
    /// ([`flags::WITHHELD`]).
    pub const fn is_withheld(&self) -> bool {
        // The checksum of no bytes is 0.
        self.flags & flags::WITHHELD != 0 && self.payload_len == 0 && self.payload_crc == 0
    }

    /// Returns the header's first [`HEADER_LEN`] bytes, with its checksum last. If `header_len` is
    /// larger, the caller writes the further fields between them and the payload.
    #[must_use]
    pub fn encode(&self, checksum: Checksum) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[..8].copy_from_slice(&MAGIC);
        out[8] = FORMAT_VERSION;
        out[9] = self.block_type.code();
        out[10..12].copy_from_slice(&self.header_len.to_le_bytes());
        out[12] = self.kind;
        out[13] = self.flags;
        out[14] = self.codec;
        let mut word = |at: usize, value: u64| out[at..at + 8].copy_from_slice(&value.to_le_bytes());
        word(state::OFFSET, state::pack(self.payload_len, self.events));
        word(24, self.session);
        word(32, self.registry);
        word(40, pair(self.thread, self.seq));
        word(48, pair(self.offset, self.unpacked_len));
        word(56, self.base_ticks);
        word(64, self.base_wall);
        word(72, self.end_ticks);
        word(80, self.before);
        word(88, self.lost.pool);
        word(96, self.lost.reentrant);
        word(104, self.lost.sink);
        word(112, self.lost.truncated);
        word(120, self.excluded);
        out[136..140].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = checksum(&out[..140]);
        out[140..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes the header at the start of `bytes`, which must have at least [`HEADER_LEN`] bytes.
    ///
    /// Accepts a later writer's longer header. The `header_crc` of that header also covers the
    /// first 140 bytes. Its further fields, between this header and the payload, are skipped.
    ///
    /// # Errors
    /// Returns the first error, in the order in which the fields are checked: magic, version,
    /// checksum, lengths, counts.
    pub fn decode(bytes: &[u8], checksum: Checksum) -> Result<Self, HeaderError> {
        let Some(bytes) = bytes.first_chunk::<HEADER_LEN>() else {
            let magic = &MAGIC[..bytes.len().min(8)];
            return Err(if bytes.starts_with(magic) { HeaderError::Truncated } else { HeaderError::Magic });
        };
        if bytes[..8] != MAGIC {
            return Err(HeaderError::Magic);
        }
        if bytes[8] != FORMAT_VERSION {
            return Err(HeaderError::Version(bytes[8]));
        }
        let half = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let word = |at: usize| u64::from(half(at)) | u64::from(half(at + 4)) << 32;
        let (found, expected) = (half(140), checksum(&bytes[..140]));
        if found != expected {
            return Err(HeaderError::Checksum { found, expected });
        }
        let header_len = u16::from_le_bytes([bytes[10], bytes[11]]);
        if usize::from(header_len) < HEADER_LEN {
            return Err(HeaderError::HeaderLen(header_len));
        }
        let (payload_len, events) = state::unpack(word(state::OFFSET));
        if payload_len > MAX_PAYLOAD {
            return Err(HeaderError::PayloadLen(payload_len));
        }
        let (block_type, before) = (BlockType::from_code(bytes[9]), word(80));
        if block_type == BlockType::Events && before.checked_add(events.into()).is_none() {
            return Err(HeaderError::Events { before, events });
        }
        Ok(Header {
            block_type,
            header_len,
            kind: bytes[12],
            flags: bytes[13],
            codec: bytes[14],
            payload_len,
            events,
            session: word(24),
            registry: word(32),
            thread: half(40),
            seq: half(44),
            offset: half(48),
            unpacked_len: half(52),
            base_ticks: word(56),
            base_wall: word(64),
            end_ticks: word(72),
            before,
            lost: Loss { pool: word(88), reentrant: word(96), sink: word(104), truncated: word(112) },
            excluded: word(120),
            payload_crc: half(136),
        })
    }
}

const fn pair(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}
