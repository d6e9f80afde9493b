//! Logs of other systems, read as the same events as our own streams, and written.
//!
//! Each system has a module with the layout of its bytes, its [`telemetry_decode::foreign::Log`],
//! and its writer. Its events are described in `registries/`, by a registry like any other.
//!
//! ```
//! use telemetry_decode::writer::{Lane, Writer};
//! use telemetry_decode::{Facts, Reader, Value};
//! use telemetry_foreign::{Format, mps};
//!
//! // A stream of the MPS's events: `Intern` gives a string a number.
//! let registry = mps::registry();
//! let intern = registry.events.iter().find(|event| event.name == "Intern").unwrap();
//! let mut writer = Writer::new(Vec::new());
//! writer.session(1, &Facts::default(), 0, 1_700_000_000_000_000_000)?;
//! let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry)? };
//! writer.event(lane, intern.code, 10, &[Value::Word(1), Value::String("arena".into())])?;
//! writer.end(1, 20)?;
//! let stream = writer.finish()?;
//!
//! // As a log of the MPS, and back.
//! let mut log = Vec::new();
//! let written = Format::Mps.write(&mut Reader::from_slice(&stream).events()?, &mut log)?;
//! assert_eq!(written.events, 1);
//! assert_eq!(Format::recognize(&log), Some(Format::Mps));
//! let mut events = Reader::from_log(&log, mps::MpsLog::new()).events()?;
//! let mut names = Vec::new();
//! while let Some(event) = events.next()? {
//!     names.push(event.name().to_string());
//! }
//! assert!(names.contains(&"Intern".to_string()), "{names:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod chrome;
mod common;
pub mod ctf;
pub mod flame;
mod formats;
pub mod ghc;
pub mod mono;
pub mod mps;
pub mod perf;
pub mod perfetto;
mod timeline;

pub use common::gzip::is_gzip;
pub use common::written::Written;
pub use formats::{Format, RECOGNIZED_BY, known_registry};
pub use timeline::{Moment, Span, SpanEnd, Timeline};
