//! A folder as an output: it appears when it is complete.

use std::path::{Path, PathBuf};

use super::ended::Failure;
use super::output::{Directory, cannot_write, directory_of, unfinished};

/// A folder that gets its name when it is complete. Until then, an old one stays.
pub(crate) struct Folder {
    temporary: PathBuf,
    path: PathBuf,
    /// Parents that were made for it go with it.
    _parents: Directory,
}

impl Folder {
    /// Makes the folder under another name. It replaces an empty folder, or one that `is_own`
    /// accepts.
    pub(crate) fn beside(path: &Path, is_own: fn(&Path) -> bool) -> Result<Folder, Failure> {
        let failed = |error: std::io::Error| cannot_write(path, &error);
        if let Ok(mut entries) = std::fs::read_dir(path) {
            if entries.next().is_some() && !is_own(path) {
                return Err(cannot_write(path, &"it has other files; help: name a new directory with -d"));
            }
        } else if path.exists() {
            return Err(cannot_write(path, &"it is a file, expected a directory; help: name another one"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let parent = directory_of(path);
        let parents = Directory::make(parent)?;
        let mut unfinished = unfinished();
        let made = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".tmp")
            .make_in(parent, |path| std::fs::create_dir(path))
            .map_err(failed)?;
        let (_, temporary) = made.keep().map_err(|error| failed(error.error))?;
        unfinished.push(temporary.clone());
        Ok(Folder { temporary, path: path.to_path_buf(), _parents: parents })
    }

    /// Returns the folder for the files.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the folder its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| cannot_write(&self.path, &error);
        // The lock is held to the end, so an interrupt finds either the old folder or the new one.
        let mut unfinished = unfinished();
        let old = self.path.exists().then(|| self.temporary.with_extension("old"));
        if let Some(old) = &old {
            std::fs::rename(&self.path, old).map_err(failed)?;
        }
        let renamed = std::fs::rename(&self.temporary, &self.path);
        if let (Err(_), Some(old)) = (&renamed, &old) {
            std::fs::rename(old, &self.path).map_err(failed)?;
        }
        renamed.map_err(failed)?;
        unfinished.retain(|path| *path != self.temporary);
        old.map_or(Ok(()), |old| std::fs::remove_dir_all(old).map_err(failed))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        if let Some(index) = unfinished.iter().position(|path| *path == self.temporary) {
            unfinished.swap_remove(index);
            let _ = std::fs::remove_dir_all(&self.temporary);
        }
    }
}
