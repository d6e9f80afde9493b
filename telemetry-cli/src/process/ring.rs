//! Ring files of dead processes. A link in the directory of sockets says where a process had its
//! ring. The file that is there now names its own owner, since another process may have taken the
//! path.

use std::fs::{File, Metadata, OpenOptions, TryLockError, read_link};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use telemetry_format::{RING_OLD, RingHead};

use super::pid::Pid;
use crate::term::ended::Failure;
use crate::term::native;

/// How long another reader of a ring may delay its removal.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// A ring that its process left behind.
pub(crate) struct DeadRing {
    pub(crate) pid: Pid,
    pub(crate) ring: PathBuf,
    /// The directory of the link, and its owner.
    dir: PathBuf,
    owner: u32,
    head: RingHead,
    file: FileId,
}

/// Device and inode number of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl From<&Metadata> for FileId {
    fn from(metadata: &Metadata) -> FileId {
        FileId(metadata.dev(), metadata.ino())
    }
}

/// The target of a link.
enum Found {
    /// No ring of the process.
    Nothing,
    /// A running process may have it, or that is not known.
    Kept,
    Dead(RingHead, FileId),
}

/// Finds the rings of a dead process through its link: the file itself, and the file that was moved
/// aside when the next process took the path. Removes a link that leads to no ring.
pub(super) fn dead_rings(dir: &Path, owner: u32, pid: Pid) -> Vec<DeadRing> {
    let link = dir.join(format!("{pid}.ring"));
    let Ok(ring) = read_link(&link).map(|ring| dir.join(ring)) else { return Vec::new() };
    let mut old = ring.clone().into_os_string();
    old.push(RING_OLD);
    let (mut dead, mut leads_nowhere) = (Vec::new(), true);
    for ring in [ring, old.into()] {
        match look(&ring, owner, pid.number) {
            Ok(Found::Nothing) => {}
            Ok(Found::Dead(head, file)) => {
                leads_nowhere = false;
                dead.push(DeadRing { pid, ring, dir: dir.to_path_buf(), owner, head, file });
            }
            Ok(Found::Kept) => leads_nowhere = false,
            Err(error) => leads_nowhere &= error.kind() == io::ErrorKind::NotFound,
        }
    }
    if leads_nowhere && owner == native::user() {
        let _ = std::fs::remove_file(link);
    }
    dead
}

/// Compares a file with a process.
fn look(path: &Path, owner: u32, pid: u32) -> io::Result<Found> {
    let metadata = path.symlink_metadata()?;
    if !metadata.is_file() {
        return Ok(Found::Nothing);
    }
    // In another user's directory, a link may point anywhere.
    if metadata.uid() != owner {
        return Ok(Found::Kept);
    }
    let file = open(path)?;
    let Some(head) = head(&file)?.filter(|head| head.pid == pid) else { return Ok(Found::Nothing) };
    let id = FileId::from(&file.metadata()?);
    Ok(if is_mapped(pid, id) || file.try_lock_shared().is_err() {
        Found::Kept
    } else {
        Found::Dead(head, id)
    })
}

/// Opens a file. If it is a pipe, does not wait for a peer.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Reads the owner of a ring file.
fn head(file: &File) -> io::Result<Option<RingHead>> {
    let mut head = [0; RingHead::LEN];
    let read = file.read_at(&mut head, 0)?;
    Ok(RingHead::decode(&head[..read], crc32c::crc32c))
}

/// Locks a file, unless a running process has it.
fn take(file: &File) -> io::Result<bool> {
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if since.elapsed() > LOCK_TIMEOUT => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

impl DeadRing {
    /// Returns true if both are the same file.
    pub(super) fn is(&self, other: &DeadRing) -> bool {
        self.file == other.file
    }

    /// Removes the ring and its link, but only in our own directory. Links in directories of others
    /// may point anywhere.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        let failed = |why: String| Failure::new(format!("cannot remove `{}`: {why}", self.ring.display()));
        if self.owner != native::user() {
            return Err(failed(format!("it is for user {} to remove", self.owner)));
        }
        self.unlink().map_err(|error| failed(error.to_string()))?;
        // This removes a link that leads nowhere.
        dead_rings(&self.dir, self.owner, self.pid);
        Ok(())
    }

    /// Removes the file. A process may take the path at any moment, but not while we have the lock.
    /// A file that it made before is not the one that we checked.
    fn unlink(&self) -> io::Result<()> {
        let file = open(&self.ring)?;
        let is_ours = take(&file)?
            && FileId::from(&file.metadata()?) == self.file
            && head(&file)? == Some(self.head)
            && !is_mapped(self.pid.number, self.file)
            && FileId::from(&self.ring.symlink_metadata()?) == self.file;
        if !is_ours {
            return Err(io::Error::other("another process has it by now"));
        }
        std::fs::remove_file(&self.ring)
    }
}

/// Returns true if a process has mapped the file, or if that is not known, as its number may belong
/// to another process by now. A process that has closed all its files still has its mapping, but on
/// some systems no lock.
fn is_mapped(pid: u32, FileId(_, number): FileId) -> bool {
    if native::exists(pid).is_err_and(|error| error.kind() != io::ErrorKind::PermissionDenied) {
        return false;
    }
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
    // The fields are addresses, permissions, offset, device, inode.
    let maps_it = |line: &str| line.split_ascii_whitespace().nth(4) == Some(&number.to_string());
    maps.map_or(true, |maps| maps.lines().any(maps_it))
}
