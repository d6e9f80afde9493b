//! Why a program cannot take events of a stream for its own: the relation is of another version.

use std::error::Error;
use std::fmt;

use telemetry_schema::Version;

/// An event that the stream has in another form than the program: parameters were changed, moved,
/// removed, or its name or code was. Such events are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherForm {
    /// Its name in the program's relation.
    pub event: String,
    /// Its code in the program's relation.
    pub code: u16,
    /// The version of the stream's relation.
    pub stream: Version,
    /// The version of the program's relation.
    pub program: Version,
    /// The first difference.
    pub difference: String,
    /// Events passed over.
    pub events: u64,
}

impl fmt::Display for OtherForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({:#06x}): {}", self.event, self.code, self.difference)
    }
}

/// A relation of a version that the program does not read: of another major, or, where that was asked
/// for, with events of another form. In the [`std::io::Error`] of a typed reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherVersion {
    /// The registry's name.
    pub registry: String,
    /// Its version in the stream.
    pub stream: Version,
    /// Its version in the program.
    pub program: Version,
    /// The events of another form; none if the major is another, since then all are.
    pub events: Vec<OtherForm>,
}

impl Error for OtherVersion {}

impl fmt::Display for OtherVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherVersion { registry, stream, program, events } = self;
        write!(f, "registry `{registry}` has version {stream} in the stream, {program} in this program: ")?;
        match events.is_empty() {
            true => f.write_str("another major, so that no event means the same")?,
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
            false => f.write_str("; without `strict` those events are passed over, and the others decode"),
        }
    }
}
