//! Where a command's output goes: one buffer, standard output or a file that appears when it is whole.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use telemetry_foreign::RECOGNIZED_BY;

use crate::exit::Failure;
use crate::input::display;
use crate::interrupt;
use crate::opening::known_by;

/// Bytes at which the buffer is written.
const FULL: usize = 64 << 10;

#[derive(clap::Args, Default)]
pub(crate) struct OutputArgs {
    /// Write to this file, which is replaced when the output is whole, and left alone if it fails; `-` is standard
    /// output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A buffered output.
pub(crate) struct Output {
    buffer: Vec<u8>,
    target: Target,
}

enum Target {
    Stdout(StdoutLock<'static>),
    /// Something that must not be replaced, such as a device or a pipe.
    Direct(File, PathBuf),
    /// The temporary file that will be renamed, and the name that it will have.
    Replace(File, Temporary, PathBuf),
}

/// A file that is removed unless it is put in its place.
struct Temporary(PathBuf);

impl OutputArgs {
    /// True if a file is to be written.
    pub(crate) fn is_named(&self) -> bool {
        self.output.is_some()
    }

    /// The file that is to be written.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// True if that is standard output, by `-` or since no file is named.
    pub(crate) fn is_stdout(&self) -> bool {
        self.path().is_none_or(|path| path.as_os_str() == "-")
    }

    /// The output of what is no stream, and takes the place of none, nor of another system's log: a slip in a line of
    /// names would cost a trace. Nor does it take the place of any of the files that are `read`.
    pub(crate) fn open(&self, read: &[PathBuf]) -> Result<Output, Failure> {
        match self.path().and_then(|path| Some((path, trace(path)?))) {
            Some((path, what)) => {
                Err(cannot_write(path, &format_args!("is {what}; help: name another file with -o")))
            }
            None => self.open_stream(read),
        }
    }

    /// The output of a stream, which takes the place of none that is `read`.
    pub(crate) fn open_stream(&self, read: &[PathBuf]) -> Result<Output, Failure> {
        match &self.output {
            Some(path) if !self.is_stdout() => Output::beside(path, read),
            _ => Ok(Output::stdout()),
        }
    }
}

impl Output {
    /// A file that appears when it is whole.
    pub(crate) fn to(path: &Path) -> Result<Output, Failure> {
        open_file(path).map(Output::new).map_err(|error| cannot_write(path, &error))
    }

    /// The same, which is none of the files that are `read`, by whatever name: what was read would be lost.
    pub(crate) fn beside(path: &Path, read: &[PathBuf]) -> Result<Output, Failure> {
        keep_read(path, read)?;
        Output::to(path)
    }

    /// Standard output.
    pub(crate) fn stdout() -> Output {
        Output::new(Target::Stdout(io::stdout().lock()))
    }

    fn new(target: Target) -> Output {
        Output { buffer: Vec::with_capacity(2 * FULL), target }
    }
}

/// An output as a writer of bytes.
struct Sink<'o> {
    output: &'o mut Output,
    failure: Option<Failure>,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.buffer().extend_from_slice(bytes);
        match self.output.relieve() {
            Ok(_) => Ok(bytes.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(ErrorKind::Other.into())
            }
        }
    }

    /// The file is whole only at the end, and nobody sees it before.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        if let Some(index) = unfinished.iter().position(|path| *path == self.0) {
            unfinished.swap_remove(index);
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

impl Output {
    /// True if people see it as it is written.
    pub(crate) fn is_terminal(&self) -> bool {
        match &self.target {
            Target::Stdout(out) => out.is_terminal(),
            Target::Direct(file, _) => file.is_terminal(),
            Target::Replace(..) => false,
        }
    }

    /// The buffer, to append lines to.
    #[inline]
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes the buffer if there is much in it, which is true then. To be called after each line.
    #[inline]
    pub(crate) fn relieve(&mut self) -> Result<bool, Failure> {
        if self.buffer.len() < FULL { Ok(false) } else { self.flush().map(|()| true) }
    }

    /// Writes the buffer.
    #[cold]
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let written = match &mut self.target {
            Target::Stdout(out) => out.write_all(&self.buffer).and_then(|()| out.flush()),
            Target::Direct(file, _) => file.write_all(&self.buffer),
            Target::Replace(file, ..) => file.write_all(&self.buffer),
        };
        self.buffer.clear();
        written.map_err(|error| self.failed(&error))
    }

    /// Has something written by a function that takes a writer. The outer error is of the output, the inner one of
    /// whatever the function reads.
    pub(crate) fn write_with<T>(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> Result<io::Result<T>, Failure> {
        let mut sink = Sink { output: self, failure: None };
        let written = write(&mut sink);
        match sink.failure {
            Some(failure) => Err(failure),
            None => Ok(written),
        }
    }

    /// Writes a value as JSON or as text, and then as [`Output::finish`].
    pub(crate) fn show(
        mut self,
        json: bool,
        value: &impl serde::Serialize,
        append_text: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Failure> {
        if json {
            append_json(&mut self.buffer, value);
        } else {
            append_text(&mut self.buffer);
        }
        self.finish()
    }

    /// Writes what is left, and puts the file in its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        if let Target::Replace(_, Temporary(temporary), path) = &self.target {
            // Held until it is done: an interrupt finds either the old file or the new one.
            let mut unfinished = unfinished();
            std::fs::rename(temporary, path).map_err(|error| cannot_write(path, &error))?;
            unfinished.retain(|path| path != temporary);
        }
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Failure {
        match &self.target {
            _ if error.kind() == ErrorKind::BrokenPipe => Failure::OutputClosed,
            Target::Stdout(_) => Failure::new(format!("cannot write to standard output: {error}")),
            Target::Direct(_, path) | Target::Replace(_, _, path) => cannot_write(path, error),
        }
    }
}

fn cannot_write(path: &Path, error: &dyn Display) -> Failure {
    Failure::new(format!("cannot write `{}`: {error}", path.display()))
}

/// What a file is, if it is a stream or another system's log, by its first bytes.
fn trace(path: &Path) -> Option<String> {
    let mut first = Vec::new();
    let file = File::open(path).ok().filter(|_| path.is_file())?;
    file.take(RECOGNIZED_BY as u64).read_to_end(&mut first).ok()?;
    known_by(&first)
}

/// Refuses an output that is one of the files that are read.
pub(crate) fn keep_read(output: &Path, read: &[PathBuf]) -> Result<(), Failure> {
    let Some(same) = read.iter().find(|read| is_same(output, read)) else { return Ok(()) };
    let what = format_args!("is an input of this command, {}; help: name another file", display(same));
    Err(cannot_write(output, &what))
}

/// True if an output is a regular file, and the very one that is read; `-` is standard input.
#[cfg(unix)]
fn is_same(output: &Path, read: &Path) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let Some(output) = std::fs::metadata(output).ok().filter(|metadata| metadata.is_file()) else {
        return false;
    };
    let read = match read.as_os_str() == "-" {
        true => io::stdin().as_fd().try_clone_to_owned().and_then(|stdin| File::from(stdin).metadata()),
        false => std::fs::metadata(read),
    };
    read.is_ok_and(|read| (read.dev(), read.ino()) == (output.dev(), output.ino()))
}

#[cfg(not(unix))]
fn is_same(output: &Path, read: &Path) -> bool {
    let both = std::fs::canonicalize(output).and_then(|output| Ok((output, std::fs::canonicalize(read)?)));
    both.is_ok_and(|(output, read)| output == read && output.is_file())
}

fn open_file(path: &Path) -> io::Result<Target> {
    let old = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => {
            return Ok(Target::Direct(OpenOptions::new().write(true).open(path)?, path.to_path_buf()));
        }
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // Where a link stands, what it points to is replaced.
    let path = if old.is_some() { std::fs::canonicalize(path)? } else { path.to_path_buf() };
    let (file, temporary) = temporary_beside(&path)?;
    let temporary = Temporary(temporary);
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    Ok(Target::Replace(file, temporary, path))
}

/// The temporary files of this run, while it is under way.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files, and directories that were made for them, when the command ends before they are whole.
pub(crate) fn remove_unfinished() {
    for path in unfinished().drain(..) {
        let _ = std::fs::remove_file(path);
    }
    remove_empty();
}

/// The directories that this run has made, each before the one that it is in.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A directory for files, which goes again if nothing came into it.
#[must_use]
pub(crate) struct Directory(());

impl Directory {
    /// Makes it, and those that it is in, where they are not there.
    pub(crate) fn make(path: &Path) -> Result<Directory, Failure> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.extend(path.ancestors().take_while(is_missing).map(Path::to_path_buf));
        // Some may be there although another cannot be made.
        let directory = Directory(());
        let done = std::fs::create_dir_all(path);
        drop(made);
        interrupt::removes_unfinished();
        done.map_err(|error| Failure::new(format!("cannot make `{}`: {error}", path.display())))?;
        Ok(directory)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        remove_empty();
    }
}

/// Removes what was made and has nothing in it: the system refuses it of the others.
fn remove_empty() {
    for path in MADE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = std::fs::remove_dir(path);
    }
}

/// Makes the temporary file, which an interrupt removes too.
fn temporary_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 0..100 {
        // A run that was killed may have left the first names.
        let temporary = path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        let mut unfinished = unfinished();
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                unfinished.push(temporary.clone());
                drop(unfinished);
                interrupt::removes_unfinished();
                return Ok((file, temporary));
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Appends a value as JSON text that people can read too.
pub(crate) fn append_json(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    // What the commands show serializes, and memory takes it.
    if serde_json::to_writer_pretty(&mut *out, value).is_ok() {
        out.push(b'\n');
    }
}
