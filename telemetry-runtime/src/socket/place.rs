//! Where the socket is: in a directory that nobody else can change, under the process's number.

use core::fmt::{self, Display, Formatter, Write};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError, set_permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::native;
use crate::sys;
use crate::text::{Buffer, Shown};

/// Most copies of the runtime in a process that can be asked.
pub(crate) const MOST_COPIES: u32 = 16;

/// A directory that is the user's own.
pub(crate) struct Place {
    dir: PathBuf,
}

impl Place {
    /// The directory that `TELEMETRY_SOCKET` names, or `/tmp/telemetry-<uid>`. Made if it is not there.
    #[inline(never)]
    pub(crate) fn of_process() -> Result<Place, String> {
        let mut text = Buffer::new();
        if let Some(dir) = dir(&mut text) {
            return Place::at(dir.into());
        }
        let set = std::env::var_os("TELEMETRY_SOCKET").unwrap_or_default();
        if set.as_encoded_bytes().contains(&b'/') {
            // One that is too long for a buffer is too long for sockets, which they say.
            return Place::at(set.into());
        }
        let text = Shown(set.as_encoded_bytes().trim_ascii());
        Err(format!("TELEMETRY_SOCKET is `{text}`, expected `on`, `off` or a path"))
    }

    pub(crate) fn at(dir: PathBuf) -> Result<Place, String> {
        match make(&dir) {
            Ok(None) => Ok(Place { dir }),
            Ok(Some(why)) => Err(format!("`{}` {why}", dir.display())),
            Err(error) => Err(format!("cannot use `{}`: {error}", dir.display())),
        }
    }

    /// Makes the socket. It appears under its name once it listens, so that one that does not is stale.
    #[inline(never)]
    pub(crate) fn enter(&self) -> Result<UnixListener, String> {
        let _turn = self.turn();
        let own = std::process::id();
        let path = (1..=MOST_COPIES)
            .map(|copy| self.dir.join(Name { pid: own, copy }.to_string()))
            .find(|path| !is_served(path));
        let Some(path) = path else {
            return Err(format!("{MOST_COPIES} copies of the runtime in this process have one already"));
        };
        let unfinished = hidden(&path);
        let failed = |error: io::Error| format!("cannot make `{}`: {error}", path.display());
        // A socket there is that of an earlier process of our number.
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.file_type().is_socket()) {
            return Err(format!("`{}` is there and is not a socket", path.display()));
        }
        remove(&unfinished).map_err(failed)?;
        let listener = UnixListener::bind(&unfinished).map_err(failed)?;
        native::keep_listener(&listener);
        set_permissions(&unfinished, Permissions::from_mode(0o600))
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .map_err(failed)?;
        native::keep_path(path);
        Ok(listener)
    }

    /// A lock on the directory: who looks for a free name shall not meet another copy that does. Without it if it
    /// cannot be had soon, from a process that is stopped, say: the drain has other work.
    fn turn(&self) -> Option<File> {
        let dir = File::open(&self.dir).ok()?;
        let mut is_ours = false;
        sys::wait(Duration::from_millis(100), || {
            is_ours = !matches!(dir.try_lock(), Err(TryLockError::WouldBlock));
            is_ours
        });
        is_ours.then_some(dir)
    }

    /// A file that has no name and goes when it is closed.
    pub(crate) fn spool(&self) -> io::Result<File> {
        let own = native::path().and_then(Path::file_name).unwrap_or_default();
        let path = hidden(&self.dir.join(own).with_extension("snapshot"));
        remove(&path)?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        remove(&path)?;
        Ok(file)
    }
}

/// The name of a process's socket, or that of another copy of the runtime in it, which a shared library has.
pub(crate) struct Name {
    pub(crate) pid: u32,
    /// From 1.
    pub(crate) copy: u32,
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.copy {
            1 => write!(f, "{}", self.pid),
            copy => write!(f, "{}-{copy}", self.pid),
        }
    }
}

/// The directory of the process's sockets, if one is named that there is room for. Does not allocate.
pub(crate) fn dir(into: &mut Buffer<1024>) -> Option<&Path> {
    // The program may change its directory.
    let named = sys::with_env(super::VARIABLE, |set| match set.trim_ascii() {
        b"" | b"on" => None,
        _ => Some(if set.contains(&b'/') { sys::absolute(set, into) } else { None }),
    });
    match named.flatten() {
        Some(named) => named?,
        None => write!(into, "/tmp/telemetry-{}", native::user()).ok()?,
    }
    Some(Path::new(OsStr::from_bytes(into.as_bytes())))
}

/// Makes a directory if it is not there, and says what is wrong with it. Does not allocate, unless its name is too
/// long for sockets.
pub(crate) fn make(dir: &Path) -> io::Result<Option<&'static str>> {
    match DirBuilder::new().mode(0o700).create(dir) {
        // Whatever the program's umask is.
        Ok(()) => set_permissions(dir, Permissions::from_mode(0o700))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    distrust(dir)
}

/// Beside a path, until what is there is finished.
fn hidden(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{}", path.file_name().unwrap_or_default().display()))
}

/// True if somebody listens there: another copy of the runtime, since the number is ours.
fn is_served(path: &Path) -> bool {
    UnixStream::connect(path).is_ok()
}

/// Takes the process's socket away.
pub(crate) fn leave() {
    if let Some(path) = native::take_path() {
        let _ = remove(path);
    }
}

/// What is wrong with a directory: whoever can change it can be asked in our place.
fn distrust(dir: &Path) -> io::Result<Option<&'static str>> {
    let metadata = dir.symlink_metadata()?;
    let above = dir.parent().unwrap_or(dir).metadata()?;
    Ok(if !metadata.is_dir() {
        Some("is not a directory")
    } else if metadata.uid() != native::user() {
        Some("belongs to another user")
    } else if metadata.mode() & 0o077 != 0 {
        Some("is open to others, expected mode 0700")
    } else if above.mode() & 0o1002 == 0o2 {
        Some("can be replaced by others: anybody may write to the directory above")
    } else {
        None
    })
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
        .or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
