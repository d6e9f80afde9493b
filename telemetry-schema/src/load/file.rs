//! Reads registry files and lock files from disk: the only I/O of this crate.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::check::context::Origin;
use crate::check::registry;
use crate::load::error::{LoadCause, LoadError, Wanted};
use crate::text::diagnostic::Invalid;
use crate::text::limits::{MAX_FILE_LEN, MAX_LOCK_LEN};
use crate::text::snippet;
use crate::version::lock::Lock;
use crate::version::registry_file::RegistryFile;

impl RegistryFile {
    /// Reads and checks the text of an `events.toml`; see [`crate::parse`].
    ///
    /// # Errors
    /// All mistakes in it.
    pub fn parse(text: impl Into<String>) -> Result<RegistryFile, Invalid> {
        let text = text.into();
        let (registry, allows) = registry::check(&text, Origin::File)?;
        Ok(RegistryFile { registry, allows, text })
    }
}

/// Reads and checks the `events.toml` at `path`.
///
/// # Errors
/// The reason why the file cannot be read, or all mistakes in it.
pub fn load(path: &Path) -> Result<RegistryFile, LoadError> {
    loaded(File::open(path), path)
}

/// Loads as [`load`] does, from a file that is open already. Errors use the given name.
///
/// # Errors
/// Those of [`load`].
pub fn load_from(input: impl Read, name: &Path) -> Result<RegistryFile, LoadError> {
    loaded(Ok(input), name)
}

fn loaded(input: io::Result<impl Read>, path: &Path) -> Result<RegistryFile, LoadError> {
    let fail = |cause| LoadError { path: path.to_path_buf(), cause, wanted: Wanted::RegistryFile };
    let text = read(input, MAX_FILE_LEN).map_err(fail)?;
    match registry::check(&text, Origin::File) {
        Ok((registry, allows)) => Ok(RegistryFile { registry, allows, text }),
        Err(invalid) => Err(fail(LoadCause::Invalid { text, invalid: Box::new(invalid) })),
    }
}

/// Reads the `events.lock` at `path`, with its text. `None` if there is no such file.
///
/// # Errors
/// The reason why the file cannot be read, or what is wrong with it.
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
            let invalid = Invalid::new(diagnostics);
            Err(fail(LoadCause::Invalid { text, invalid: Box::new(invalid) }))
        }
    }
}

/// Returns the path of a registry's lock file: beside it, with `.lock` in place of its extension.
/// So each registry file in a directory has its own.
#[must_use]
pub fn lock_path(file: &Path) -> PathBuf {
    file.with_extension("lock")
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
