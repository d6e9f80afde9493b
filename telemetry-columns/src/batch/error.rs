//! Errors.

use std::fmt;

/// The result of making columns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why columns cannot be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The events cannot be read.
    Read(telemetry_decode::Error),
    /// The output cannot be written.
    Write(std::io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read(error) => fmt::Display::fmt(error, f),
            Error::Write(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // The error's own text is the message of the source.
            Error::Read(error) => error.source(),
            Error::Write(error) => error.source(),
        }
    }
}

impl From<telemetry_decode::Error> for Error {
    fn from(error: telemetry_decode::Error) -> Self {
        Error::Read(error)
    }
}
