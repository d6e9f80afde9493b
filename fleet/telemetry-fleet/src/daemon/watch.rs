//! Directories with closed files of `rotate:`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use telemetry_decode::blocks::{Blocks, Piece};

use crate::daemon::figures::Figures;
use crate::daemon::live::{Live, TICK};
use crate::failpoint::failpoint;
use crate::log;
use crate::segment::Segment;

/// A file that was written to within this time may be about to be locked by its program.
const QUIET: Duration = Duration::from_secs(1);

/// Why a file is not taken.
pub(crate) enum NotTaken {
    /// The file is at fault: others can be taken.
    File(io::Error),
    /// The spool takes nothing, for example because its disk is full.
    Spool(io::Error),
}

impl From<NotTaken> for io::Error {
    fn from(why: NotTaken) -> io::Error {
        let (NotTaken::File(error) | NotTaken::Spool(error)) = why;
        error
    }
}

/// The directories that are watched.
pub(crate) struct Watch {
    figures: Arc<Figures>,
    /// Files and directories that cannot be read or removed. Each is reported once, until it can.
    reported: HashSet<PathBuf>,
    /// Files with the time of their last change, and since when they have it.
    seen: HashMap<PathBuf, (SystemTime, Instant)>,
    /// Files that are in the spool and could not be removed, with their damaged bytes.
    left: HashMap<PathBuf, (SystemTime, u64)>,
}

impl Watch {
    pub(crate) fn new(figures: Arc<Figures>) -> Watch {
        Watch { figures, reported: HashSet::new(), seen: HashMap::new(), left: HashMap::new() }
    }

    /// Takes all closed files of the directories.
    pub(crate) fn pass(&mut self, dirs: &[PathBuf], live: &Live, max_len: u64) {
        let mut files = Vec::new();
        for dir in dirs {
            match streams(dir) {
                Ok(found) => {
                    self.reported.remove(dir);
                    files.extend(found);
                }
                Err(error) => self.report(dir, &error),
            }
        }
        let now = Instant::now();
        let mut seen = std::mem::take(&mut self.seen);
        for (modified, path) in &files {
            let known = seen.remove(path).filter(|(time, _)| time == modified);
            self.seen.insert(path.clone(), known.unwrap_or((*modified, now)));
        }
        self.left.retain(|path, _| self.seen.contains_key(path));
        files.retain(|(_, path)| self.is_closed(path, now));
        // The oldest first.
        files.sort();
        for (modified, path) in files {
            match self.take(&path, modified, live, max_len) {
                Ok(()) => {
                    self.reported.remove(&path);
                }
                Err(_) if live.is_stopping() => return,
                Err(NotTaken::File(error)) => self.report(&path, &error),
                // All other files would fail for the same reason.
                Err(NotTaken::Spool(error)) => return self.report(&path, &error),
            }
        }
    }

    /// Cuts a file into segments of the spool, then removes it.
    fn take(&mut self, path: &Path, modified: SystemTime, live: &Live, max_len: u64) -> Result<(), NotTaken> {
        let damaged = match self.left.get(path) {
            Some(&(then, damaged)) if then == modified => damaged,
            _ => spool(path, live, max_len)?,
        };
        // If it cannot be removed, it is not cut again.
        self.left.insert(path.to_owned(), (modified, damaged));
        if damaged == 0 {
            fs::remove_file(path).map_err(NotTaken::File)?;
        } else {
            // A person may want to see it.
            let mut kept = path.as_os_str().to_owned();
            kept.push(".damaged");
            fs::rename(path, kept).map_err(NotTaken::File)?;
        }
        self.left.remove(path);
        Ok(())
    }

    /// Says whether no program writes to a file. Reports one that cannot be opened or locked.
    fn is_closed(&mut self, path: &Path, now: Instant) -> bool {
        let Some((modified, since)) = self.seen.get(path) else { return false };
        // A clock that was set back leaves times that are still to come.
        let is_quiet = modified.elapsed().is_ok_and(|age| age >= QUIET) || now - *since >= QUIET;
        // A program locks the file that it writes to.
        let locked = || File::open(path).and_then(|file| file.try_lock_shared().map_err(io::Error::from));
        match is_quiet.then(locked) {
            Some(Err(error)) => {
                // Another process may have removed it just now.
                if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotFound) {
                    self.report(path, &error);
                }
                false
            }
            locked => locked.is_some(),
        }
    }

    fn report(&mut self, path: &Path, error: &io::Error) {
        if self.reported.insert(path.to_owned()) {
            self.figures.error(format_args!("warning: {}: {error}; tried again", path.display()));
        }
    }
}

/// Returns the streams of a directory, with the time of the last change.
fn streams(dir: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let is_stream = path.extension().is_some_and(|extension| extension == "tel");
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if is_stream && metadata.is_file() {
            found.push((metadata.modified()?, path));
        }
    }
    Ok(found)
}

/// Cuts a file into segments of the spool. Returns the number of damaged bytes.
fn spool(path: &Path, live: &Live, max_len: u64) -> Result<u64, NotTaken> {
    let queue = &live.queue;
    let add = |segment: &Segment| {
        // Files wait where they are: nothing is shed for them.
        while !queue.wait_for_space(Some(segment.len), TICK) {
            if live.is_stopping() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        queue.add(segment)
    };
    let damaged = cut(path, live, queue.spool.open_dir(), max_len, add)?;
    failpoint("ship-before-file-removed");
    queue.figures.damaged.fetch_add(damaged, Ordering::Relaxed);
    Ok(damaged)
}

/// Cuts a file into segments, which grow in `dir`. Returns the number of damaged bytes.
pub(crate) fn cut(
    path: &Path,
    live: &Live,
    dir: PathBuf,
    max_len: u64,
    mut add: impl FnMut(&Segment) -> io::Result<()>,
) -> Result<u64, NotTaken> {
    let queue = &live.queue;
    let mut cutter = queue.spool.cutter(dir, &queue.host, max_len);
    let mut blocks = Blocks::new(File::open(path).map_err(NotTaken::File)?);
    let mut add_all = |segments: io::Result<Vec<Segment>>| {
        segments.and_then(|segments| segments.iter().try_for_each(&mut add)).map_err(NotTaken::Spool)
    };
    let mut damaged = 0;
    while let Some(piece) = blocks.next().map_err(NotTaken::File)? {
        match piece {
            Piece::Block(block) => {
                queue.figures.lost.note(&block.header);
                add_all(cutter.push(&block))?;
            }
            Piece::Damage(found, _) => {
                let bytes = found.range.end - found.range.start;
                damaged += bytes;
                let at = found.range.start;
                log::line(format_args!("warning: {}: {bytes} damaged bytes at offset {at}", path.display()));
            }
        }
    }
    add_all(cutter.finish())?;
    Ok(damaged)
}
