//! Mismatches: a program cannot read a stream's events, because its registry has another version.

use std::error::Error;
use std::fmt;

use telemetry_schema::Version;

/// An event whose form in the stream differs from the program's: its parameters, its name or its
/// code changed. A typed reader skips such events.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormMismatch {
    /// Its name in the program's registry.
    pub event: String,
    /// Its code in the program's registry.
    pub code: u16,
    /// The version of the stream's registry.
    pub stream: Version,
    /// The version of the program's registry.
    pub program: Version,
    /// The first difference.
    pub difference: String,
    /// The number of skipped events.
    pub events: u64,
}

impl fmt::Display for FormMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({:#06x}): {}", self.event, self.code, self.difference)
    }
}

/// A registry of a version that the program does not read: its major version differs, or, in strict
/// reading, an event's form does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionMismatch {
    /// The registry's name.
    pub registry: String,
    /// Its version in the stream.
    pub stream: Version,
    /// Its version in the program.
    pub program: Version,
    /// The events with another form. Empty if the major version differs, since then all have.
    pub events: Vec<FormMismatch>,
}

impl Error for VersionMismatch {}

impl fmt::Display for VersionMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VersionMismatch { registry, stream, program, events } = self;
        write!(f, "registry `{registry}` has version {stream} in the stream, {program} in this program: ")?;
        match events.is_empty() {
            true => f.write_str("another major version, in which no event means the same")?,
            false => f.write_str("some events have another form")?,
        }
        for event in events {
            write!(f, "\n  {event}")?;
        }
        f.write_str(
            "\nhelp: decode it generically, as `telemetry print` does, or with a program of that version",
        )?;
        match events.is_empty() {
            true => Ok(()),
            false => f.write_str("; without `strict` those events are skipped, and the others are decoded"),
        }
    }
}
