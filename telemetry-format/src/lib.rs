//! The bytes of a telemetry stream, for writers and readers.
//!
//! A stream is a sequence of independent blocks and nothing else. [`Header`] describes a block.
//! [`put`] writes the values inside an events block, and [`Cursor`] reads them. The registry says
//! what the values mean (`telemetry-schema`). The runtime and the decoder decide where blocks go.
//! `docs/format.md` shows every byte.
#![no_std]

extern crate alloc;

mod account;
mod calendar;
pub mod control;
mod cursor;
mod encoding;
mod grouped;
mod header;
mod label;
mod loss;
mod notice;
pub mod own;
pub mod put;
mod ring;
pub mod sample;
mod variables;

pub use account::{
    ACCOUNT_LEN, ACCOUNT_MAGIC, LaneAccount, LaneCounters, LaneIdentity, SessionTotals, TOTALS_LEN,
    TOTALS_MAGIC,
};
pub use calendar::Calendar;
pub use cursor::{Cursor, Malformed};
pub use encoding::Encoding;
pub use grouped::{Count, Grouped};
pub use header::{
    BlockType, Checksum, FORMAT_VERSION, HEADER_LEN, Header, HeaderError, MAGIC, MAX_PAYLOAD, codec, flags,
    memory, state,
};
pub use label::Label;
pub use loss::{Loss, LossCause};
pub use notice::{NOTICE_PREFIX, Notice, NoticeTag};
pub use put::Put;
pub use ring::{RING_MAGIC, RING_OLD, RING_START, RingHead};
pub use variables::{BUILD_VARIABLES, VARIABLES};
