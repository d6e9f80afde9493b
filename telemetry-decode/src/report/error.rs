//! Errors of reading.

use std::fmt;
use std::io;
use std::path::PathBuf;

use telemetry_schema::Invalid;

use crate::report::completeness::Damage;
use crate::report::mismatch::VersionMismatch;

/// The result of reading.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a stream cannot be read.
///
/// Damage that a reader can skip is not an error: [`Completeness`](crate::Completeness) reports it.
///
/// `?` turns it into an [`io::Error`] where a function returns that:
///
/// ```
/// fn count(stream: impl std::io::Read + Send + 'static) -> std::io::Result<u64> {
///     let mut events = telemetry_decode::Reader::from_reader(stream).events()?;
///     let mut count = 0;
///     while events.next()?.is_some() {
///         count += 1;
///     }
///     Ok(count)
/// }
/// assert_eq!(count(std::io::empty())?, 0);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input or the output failed.
    Io(io::Error),
    /// The input cannot be a stream.
    NotAStream(Box<NotAStream>),
    /// The input contradicts itself, so the rest of it cannot be trusted.
    Damaged(Box<Damage>),
    /// The stream's registry has a version that the program does not read.
    Version(Box<VersionMismatch>),
    /// The filter has a condition that fits no registry of the stream. In one pass over a pipe, it
    /// comes with the first block of events, and only if the registries so far hide the values.
    Filter(String),
    /// The registry of the generated decoder is invalid.
    Registry(Box<Invalid>),
}

/// An input that cannot be a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAStream {
    /// The name of the input.
    pub path: PathBuf,
    /// What it is instead, such as "a directory".
    pub found: &'static str,
    /// What to do about it.
    pub help: &'static str,
}

impl fmt::Display for NotAStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotAStream { path, found, help } = self;
        write!(f, "cannot read `{}`: is {found}, expected a file; help: {help}", path.display())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => fmt::Display::fmt(error, f),
            Error::NotAStream(not) => fmt::Display::fmt(not, f),
            Error::Damaged(damage) => write!(f, "damaged at byte {}: {}", damage.range.start, damage.cause),
            Error::Version(mismatch) => fmt::Display::fmt(mismatch, f),
            Error::Filter(text) => f.write_str(text),
            Error::Registry(invalid) => {
                let first = invalid.diagnostics.first().map_or("it is empty", |first| &first.message);
                write!(f, "the registry of the decoder is invalid: {first}; help: generate the decoder again")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // The error's own text is the message of the source.
            Error::Io(error) => error.source(),
            Error::Version(mismatch) => Some(&**mismatch),
            Error::NotAStream(_) | Error::Damaged(_) | Error::Filter(_) | Error::Registry(_) => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

/// Supports functions that return errors of input and output.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        }
    }
}

impl From<VersionMismatch> for Error {
    fn from(mismatch: VersionMismatch) -> Self {
        Error::Version(Box::new(mismatch))
    }
}
