//! The reasons why a file could not be loaded.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::text::diagnostic::Invalid;
use crate::text::limits::{MAX_FILE_LEN, MAX_LOCK_LEN};

/// The reason why a registry file or a lock file could not be loaded.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadError {
    /// The path as the caller gave it.
    pub path: PathBuf,
    /// The problem.
    pub cause: LoadCause,
    /// The expected content.
    pub(super) wanted: Wanted,
}

/// A problem with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadCause {
    /// It cannot be read: it is missing, a directory, or not permitted.
    Io(io::Error),
    /// It is larger than [`MAX_FILE_LEN`], or a lock file larger than [`MAX_LOCK_LEN`].
    TooLarge,
    /// It is not UTF-8.
    NotUtf8 {
        /// The place, in bytes.
        at: usize,
        /// The same as line and column, from 1.
        position: (usize, usize),
    },
    /// Its content is invalid.
    Invalid {
        /// The text of the file.
        text: String,
        /// All mistakes in it.
        invalid: Box<Invalid>,
    },
}

/// The expected content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    RegistryFile,
    Lock,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::RegistryFile => "a registry file",
            Wanted::Lock => "a lock file",
        }
    }

    fn most(self) -> u64 {
        match self {
            Wanted::RegistryFile => MAX_FILE_LEN,
            Wanted::Lock => MAX_LOCK_LEN,
        }
    }
}

/// One message, over several lines if it shows the text. It ends without a line feed.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, wanted) = (self.path.display(), self.wanted.name());
        match &self.cause {
            LoadCause::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                write!(f, "error: no file `{path}`, expected {wanted}")
            }
            LoadCause::Io(error) if error.kind() == io::ErrorKind::IsADirectory => {
                write!(f, "error: `{path}` is a directory, expected {wanted}")
            }
            LoadCause::Io(error) => write!(f, "error: cannot read `{path}`: {error}"),
            LoadCause::TooLarge => {
                write!(
                    f,
                    "error: `{path}` is larger than {} MiB, expected {wanted}",
                    self.wanted.most() >> 20
                )
            }
            LoadCause::NotUtf8 { at, position: (line, column) } => {
                write!(f, "error: {path}:{line}:{column}: not UTF-8 at byte {at}, expected {wanted}")
            }
            LoadCause::Invalid { text, invalid } => {
                write!(f, "{}", invalid.render(&path.to_string(), text).trim_end())
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            LoadCause::Io(error) => Some(error),
            LoadCause::Invalid { invalid, .. } => Some(invalid),
            LoadCause::TooLarge | LoadCause::NotUtf8 { .. } => None,
        }
    }
}
