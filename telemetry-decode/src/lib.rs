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
mod changes;
mod checking;

mod decode;
mod lanes;
mod logs;
mod order;
mod read;
pub mod recover;
mod registry;
pub mod replay;
mod report;
pub mod scrub;
mod sessions;
mod typed;
mod values;
mod write;

pub use telemetry_schema::Registry;

pub use decode::event_batch::EventBatch;
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
pub use sessions::fact::Fact;
pub use sessions::facts::Facts;
pub use sessions::labels::{AddressName, Labels};
pub use sessions::session::Session;
pub use typed::forms::Skipped;
pub use typed::generated::{List, ListIter, Typed};
pub use typed::one_event::TypedEvent;
pub use typed::typed_events::{Timed, TypedEvents};
pub use values::value::{Array, ArrayIter, EnumValue, RawStr, Value};

/// The parts of [`Completeness`].
pub mod completeness {
    pub use telemetry_format::{HeaderError, Loss, Malformed};

    pub use crate::report::completeness::{
        Bytes, Cause, Damage, Gap, LaneGap, LaneReport, LeftOutReport, MAX_LISTED, Reason, Undecodable,
        Unmatched,
    };
    pub use crate::report::gaps::Gaps;
}

/// Blocks of a stream without their events: in sequence, or as an index. `docs/format.md` in the
/// repository describes their bytes.
pub mod blocks {
    pub use telemetry_format::Header;

    pub use crate::bytes::blocks::{Block, Blocks, Piece};
    /// For the command. Not public API.
    #[doc(hidden)]
    pub use crate::bytes::compression::unpacked;
    pub use crate::order::block::IndexedBlock;
    pub use crate::order::index::{Index, IndexedLane};
}

/// Support for logs of other systems: implement [`Log`](foreign::Log). `docs/formats.md` in the
/// repository says which logs the crate `telemetry-foreign` reads.
///
/// ```
/// use telemetry_decode::foreign::{Extent, Log, LogBytes, LogLane, Page, Survey};
/// use telemetry_decode::{Clock, Facts, Reader, Result, Session};
///
/// /// A log of two bytes for each event: a time in seconds, and a size.
/// struct Sizes;
///
/// const REGISTRY: &str = r#"
///     [registry]
///     name = "sizes"
///     version = "1.0.0"
///     doc = "A log of sizes"
///     [kinds]
///     Size = { bit = 0, doc = "per size" }
///     [[event]]
///     name = "Sized"
///     code = 1
///     kind = "Size"
///     doc = "A size was measured"
///     params = [{ name = "size", sort = "u8", unit = "bytes", doc = "the size" }]
/// "#;
///
/// impl Log for Sizes {
///     fn survey(&mut self, bytes: &mut LogBytes<'_>) -> Result<Survey> {
///         let mut survey = Survey::default();
///         let clock = Clock::ticks(0, 1_700_000_000_000_000_000, 1);
///         survey.sessions.push(Session::new(1, Facts::default(), clock));
///         survey.registries.push(telemetry_schema::parse(REGISTRY).unwrap());
///         survey.lanes.push(LogLane::new(0, 1));
///         let mut at = 0;
///         while let &[time, _, ..] = bytes.at(at, 2)? {
///             survey.extents.push(Extent::new(0, at..at + 2, 1, u64::from(time)));
///             at += 2;
///         }
///         survey.counts.push(vec![at / 2]);
///         Ok(survey)
///     }
///
///     fn read(&self, _: &Extent, bytes: &[u8], page: &mut Page) {
///         if let &[time, size] = bytes {
///             page.event(0, 0, u64::from(time), 0, 2).number(u64::from(size));
///         }
///     }
/// }
///
/// let mut events = Reader::from_log(&[1, 40, 3, 50], Sizes).events()?;
/// let mut found = Vec::new();
/// while let Some(event) = events.next()? {
///     found.push((event.time_ns(), event.value(0).unwrap().as_u64()));
/// }
/// assert_eq!(found, [(1_000_000_000, Some(40)), (3_000_000_000, Some(50))]);
/// # Ok::<(), telemetry_decode::Error>(())
/// ```
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

/// The events of a batch as rows, copies of batches, and blocks that are decoded ahead, for the
/// command. Not public API.
#[doc(hidden)]
pub mod rows {
    pub use crate::decode::copies::{Copies, Known};
    pub use crate::decode::event_batch::{Row, Rows};
    pub use crate::order::ahead::Giving;
}

/// Rules of registries, checked on events in the order of time. `docs/rules.md` in the repository
/// describes them.
///
/// ```no_run
/// use telemetry_decode::rules::Checker;
/// use telemetry_decode::{Reader, completeness::Gaps};
///
/// let mut events = Reader::open("telemetry.tel")?.events()?;
/// let (mut checker, mut broken) = (Checker::new(100_000), Vec::new());
/// while let Some(batch) = events.next_batch()? {
///     checker.take_batch(&batch, &mut broken);
/// }
/// let ended = |id| events.sessions().iter().any(|session| session.id == id && session.ended);
/// checker.finish(ended, &mut broken);
/// let gaps = Gaps::new(&events.gaps());
/// for broken in &broken {
///     let rule = &checker.rules()[broken.rule];
///     if broken.is_certain(rule, &gaps) {
///         println!("rule `{}` is broken: {}", rule.rule.name, broken.text(rule));
///     }
/// }
/// # Ok::<(), telemetry_decode::Error>(())
/// ```
pub mod rules {
    pub use crate::checking::act::Step;
    pub use crate::checking::checker::Checker;
    pub use crate::checking::found::{Broken, How, Moment};
    pub use crate::checking::rule::CheckedRule;
    pub use crate::values::key::Key;
}

/// Conditions on the values of events, for filters. Not public API.
#[doc(hidden)]
pub mod condition {
    pub use crate::registry::condition::{Candidate, Condition, Misfit, SharedCondition, Test};
}

/// What blocks state of the losses of a lane, for the lake. Not public API.
#[doc(hidden)]
pub mod accounts {
    pub use crate::lanes::losses::{HeaderSums, Losses, Step};
}

/// Counters whose events carry changes, for the command and for tables. Not public API.
#[doc(hidden)]
pub mod counters {
    pub use crate::changes::defined::{
        CounterValues, DefinedCounters, INT, INTERVAL, LONG, TIME, UINT, ULONG, section,
    };
}

/// Events that give names to values, for the command. Not public API.
#[doc(hidden)]
pub mod names {
    pub use crate::registry::namings::{Mark, NameValue, Namings};
    pub use crate::sessions::labels::{NamedAt, Numbers};
    pub use crate::sessions::marks::{KnownRegistries, RUNTIME_REGISTRY, runtime_registry, take_names};
}

/// For generated code. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::read::reader::Reader;
    pub use crate::replay::{Pace, Place, ReplayError, Replayed, replay};
    pub use crate::typed::generated::*;
    pub use crate::typed::one_event::TypedEvent;
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
