//! The bytes of a telemetry stream, writer beside reader.
//!
//! A stream is a sequence of self-standing blocks and nothing else. [`Header`] describes a block;
//! [`put`] writes the values inside an events block and [`Cursor`] reads them back. What the
//! values mean is the registry's business (`telemetry-schema`); where the blocks go is the
//! runtime's and the decoder's. `docs/format.md` draws every byte.
#![no_std]

extern crate alloc;

mod cursor;
mod header;
mod label;
pub mod put;
mod ring;

pub use cursor::{Cursor, Malformed};
pub use header::{
    BlockType, Checksum, FORMAT_VERSION, HEADER_LEN, Header, HeaderError, Loss, MAGIC, MAX_PAYLOAD, codec,
    flags, memory, state,
};
pub use label::Label;
pub use put::Put;
pub use ring::{RING_MAGIC, RING_OLD, RING_START, RingHead};
