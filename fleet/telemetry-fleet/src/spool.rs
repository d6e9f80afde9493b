//! The spool: a directory with the segments that the store does not have yet.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_format::BlockType;

use crate::segment::{Cutter, Host, Intervals, Segment, SegmentName, marks_sensitive};

/// A directory that one process at a time uses.
///
/// `open/` has the segments that grow. A crash leaves them unfinished, so they are removed, and cut
/// again from their stream. `asked/` has those of snapshots that a collector asked for. `live/` has
/// those of streams that no file has; they are taken up again. `ready/` has whole segments: in
/// folders for each priority, under their names in the store. Those in `p05` have no kinds that
/// stay on the host. Those in `p5` may have them: an older version made them, or a process that
/// sends all kinds. Older versions read both as the priority 5.
/// `refused/` has those that the store holds with another content.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    sends_sensitive: bool,
    /// Locked as long as it is open.
    _lock: File,
}

/// Tells spools apart in which segments are named in another way. Older ones have no such file.
const VERSION: &[u8] = b"2\n";

/// By this file, some older versions say that no whole segment has kinds that stay on the host.
const OLD_MARKER: &str = "withheld";

impl Spool {
    /// Opens a spool, and creates it if it is missing.
    ///
    /// # Errors
    /// Those of the file system. [`io::ErrorKind::WouldBlock`] says that another process uses the
    /// spool.
    pub fn open(dir: impl Into<PathBuf>) -> io::Result<Spool> {
        let dir = dir.into();
        for folder in ["open", "asked", "live", "ready", "refused"] {
            fs::create_dir_all(dir.join(folder))?;
        }
        let lock = File::options().create(true).append(true).open(dir.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => io::Error::new(io::ErrorKind::WouldBlock, "the spool is in use"),
            fs::TryLockError::Error(error) => error,
        })?;
        let spool = Spool { dir, sends_sensitive: false, _lock: lock };
        for folder in [spool.open_dir(), spool.asked_dir()] {
            for entry in fs::read_dir(folder)? {
                fs::remove_file(entry?.path())?;
            }
        }
        sync_folders(&spool.dir.join("ready"))?;
        let version = spool.dir.join("version");
        if fs::read(&version).ok().as_deref() != Some(VERSION) {
            spool.name_again()?;
            fs::write(version, VERSION)?;
        }
        Ok(spool)
    }

    /// Sets whether segments have the events of all kinds, as [`Cutter::send_sensitive`] says. Call
    /// it before anything is cut.
    #[must_use]
    pub fn send_sensitive(self, sends_sensitive: bool) -> Spool {
        Spool { sends_sensitive, ..self }
    }

    /// Returns what cuts streams into segments of this spool, which grow in `dir`.
    pub fn cutter(&self, dir: PathBuf, host: &Host, max_len: u64) -> Cutter {
        Cutter::new(dir, host.clone(), max_len).send_sensitive(self.sends_sensitive)
    }

    /// Names what an older shipper left as this one does.
    fn name_again(&self) -> io::Result<()> {
        for (name, path, priority) in self.ready()? {
            let (mut blocks, mut intervals) = (Blocks::new(File::open(&path)?), Intervals::default());
            while let Some(piece) = blocks.next()? {
                if let Piece::Block(block) = piece
                    && block.header.block_type == BlockType::Events
                {
                    intervals.add(&block.header);
                }
            }
            let name = SegmentName { intervals: intervals.checksum(), ..name };
            self.keep(&format!("ready/p{priority}"), &name, &path)?;
        }
        Ok(())
    }

    /// The directory for segments that grow.
    pub fn open_dir(&self) -> PathBuf {
        self.dir.join("open")
    }

    /// The directory for segments of snapshots that grow. Another thread cuts files of the same
    /// sessions in [`Spool::open_dir`].
    pub fn asked_dir(&self) -> PathBuf {
        self.dir.join("asked")
    }

    /// The directory for segments that grow, of streams that no file has.
    pub fn live_dir(&self) -> PathBuf {
        self.dir.join("live")
    }

    /// Moves a whole segment from where it has grown to those that are ready.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn add(&self, segment: &Segment) -> io::Result<PathBuf> {
        self.keep(&self.ready_folder(segment.priority), &segment.name, &segment.path)
    }

    /// Returns the folder for whole segments of this process.
    fn ready_folder(&self, priority: u8) -> String {
        // Older versions do not write the zero. So what they leave after a rollback is known.
        let zero = if self.sends_sensitive { "" } else { "0" };
        format!("ready/p{zero}{priority}")
    }

    /// Cuts what an earlier process left in [`Spool::live_dir`] into segments of about `max_len`
    /// bytes, which are ready then. If an earlier process or an older version sent kinds that this
    /// process does not, its segments are cut again without them.
    ///
    /// # Errors
    /// Those of the file system. This may be called again.
    pub fn recover(&self, host: &Host, max_len: u64) -> io::Result<Vec<Segment>> {
        self.withhold()?;
        let mut recovered = Vec::new();
        for entry in fs::read_dir(self.live_dir())? {
            let path = entry?.path();
            // One that is closed has its name already, and waited to be moved.
            let is_segment = |extension: &std::ffi::OsStr| extension == "open" || extension == "tel";
            if path.extension().is_some_and(is_segment) {
                recovered.extend(self.cut_again(&path, host, max_len)?);
            }
            fs::remove_file(&path)?;
        }
        Ok(recovered)
    }

    /// Cuts a file of the spool into segments, which are ready then.
    fn cut_again(&self, path: &Path, host: &Host, max_len: u64) -> io::Result<Vec<Segment>> {
        let mut cutter = self.cutter(self.open_dir(), host, max_len);
        let (mut blocks, mut segments) = (Blocks::new(File::open(path)?), Vec::new());
        while let Some(piece) = blocks.next()? {
            // The last block may not be whole.
            if let Piece::Block(block) = piece {
                segments.extend(cutter.push(&block)?);
            }
        }
        segments.extend(cutter.finish()?);
        for segment in &mut segments {
            segment.path = self.add(segment)?;
        }
        Ok(segments)
    }

    /// Makes the segments that are ready leave out what this process does not send, and moves them
    /// to its folders.
    fn withhold(&self) -> io::Result<()> {
        // After a rollback it would be wrong.
        if let Err(error) = fs::remove_file(self.dir.join(OLD_MARKER))
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        for (name, path, priority) in self.ready()? {
            let folder = self.ready_folder(priority);
            if path.starts_with(self.dir.join(&folder)) {
                continue;
            }
            // All go to one folder: in two, a segment that is cut again would be there twice.
            if !self.sends_sensitive && marks_sensitive(&path)? {
                self.cut_again(&path, &name.host, u64::MAX)?;
                fs::remove_file(&path)?;
            } else {
                self.keep(&folder, &name, &path)?;
            }
        }
        Ok(())
    }

    /// Keeps a segment that the store holds with another content. Returns its new place.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn refuse(&self, name: &SegmentName, path: &Path) -> io::Result<PathBuf> {
        self.keep("refused", name, path)
    }

    /// Removes a segment that the store has.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        // Its folder stays: a segment may be about to come to it.
        fs::remove_file(path)
    }

    /// Returns the segments that are ready, with their priorities, by name.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn ready(&self) -> io::Result<Vec<(SegmentName, PathBuf, u8)>> {
        let root = self.dir.join("ready");
        let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(&root).ok().and_then(Path::to_str);
                let parsed = name.and_then(|name| {
                    let (priority, name) = name.strip_prefix('p')?.split_once('/')?;
                    Some((name.parse().ok()?, path.clone(), priority.parse().ok()?))
                });
                // Other files are not ours.
                found.extend(parsed);
            }
        }
        found.sort();
        Ok(found)
    }

    fn keep(&self, folder: &str, name: &SegmentName, path: &Path) -> io::Result<PathBuf> {
        let kept = self.dir.join(folder).join(name.to_string());
        let parent = kept.parent().unwrap_or(&self.dir);
        // The names must survive a crash of the machine, too: those of new folders, and that of the
        // file.
        if !parent.is_dir() {
            fs::create_dir_all(parent)?;
            for folder in parent.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.dir)) {
                File::open(folder)?.sync_all()?;
            }
        }
        match fs::rename(path, &kept) {
            // It was moved before, and the rest failed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && kept.exists() => {}
            renamed => renamed?,
        }
        File::open(parent)?.sync_all()?;
        Ok(kept)
    }
}

/// Removes the folders below `folder` that are empty. A process that was killed may not have
/// written the names of the others to the disk, so this does.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_folders(&path)?;
            // One that is not empty stays.
            let _ = fs::remove_dir(path);
        }
    }
    File::open(folder)?.sync_all()
}
