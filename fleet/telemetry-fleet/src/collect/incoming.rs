//! A segment that comes: checked and written to a file, then given to the store.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::segment::Inspector;

/// Bytes that are gathered before they are written.
const CHUNK: usize = 256 << 10;

/// A directory for the files of this process. Those of collectors that were killed are removed.
#[derive(Debug)]
pub(crate) struct Incoming {
    dir: PathBuf,
    next: AtomicU64,
    /// Locked as long as it is open.
    _lock: File,
}

impl Incoming {
    pub(crate) fn open(parent: &Path) -> io::Result<Incoming> {
        fs::create_dir_all(parent)?;
        // Collectors may start at once, and a directory is there before its lock is taken.
        let alone = File::options().create(true).append(true).open(parent.join("lock"))?;
        alone.lock()?;
        for entry in fs::read_dir(parent)? {
            let path = entry?.path();
            let Ok(lock) = File::open(path.join("lock")) else { continue };
            if lock.try_lock().is_ok() {
                match fs::remove_dir_all(&path) {
                    // Its collector has just ended, and removes it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    removed => removed?,
                }
            }
        }
        let mut number = std::process::id();
        let dir = loop {
            let dir = parent.join(format!("{number:08x}"));
            match fs::create_dir(&dir) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number = number.wrapping_add(1),
                made => break made.map(|()| dir)?,
            }
        };
        let lock = File::create(dir.join("lock"))?;
        lock.try_lock().map_err(io::Error::from)?;
        Ok(Incoming { dir, next: AtomicU64::new(0), _lock: lock })
    }

    /// Begins a segment.
    pub(crate) fn begin(&self, len: u64, inspector: Inspector) -> io::Result<Received> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = Removed(self.dir.join(format!("{number:x}")));
        let file = File::create(&path.0)?;
        Ok(Received { path, file, chunk: Vec::new(), left: len, inspector })
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A file that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Removed(pub(crate) PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A segment, as far as it has come.
#[derive(Debug)]
pub(crate) struct Received {
    path: Removed,
    file: File,
    /// Bytes that are neither checked nor written.
    pub(crate) chunk: Vec<u8>,
    /// Bytes that have not come.
    pub(crate) left: u64,
    inspector: Inspector,
}

/// Why a segment is not taken.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// It is wrong.
    Wrong(String),
    /// It cannot be written.
    Io(io::Error),
}

impl Received {
    /// Says whether the chunk is to be written.
    pub(crate) fn is_due(&self) -> bool {
        self.chunk.len() >= CHUNK || self.left == 0
    }

    /// Checks and writes what has come. Blocks the thread.
    pub(crate) fn write(mut self) -> Result<Received, NotTaken> {
        self.inspector.push(&self.chunk).map_err(NotTaken::Wrong)?;
        self.file.write_all(&self.chunk).map_err(NotTaken::Io)?;
        self.chunk.clear();
        Ok(self)
    }

    /// Ends a segment that has come in full. Returns its file, and its number of events. With
    /// `fsync`, the file is on disk. Blocks the thread.
    pub(crate) fn end(self, fsync: bool) -> Result<(Removed, u64), NotTaken> {
        let events = self.inspector.events();
        self.inspector.finish().map_err(NotTaken::Wrong)?;
        if fsync {
            self.file.sync_data().map_err(NotTaken::Io)?;
        }
        Ok((self.path, events))
    }
}
