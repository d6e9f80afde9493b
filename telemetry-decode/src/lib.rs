//! Reads telemetry streams as events, and has the reference writer of streams.
//!
//! ```no_run
//! use telemetry_decode::Reader;
//!
//! let mut events = Reader::open("telemetry.tel")?.events()?;
//! while let Some(event) = events.next()? {
//!     println!("{} {} {}", event.time_ns(), event.thread(), event.name());
//!     for param in event.params() {
//!         println!("  {}:{}", param.schema.name, param.value);
//!     }
//! }
//! eprintln!("{}", events.completeness());
//! # Ok::<(), telemetry_decode::Error>(())
//! ```
//!
//! # Features
//!
//! None is on by default.
//!
//! - `serde`: [`Event`], [`OwnedEvent`], [`Timed`] and [`Value`] implement `serde::Serialize`, with
//!   the members of `telemetry print --json`. [`Position`] implements `Deserialize` too.

mod bytes;
mod decode;
mod lanes;
mod logs;
mod order;
mod read;
pub mod recover;
mod registry;
pub mod replay;
mod report;
mod sessions;
mod typed;
mod values;
mod write;

pub use telemetry_schema::Registry;

pub use lanes::position::Position;
pub use order::events::Events;
pub use order::owned_events::OwnedEvents;
pub use read::reader::{Input, Order, Reader};
pub use registry::event::{Event, Param};
pub use registry::filter::{Filter, Selector};
pub use registry::known_registry::KnownRegistry;
pub use registry::owned::OwnedEvent;
pub use report::completeness::Completeness;
pub use report::error::{Error, NotAStream, Result};
pub use report::mismatch::{FormMismatch, VersionMismatch};
pub use sessions::clock::Clock;
pub use sessions::labels::{AddressName, Labels};
pub use sessions::session::{Facts, Session};
pub use typed::forms::Skipped;
pub use typed::generated::{List, ListIter, Typed};
pub use typed::typed_events::{Timed, TypedEvents};
pub use values::value::{Array, ArrayIter, EnumValue, RawStr, Value};

/// The parts of [`Completeness`].
pub mod completeness {
    pub use telemetry_format::{HeaderError, Loss, Malformed};

    pub use crate::report::completeness::{
        Bytes, Cause, Damage, Gap, LaneGap, LaneReport, MAX_LISTED, Reason, Undecodable, Unmatched,
    };
}

/// Blocks of a stream without their events: in sequence, or as an index. `docs/format.md` in the
/// repository describes their bytes.
pub mod blocks {
    pub use telemetry_format::Header;

    pub use crate::bytes::blocks::{Block, Blocks, Piece};
    pub use crate::order::block::IndexedBlock;
    pub use crate::order::index::{Index, IndexedLane};
}

/// Support for logs of other systems: implement [`Log`](foreign::Log). `docs/formats.md` in the
/// repository says which logs the crate `telemetry-foreign` reads.
pub mod foreign {
    pub use crate::logs::bytes::LogBytes;
    pub use crate::logs::log::{Extent, Log, LogFile, LogLane, Survey};
    pub use crate::logs::page::{Page, PageEvent};
    pub use crate::order::events::LogCount;
}

/// The reference writer of streams.
pub mod writer {
    pub use crate::write::error::WriteError;
    pub use crate::write::writer::{Compress, Lane, Writer};
}

/// Events that give names to values, for the command. Not public API.
#[doc(hidden)]
pub mod names {
    pub use crate::registry::namings::{Mark, NameValue, Namings};
    pub use crate::sessions::labels::Numbers;
    pub use crate::sessions::marks::{KnownRegistries, RUNTIME_REGISTRY, runtime_registry, take_names};
}

/// For generated code. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::read::reader::Reader;
    pub use crate::replay::{Pace, Place, ReplayError, Replayed, replay};
    pub use crate::typed::generated::*;
    #[cfg(feature = "serde")]
    pub use crate::typed::serialize::*;
    pub use crate::with_serde;
}

/// Compiles items only with the feature `serde`.
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_serde {
    ($($items:tt)*) => { $($items)* };
}

/// Compiles items only with the feature `serde`.
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_serde {
    ($($items:tt)*) => {};
}
