//! Reads an `events.toml` from disk: the only I/O of this crate.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::limits::MAX_FILE_LEN;
use crate::{Invalid, Registry, parse, snippet};

/// Why a file did not become a registry.
#[derive(Debug)]
pub struct LoadError {
    /// The file, as it was named.
    pub path: PathBuf,
    /// What went wrong.
    pub cause: LoadCause,
}

/// What went wrong with a file.
#[derive(Debug)]
pub enum LoadCause {
    /// It cannot be read: missing, a directory, not allowed.
    Io(io::Error),
    /// It is larger than [`MAX_FILE_LEN`].
    TooLarge,
    /// It is no text.
    NotUtf8 {
        /// Where, in bytes.
        at: usize,
        /// The same as line and column, from 1.
        position: (usize, usize),
    },
    /// It is read, and wrong.
    Invalid {
        /// What it holds.
        text: String,
        /// All that is wrong.
        invalid: Box<Invalid>,
    },
}

/// Reads and checks the `events.toml` at `path`; gives the text too, which diagnostics of later
/// steps point into.
///
/// # Errors
/// What keeps the file from being read, or everything that is wrong with it.
pub fn load(path: &Path) -> Result<(Registry, String), LoadError> {
    let fail = |cause| LoadError { path: path.to_path_buf(), cause };
    let text = read(path).map_err(fail)?;
    match parse(&text) {
        Ok(registry) => Ok((registry, text)),
        Err(invalid) => Err(fail(LoadCause::Invalid { text, invalid: Box::new(invalid) })),
    }
}

fn read(path: &Path) -> Result<String, LoadCause> {
    let file = File::open(path).map_err(LoadCause::Io)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_LEN + 1).read_to_end(&mut bytes).map_err(LoadCause::Io)?;
    if bytes.len() as u64 > MAX_FILE_LEN {
        return Err(LoadCause::TooLarge);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]);
        LoadCause::NotUtf8 { at, position: snippet::position(&before, at) }
    })
}

/// One message, over several lines where it shows the text; ends without a line end.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.cause {
            LoadCause::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                write!(f, "error: no file `{path}`, expected an events.toml")
            }
            LoadCause::Io(error) if error.kind() == io::ErrorKind::IsADirectory => {
                write!(f, "error: `{path}` is a directory, expected an events.toml")
            }
            LoadCause::Io(error) => write!(f, "error: cannot read `{path}`: {error}"),
            LoadCause::TooLarge => {
                write!(
                    f,
                    "error: `{path}` is larger than {} MiB, expected an events.toml",
                    MAX_FILE_LEN >> 20
                )
            }
            LoadCause::NotUtf8 { at, position: (line, column) } => {
                write!(f, "error: {path}:{line}:{column}: not UTF-8 at byte {at}, expected an events.toml")
            }
            LoadCause::Invalid { text, invalid } => {
                write!(f, "{}", invalid.render(&path.to_string(), text).trim_end())
            }
        }
    }
}

impl std::error::Error for LoadError {}
