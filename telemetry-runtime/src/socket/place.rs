//! The path of the socket: in a directory that no other user can change, by the process's number.

use core::fmt::{self, Display, Formatter, Write};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, set_permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::native;
use crate::sys;
use crate::sys::text::Buffer;

/// The setting of the user who runs the program: `on`, `off`, or a directory.
pub(crate) const VARIABLE: &core::ffi::CStr = c"TELEMETRY_SOCKET";

/// Maximum number of copies of the runtime in a process that have a socket.
pub(crate) const MAX_COPIES: u32 = 16;

/// A directory that only the user can access.
pub(crate) struct Place {
    dir: PathBuf,
}

/// Returns the same as [`dir`].
// A function of its own, because the buffer would be on the drain's stack below all calls for the
// directory.
#[inline(never)]
fn allocated_dir() -> Option<PathBuf> {
    let mut text = Buffer::new();
    dir(&mut text).map(PathBuf::from)
}

impl Place {
    /// Returns the directory that `TELEMETRY_SOCKET` names, or `/tmp/telemetry-<uid>`. Makes it if
    /// it does not exist.
    #[inline(never)]
    pub(crate) fn of_process() -> Result<Place, String> {
        if let Some(dir) = allocated_dir() {
            return Place::at(dir);
        }
        let set = sys::env(VARIABLE).unwrap_or_default();
        if set.as_encoded_bytes().contains(&b'/') {
            // A path that is too long for the buffer is also too long for sockets, which then
            // return an error.
            return Place::at(set.into());
        }
        // The setting was valid at the start.
        Err("TELEMETRY_SOCKET has changed since the start".into())
    }

    /// Returns `/tmp/telemetry-<uid>`. Does not read the environment, which the program may change
    /// at any time while it has no other threads of its own.
    #[inline(never)]
    pub(crate) fn by_default() -> Result<Place, String> {
        Place::at(format!("/tmp/telemetry-{}", sys::user()).into())
    }

    pub(crate) fn at(dir: PathBuf) -> Result<Place, String> {
        match make(&dir) {
            Ok(None) => Ok(Place { dir }),
            Ok(Some(why)) => Err(format!("`{}` {why}", dir.display())),
            Err(error) => Err(format!("cannot use `{}`: {error}", dir.display())),
        }
    }

    /// Makes the socket. It gets its name once it listens, so that a socket that does not listen is
    /// stale.
    #[inline(never)]
    pub(crate) fn enter(&self) -> Result<UnixListener, String> {
        let _turn = self.turn();
        let own = std::process::id();
        let path = (1..=MAX_COPIES)
            .map(|copy| self.dir.join(Name { pid: own, copy }.to_string()))
            .find(|path| !is_served(path));
        let Some(path) = path else {
            return Err(format!("{MAX_COPIES} copies of the runtime in this process have one already"));
        };
        let unfinished = hidden(&path);
        let failed = |error: io::Error| format!("cannot make `{}`: {error}", path.display());
        // A socket there is that of an earlier process with this number.
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.file_type().is_socket()) {
            return Err(format!("`{}` is there and is not a socket", path.display()));
        }
        remove(&unfinished).map_err(failed)?;
        let held = native::LISTENING.lock(sys::me());
        let listener = UnixListener::bind(&unfinished).map_err(failed)?;
        native::keep_listener(&listener);
        drop(held);
        set_permissions(&unfinished, Permissions::from_mode(0o600))
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .map_err(failed)?;
        native::keep_path(path);
        Ok(listener)
    }

    /// Locks the directory, so that only one copy at a time looks for a free name. Continues
    /// without the lock if it is not free soon, for example if its owner is stopped: the drain has
    /// other work.
    fn turn(&self) -> Option<File> {
        let dir = File::open(&self.dir).ok()?;
        sys::lock_file(&dir, Duration::from_millis(100)).unwrap_or(true).then_some(dir)
    }

    /// Makes a file without a name, which is removed when it is closed.
    pub(crate) fn spool(&self) -> io::Result<File> {
        let own = native::path().and_then(Path::file_name).map(OsStr::to_owned);
        let own = own.unwrap_or_else(|| std::process::id().to_string().into());
        let path = hidden(&self.dir.join(own).with_extension("snapshot"));
        // Another thread of this process may make one, too.
        let mut tries = 0..10;
        loop {
            remove(&path)?;
            match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && tries.next().is_some() => {}
                file => {
                    remove(&path)?;
                    return file;
                }
            }
        }
    }
}

/// The name of a process's socket. A shared library may have another copy of the runtime, with its
/// own socket.
pub(crate) struct Name {
    pub(crate) pid: u32,
    /// The number of the copy, from 1.
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

/// Returns the directory of the process's sockets, if a named one fits into the buffer. Does not
/// allocate.
pub(crate) fn dir(into: &mut Buffer<1024>) -> Option<&Path> {
    // Absolute, since the program may change its directory.
    let named = sys::with_env(VARIABLE, |set| match set.trim_ascii() {
        b"" | b"on" => None,
        _ => Some(if set.contains(&b'/') { sys::absolute(set, into) } else { None }),
    });
    match named.flatten() {
        Some(named) => named?,
        None => write!(into, "/tmp/telemetry-{}", sys::user()).ok()?,
    }
    Some(Path::new(OsStr::from_bytes(into.as_bytes())))
}

/// Makes a directory unless it exists, and returns what is wrong with it. Does not allocate, unless
/// its name is too long for sockets.
pub(crate) fn make(dir: &Path) -> io::Result<Option<&'static str>> {
    // Before its mode is set: another user could replace it by a link in between.
    let why = distrust_above(dir)?;
    if why.is_some() {
        return Ok(why);
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        // Sets the mode whatever the program's umask is.
        Ok(()) => set_permissions(dir, Permissions::from_mode(0o700))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    distrust(dir)
}

/// Returns a path beside this one, for a socket that does not listen yet.
fn hidden(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{}", path.file_name().unwrap_or_default().display()))
}

/// Returns true if a process listens there. It is another copy of the runtime in this process.
fn is_served(path: &Path) -> bool {
    UnixStream::connect(path).is_ok()
}

/// Removes the process's socket.
pub(crate) fn leave() {
    if let Some(path) = native::take_path() {
        let _ = remove(path);
    }
}

/// Returns what is wrong with a directory. A user who can change it could answer in place of this
/// process.
fn distrust(dir: &Path) -> io::Result<Option<&'static str>> {
    let metadata = dir.symlink_metadata()?;
    Ok(if !metadata.is_dir() {
        Some("is not a directory")
    } else if metadata.uid() != sys::user() {
        Some("belongs to another user")
    } else if metadata.mode() & 0o077 != 0 {
        Some("is open to others, expected mode 0700")
    } else {
        None
    })
}

/// Returns what is wrong with the directory above.
fn distrust_above(dir: &Path) -> io::Result<Option<&'static str>> {
    let above = dir.parent().unwrap_or(dir).metadata()?;
    let is_open = above.mode() & 0o1002 == 0o2;
    Ok(is_open.then_some("can be replaced by others: anybody may write to the directory above"))
}

/// Removes a file that may not exist.
fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
        .or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
