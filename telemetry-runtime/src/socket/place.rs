//! Where the socket is: in a directory that nobody else can change, under the process's number.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError, set_permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::native;
use crate::sys;
use crate::text::Shown;

/// Most copies of the runtime in a process that can be asked.
const MOST_COPIES: u32 = 16;

/// A directory that is the user's own.
pub(crate) struct Place {
    dir: PathBuf,
}

impl Place {
    /// The directory that `TELEMETRY_SOCKET` names, or `/tmp/telemetry-<uid>`. Made if it is not there.
    #[inline(never)]
    pub(crate) fn of_process() -> Result<Place, String> {
        let set = std::env::var_os("TELEMETRY_SOCKET").unwrap_or_default();
        let dir = match set.as_encoded_bytes().trim_ascii() {
            b"" | b"on" => PathBuf::from(format!("/tmp/telemetry-{}", native::user())),
            text if text.contains(&b'/') => PathBuf::from(set),
            text => {
                return Err(format!("TELEMETRY_SOCKET is `{}`, expected `on`, `off` or a path", Shown(text)));
            }
        };
        // The program may change its directory.
        Place::at(std::path::absolute(&dir).unwrap_or(dir))
    }

    pub(crate) fn at(dir: PathBuf) -> Result<Place, String> {
        let failed = |error: io::Error| format!("cannot use `{}`: {error}", dir.display());
        match DirBuilder::new().mode(0o700).create(&dir) {
            // Whatever the program's umask is.
            Ok(()) => set_permissions(&dir, Permissions::from_mode(0o700)).map_err(failed)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        match distrust(&dir).map_err(failed)? {
            None => Ok(Place { dir }),
            Some(why) => Err(format!("`{}` {why}", dir.display())),
        }
    }

    /// Makes the socket. It appears under its name once it listens, so that one that does not is stale.
    #[inline(never)]
    pub(crate) fn enter(&self) -> Result<UnixListener, String> {
        let _turn = self.turn();
        let own = std::process::id();
        let path = (1..=MOST_COPIES).map(|copy| self.dir.join(name(own, copy))).find(|path| !is_served(path));
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

    /// Leaves a link to the process's ring, for whoever looks for it when the process is dead.
    #[inline(never)]
    pub(crate) fn link(&self, ring: &Path) -> Result<(), String> {
        let Some(socket) = native::path() else { return Ok(()) };
        let link = socket.with_extension("ring");
        let unfinished = hidden(&link);
        // The ring of an earlier process of our number has its name still.
        std::path::absolute(ring)
            .and_then(|ring| remove(&unfinished).and_then(|()| symlink(ring, &unfinished)))
            .and_then(|()| std::fs::rename(&unfinished, &link))
            .map_err(|error| format!("cannot make `{}`: {error}", link.display()))
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
fn name(pid: u32, copy: u32) -> String {
    if copy == 1 { pid.to_string() } else { format!("{pid}-{copy}") }
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
        let link = path.with_extension("ring");
        // False where it leads nowhere.
        if !link.exists() {
            let _ = remove(&link);
        }
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
