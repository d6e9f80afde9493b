//! Reads relations and locks from disk: the only I/O of this crate.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::limits::{MAX_FILE_LEN, MAX_LOCK_LEN};
use crate::version::{Allow, Lock};
use crate::{Invalid, Registry, check, snippet};

/// An `events.toml` that was read: what it says, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// What it describes, which travels in streams.
    pub registry: Registry,
    /// What it allows itself against the rules of versions, which does not.
    pub allows: Vec<Allow>,
    /// The file as it is, into which diagnostics of later steps point.
    pub text: String,
}

/// Why a file did not become a registry or a lock.
#[derive(Debug)]
pub struct LoadError {
    /// The file, as it was named.
    pub path: PathBuf,
    /// What went wrong.
    pub cause: LoadCause,
    /// What it should have been.
    wanted: Wanted,
}

/// What went wrong with a file.
#[derive(Debug)]
pub enum LoadCause {
    /// It cannot be read: missing, a directory, not allowed.
    Io(io::Error),
    /// It is larger than [`MAX_FILE_LEN`], or, a lock, than [`MAX_LOCK_LEN`].
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

/// What a file should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Relation,
    Lock,
}

impl Relation {
    /// Reads and checks the text of an `events.toml`; see [`crate::parse`].
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: impl Into<String>) -> Result<Relation, Invalid> {
        let text = text.into();
        let (registry, allows) = check::check(&text, check::Origin::File)?;
        Ok(Relation { registry, allows, text })
    }
}

/// Reads and checks the `events.toml` at `path`.
///
/// # Errors
/// What keeps the file from being read, or everything that is wrong with it.
pub fn load(path: &Path) -> Result<Relation, LoadError> {
    loaded(File::open(path), path)
}

/// The same of what is open already; errors name it so.
///
/// # Errors
/// Those of [`load`].
pub fn load_from(input: impl Read, name: &Path) -> Result<Relation, LoadError> {
    loaded(Ok(input), name)
}

fn loaded(input: io::Result<impl Read>, path: &Path) -> Result<Relation, LoadError> {
    let fail = |cause| LoadError { path: path.to_path_buf(), cause, wanted: Wanted::Relation };
    let text = read(input, MAX_FILE_LEN).map_err(fail)?;
    match check::check(&text, check::Origin::File) {
        Ok((registry, allows)) => Ok(Relation { registry, allows, text }),
        Err(invalid) => Err(fail(LoadCause::Invalid { text, invalid: Box::new(invalid) })),
    }
}

/// Reads the `events.lock` at `path`, with its text; none if there is no such file.
///
/// # Errors
/// What keeps the file from being read, or what is wrong with it.
pub fn load_lock(path: &Path) -> Result<Option<(Lock, String)>, LoadError> {
    let fail = |cause| LoadError { path: path.to_path_buf(), cause, wanted: Wanted::Lock };
    let text = match read(File::open(path), MAX_LOCK_LEN) {
        Err(LoadCause::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(fail)?,
    };
    match Lock::parse(&text) {
        Ok(lock) => Ok(Some((lock, text))),
        Err(diagnostic) => {
            let diagnostics = vec![diagnostic];
            let invalid = Invalid { diagnostics, omitted: 0, emitters: Vec::new() };
            Err(fail(LoadCause::Invalid { text, invalid: Box::new(invalid) }))
        }
    }
}

/// Where the lock of a relation is: beside it, with `.lock` for the end of its name. So every
/// relation of a directory has its own.
pub fn lock_path(relation: &Path) -> PathBuf {
    relation.with_extension("lock")
}

fn read(input: io::Result<impl Read>, most: u64) -> Result<String, LoadCause> {
    let mut bytes = Vec::new();
    input.map_err(LoadCause::Io)?.take(most + 1).read_to_end(&mut bytes).map_err(LoadCause::Io)?;
    if bytes.len() as u64 > most {
        return Err(LoadCause::TooLarge);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]);
        LoadCause::NotUtf8 { at, position: snippet::position(&before, at) }
    })
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::Relation => "an events.toml",
            Wanted::Lock => "an events.lock",
        }
    }

    fn most(self) -> u64 {
        match self {
            Wanted::Relation => MAX_FILE_LEN,
            Wanted::Lock => MAX_LOCK_LEN,
        }
    }
}

/// One message, over several lines where it shows the text; ends without a line end.
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

impl std::error::Error for LoadError {}
