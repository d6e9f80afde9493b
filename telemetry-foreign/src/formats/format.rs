//! The known formats: their names, and how each is recognized, read and written.

use std::io::{Read, Write};

use telemetry_decode::Events;
use telemetry_decode::foreign::Log;
use telemetry_schema::Registry;

use crate::common::gzip::{gunzip, is_gzip};
use crate::common::written::Written;
use crate::{ghc, mono, mps};

/// Bytes that are enough to recognize a log.
pub const RECOGNIZED_BY: usize = 4096;

/// The format of another system's logs, each compressed with gzip as a whole or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The telemetry of the Memory Pool System, `mpsio.log`.
    Mps,
    /// GHC's eventlog, `.eventlog`.
    GhcEventlog,
    /// The Mono log profiler's, `.mlpd`.
    Mono,
}

impl Format {
    /// Every format.
    pub const ALL: &[Format] = &[Format::Mps, Format::GhcEventlog, Format::Mono];

    /// Returns its name in options and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Mps => "mps",
            Format::GhcEventlog => "ghc-eventlog",
            Format::Mono => "mono",
        }
    }

    /// Returns the format with a name.
    pub fn from_text(text: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.name() == text)
    }

    /// Returns the format of a log, from its first [`RECOGNIZED_BY`] bytes, or all bytes of a
    /// shorter one.
    pub fn recognize(first: &[u8]) -> Option<Format> {
        if is_gzip(first) {
            let mut plain = Vec::new();
            // The beginning of a log that is cut off is enough.
            let _ = gunzip(first).take(RECOGNIZED_BY as u64).read_to_end(&mut plain);
            return Format::recognize_plain(&plain);
        }
        Format::recognize_plain(first)
    }

    fn recognize_plain(first: &[u8]) -> Option<Format> {
        // The strictest first: mpsio.log has no magic number.
        match first {
            _ if ghc::recognize(first) => Some(Format::GhcEventlog),
            _ if mono::recognize(first) => Some(Format::Mono),
            _ if mps::recognize(first) => Some(Format::Mps),
            _ => None,
        }
    }

    /// Returns a reader of its logs. A lenient one reads versions that it should refuse, as the
    /// system's own tools do.
    pub fn log(self, is_lenient: bool) -> Box<dyn Log> {
        match self {
            Format::Mps => Box::new(mps::MpsLog::new().lenient(is_lenient)),
            Format::GhcEventlog => Box::new(ghc::GhcLog::new()),
            Format::Mono => Box::new(mono::MonoLog::new()),
        }
    }

    /// Returns a reader that gives each event the time when it was written, even if it tells of
    /// another moment. Writing the log again needs this, and so does showing it as the system's own
    /// tools do.
    pub fn log_as_recorded(self, is_lenient: bool) -> Box<dyn Log> {
        match self {
            Format::GhcEventlog => Box::new(ghc::GhcLog::new().as_recorded(true)),
            Format::Mps | Format::Mono => self.log(is_lenient),
        }
    }

    /// Writes events, which come by time, as a log.
    ///
    /// # Errors
    /// Those of the input and of the output.
    pub fn write(self, events: &mut Events<'_>, out: &mut dyn Write) -> telemetry_decode::Result<Written> {
        match self {
            Format::Mps => mps::write(events, out),
            Format::GhcEventlog => ghc::write(events, out),
            Format::Mono => mono::write(events, out),
        }
    }
}

/// Returns the registry of log events that give names, by its name: `mps`, `mono` or `ghc`. A
/// stream may have been made from a log before the registry had such marks:
/// [`telemetry_decode::Reader::known_registries`].
pub fn known_registry(name: &str) -> Option<Registry> {
    let known: fn() -> Registry = match name {
        mps::NAME => mps::registry,
        mono::NAME => mono::registry,
        ghc::NAME => ghc::registry,
        _ => return None,
    };
    Some(known())
}
