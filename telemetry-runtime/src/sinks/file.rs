//! One file, or a pipe by its name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::backlog::{Backlog, DEFAULT_MOST};
use super::place::{self, Opened, Segment};
use telemetry_format::Notice;

use crate::sinks::sink::{Batch, Sink, Start};
use crate::sys;

/// Writes to a file, which the first block creates or empties; or to a pipe or a device by its
/// name.
///
/// In the path, `%p` is the process's number, `%s` is the session's number in hexadecimal, and `%%`
/// is `%`. On Unix the file is locked. Another process with the same settings, or another copy of
/// the runtime, may write to it, such as a child or a shared library. Then this stream goes to
/// `name.PID.ext` beside it, and standard error reports that once. So does the stream of a forked
/// child, since the file is its parent's. The file is only emptied once this sink has the lock.
///
/// If a write fails, for example on a full disk, nothing of it stays in the file. A pipe is opened
/// as soon as it has a reader, and again when it has another one. Up to 4 MiB are kept for a reader
/// that is slow or not there yet; what is more is refused, and counted. A write waits for a slow
/// reader for 0.1 s at most. It does not wait if the reader took nothing the last time, or if there
/// are other sinks. The end of the process waits for a reader that continues to read, for 2 s at
/// most.
#[derive(Debug)]
pub struct File {
    /// The path that the sink was given.
    path: PathBuf,
    target: Option<Target>,
    /// True if the file belongs to the parent, which may not have opened it yet.
    is_taken: bool,
    /// True if the stream of the last run is kept under another name.
    keeps_old: bool,
}

/// Whole blocks are written with `write`. A mapping of a growing file costs two to three times as
/// much, in page faults.
#[derive(Debug)]
enum Target {
    Regular(Segment),
    Pipe { pipe: Backlog<fs::File>, is_new: bool },
}

impl File {
    /// Creates a sink, and opens nothing yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        File { path: path.into(), target: None, is_taken: false, keeps_old: false }
    }

    /// Does the same for a file that its user has not named. The stream of the last run stays, as
    /// `NAME.old`.
    pub(crate) fn by_default(path: impl Into<PathBuf>) -> Self {
        let mut file = File::new(path);
        file.keeps_old = true;
        file
    }

    /// Returns the path of the file that is written, once it is open. It may differ from the given
    /// one, see [`File`].
    pub fn path(&self) -> Option<&Path> {
        match &self.target {
            Some(Target::Regular(segment)) => Some(&segment.path),
            Some(Target::Pipe { .. }) => Some(&self.path),
            None => None,
        }
    }

    fn open(&mut self) -> io::Result<&mut Target> {
        let is_open = match &self.target {
            Some(Target::Pipe { pipe, .. }) => pipe.out.is_some(),
            target => target.is_some(),
        };
        if !is_open {
            match place::open(&place::expanded(&self.path), self.is_taken, self.keeps_old)? {
                Opened::Regular(segment) => self.target = Some(Target::Regular(segment)),
                Opened::Pipe(pipe) => self.set_reader(Some(pipe)),
                Opened::NoReader => self.set_reader(None),
            }
        }
        self.target.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Uses the path as a pipe with this reader, and sends what waits.
    fn set_reader(&mut self, reader: Option<fs::File>) {
        match &mut self.target {
            Some(Target::Pipe { pipe, .. }) => pipe.out = reader,
            target => {
                *target = Some(Target::Pipe { pipe: Backlog::new(reader, DEFAULT_MOST), is_new: true });
            }
        }
    }

    /// Returns the backlog of a pipe, if bytes wait.
    fn waiting(&mut self) -> Option<&mut Backlog<fs::File>> {
        match &mut self.target {
            Some(Target::Pipe { pipe, .. }) if pipe.is_waiting() => Some(pipe),
            _ => None,
        }
    }

    /// Closes a pipe whose reader is gone, so that it is opened again for the next one.
    fn closed_if_gone(&mut self, result: io::Result<()>) -> io::Result<()> {
        let Err(error) = result else { return Ok(()) };
        if let Some(Target::Pipe { pipe, is_new }) = &mut self.target {
            if pipe.out.is_none() {
                return Err(io::Error::new(error.kind(), format!("the pipe has no reader yet; {error}")));
            }
            if error.kind() != io::ErrorKind::WouldBlock {
                pipe.clear();
                (pipe.out, *is_new) = (None, true);
            }
        }
        Err(error)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.waiting().is_some() {
            let _ = self.open();
            let unsent = self.waiting().map_or(0, Backlog::finish);
            if unsent > 0 {
                let text = format_args!("{unsent} events that waited for {} were not sent", self.name());
                sys::report(Notice::EventsUnsent, text);
            }
        }
    }
}

impl Sink for File {
    fn begin(&mut self, _bytes: usize) -> io::Result<Start> {
        Ok(Start::new_if(match self.open()? {
            Target::Regular(segment) => segment.len == 0,
            Target::Pipe { is_new, .. } => *is_new,
        }))
    }

    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let result = match self.open()? {
            Target::Regular(segment) => segment.write(blocks),
            Target::Pipe { pipe, is_new } => pipe.send(blocks).inspect(|()| *is_new = false),
        };
        self.closed_if_gone(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting().is_none() {
            return Ok(());
        }
        self.open()?;
        let result = self.waiting().map_or(Ok(()), Backlog::flush);
        self.closed_if_gone(result)
    }

    fn is_behind(&self) -> bool {
        matches!(&self.target, Some(Target::Pipe { pipe, .. }) if pipe.is_behind())
    }

    fn unsent(&self) -> usize {
        match &self.target {
            Some(Target::Pipe { pipe, .. }) => pipe.unsent(),
            _ => 0,
        }
    }

    fn forgotten(&mut self) -> usize {
        match &mut self.target {
            Some(Target::Pipe { pipe, .. }) => pipe.forgotten(),
            _ => 0,
        }
    }

    fn after_fork(&mut self) -> bool {
        self.target = None;
        self.is_taken = !place::is_own(&self.path);
        true
    }

    fn name(&self) -> String {
        format!("`{}`", self.path.display())
    }
}
