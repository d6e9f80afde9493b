//! Keeps the stream of the last run, which the default file would overwrite.

use std::ffi::OsString;
use std::fs::{File, Metadata, symlink_metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use telemetry_format::{MAGIC, Notice, RING_OLD};

use super::lock::is_in_use;
use crate::sys;

/// Renames a stream of an earlier run to `NAME.old`, where it replaces an older one. The caller has
/// locked the file. Returns false if the file stays where it is: it is not a stream of this user.
/// If something else is in the way, reports that the stream is overwritten.
pub(super) fn set_aside(path: &Path) -> bool {
    // A link is the user's choice, like a name.
    if !symlink_metadata(path).is_ok_and(|there| is_ours(&there)) || !is_stream(path) {
        return false;
    }
    let old = old(path);
    let moved = match symlink_metadata(&old) {
        Err(error) if error.kind() == ErrorKind::NotFound => std::fs::rename(path, &old),
        Ok(there) if is_ours(&there) && is_stream(&old) && !is_in_use(&old) => std::fs::rename(path, &old),
        Ok(_) => Err(io::Error::other("it is not an old stream of this user")),
        Err(error) => Err(error),
    };
    if let Err(error) = &moved {
        let (path, old) = (path.display(), old.display());
        sys::report(
            sys::with_errno(Notice::StreamReplaced, error),
            format_args!(
                "overwriting the stream of the last run in `{path}`, since `{old}` is in the way: {error}"
            ),
        );
    }
    moved.is_ok()
}

/// Returns true if the path still leads to the file. Another process may have renamed it before it
/// was locked.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |there: Metadata| (there.dev(), there.ino());
        match (file.metadata().map(place), path.metadata().map(place)) {
            (Ok(file), Ok(there)) => file == there,
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

/// Returns the name for the stream of the last run.
fn old(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(RING_OLD);
    name.into()
}

/// Returns true for a regular file of the process's user.
fn is_ours(there: &Metadata) -> bool {
    #[cfg(all(unix, not(miri)))]
    if std::os::unix::fs::MetadataExt::uid(there) != sys::user() {
        return false;
    }
    there.is_file()
}

fn is_stream(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MAGIC
}
