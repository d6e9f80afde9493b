//! Errors of the reference writer.

use std::io;

/// The reason why a write failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The output failed.
    Io(io::Error),
    /// The call does not fit the registry or earlier calls. The message gives the reason; the
    /// stream is as it was before the call.
    Refused(String),
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteError::Io(error) => write!(f, "cannot write the stream: {error}"),
            WriteError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => error,
            WriteError::Refused(why) => io::Error::new(io::ErrorKind::InvalidInput, why),
        }
    }
}

pub(super) fn refused<T>(why: String) -> Result<T, WriteError> {
    Err(WriteError::Refused(why))
}
