//! Telemetry streams to events, and the reference writer of streams.
//!
//! ```no_run
//! use telemetry_decode::Reader;
//!
//! let mut events = Reader::open("telemetry.tel")?.events()?;
//! while let Some(event) = events.next()? {
//!     println!("{} {} {}", event.time_ns, event.thread, event.name());
//!     for param in event.params() {
//!         println!("  {}:{}", param.schema.name, param.value);
//!     }
//! }
//! eprintln!("{}", events.completeness());
//! # std::io::Result::Ok(())
//! ```

mod batch;
mod blocks;
mod clock;
mod completeness;
mod compression;
mod coverage;
mod decoder;
mod difference;
mod event;
mod events;
mod filter;
mod forms;
mod index;
mod inflate;
mod known;
mod labels;
mod lane;
mod load;
mod log;
mod marks;
mod merge;
mod namings;
mod other_version;
mod packing;
mod part;
mod plan;
mod read_lane;
mod reader;
mod recover;
mod registries;
pub mod replay;
mod report;
mod session;
mod source;
mod texts;
mod typed;
mod typed_events;
mod value;
mod verdict;
mod writer;

pub use blocks::{Block, Blocks, Piece};
pub use clock::Clock;
pub use completeness::{
    Bytes, Cause, Completeness, Damage, Gap, Hole, LaneReport, MAX_LISTED, Reason, Undecodable,
};
pub use event::{Event, Param};
pub use events::{Events, LogCount};
pub use filter::{Filter, Name};
pub use index::{Index, IndexedBlock, IndexedLane};
pub use labels::{Called, Labels, Numbers};
pub use log::{Extent, Log, LogBytes, LogFile, LogLane, Page, PageEvent, Survey};
pub use marks::{RUNTIME_REGISTRY, Relations, take_names};
pub use namings::{Mark, Namings, Said};
pub use other_version::{OtherForm, OtherVersion};
pub use read_lane::ReadLane;
pub use reader::{Input, Order, Reader};
pub use recover::{OpenBlock, Recovered, Refusal, Refused, ThreadInFlight};
pub use registries::KnownRegistry;
pub use session::{Facts, Session};
pub use typed::{List, ListIter, Typed};
pub use typed_events::{At, PassedOver, TypedEvents};
pub use value::{Array, ArrayIter, Named, Text, Value};
pub use writer::{Compress, Lane, WriteError, Writer};

/// For generated code. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::reader::Reader;
    pub use crate::replay::{Pace, Place, ReplayError, Replayed, replay};
    pub use crate::typed::*;
}
