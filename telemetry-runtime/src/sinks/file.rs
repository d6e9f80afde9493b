//! One file, or a pipe by its name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::backlog::{Backlog, DEFAULT_MOST};
use super::place::{self, Opened, Segment};
use crate::sink::{Blocks, Sink};

/// A file, made anew when the first block comes; or a pipe or a device by its name.
///
/// In the path `%p` stands for the process's id, `%s` for the session's in hexadecimal, `%%` for `%`. On Unix
/// the file is locked: if another process or another copy of the runtime writes to it (a child with
/// the same settings, a shared library), this stream goes to `name.PID.ext` beside it, which is said once on
/// standard error. So does that of a forked child, whose parent's file it is. What is in the file at first is gone only once it is known to be this sink's.
///
/// Of a write that fails, on a full disk for instance, nothing stays in the file. A pipe is opened as soon
/// as it has a reader, and again when it has another. A write waits at most 0.1 s for a slow one, and not for
/// one that took nothing the last time; up to 4 MiB are kept for it, and what is more is refused. At the end a reader that goes on reading is waited for, at most
/// 2 s.
#[derive(Debug)]
pub struct File {
    /// As it was given.
    path: PathBuf,
    target: Option<Target>,
    /// It is the parent's file, though that may not have opened it yet.
    is_taken: bool,
}

/// Whole blocks by `write`, not a mapping: mapping a growing file costs two to three times as much, in
/// page faults.
#[derive(Debug)]
enum Target {
    Regular(Segment),
    Pipe { pipe: Backlog<fs::File>, is_new: bool },
}

impl File {
    /// Nothing is opened yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        File { path: path.into(), target: None, is_taken: false }
    }

    /// The file that is written, once it is open. It may be another one than was asked for, see [`File`].
    pub fn path(&self) -> Option<&Path> {
        match &self.target {
            Some(Target::Regular(segment)) => Some(&segment.path),
            Some(Target::Pipe { .. }) => Some(&self.path),
            None => None,
        }
    }

    fn open(&mut self) -> io::Result<&mut Target> {
        if self.target.is_none() {
            self.target = Some(match place::open(&place::expanded(&self.path), self.is_taken)? {
                Opened::Regular(segment) => Target::Regular(segment),
                Opened::Pipe(pipe) => Target::Pipe { pipe: Backlog::new(pipe, DEFAULT_MOST), is_new: true },
            });
        }
        self.target.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// A pipe whose reader is gone is opened again for the next one.
    fn closed_if_gone(&mut self, result: io::Result<()>) -> io::Result<()> {
        let is_gone = |error: &io::Error| error.kind() != io::ErrorKind::WouldBlock;
        if result.as_ref().is_err_and(is_gone) && matches!(self.target, Some(Target::Pipe { .. })) {
            self.target = None;
        }
        result
    }
}

impl Sink for File {
    fn begin(&mut self, _bytes: usize) -> io::Result<bool> {
        Ok(match self.open()? {
            Target::Regular(segment) => segment.len == 0,
            Target::Pipe { is_new, .. } => *is_new,
        })
    }

    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        let result = match self.open()? {
            Target::Regular(segment) => segment.write(blocks),
            Target::Pipe { pipe, is_new } => pipe.send(blocks).inspect(|()| *is_new = false),
        };
        self.closed_if_gone(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(Target::Pipe { pipe, .. }) = &mut self.target else { return Ok(()) };
        let result = pipe.flush();
        self.closed_if_gone(result)
    }

    fn in_child(&mut self) -> bool {
        if let Some(Target::Pipe { pipe, .. }) = self.target.take() {
            pipe.abandon();
        }
        self.is_taken = !place::is_own(&self.path);
        true
    }

    fn name(&self) -> String {
        format!("`{}`", self.path.display())
    }
}
