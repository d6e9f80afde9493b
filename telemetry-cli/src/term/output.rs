//! The output of a command: a buffer, and standard output or a file that appears when it is whole.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use telemetry_foreign::RECOGNIZED_BY;

use crate::term::ended::Failure;
use crate::term::interrupt;
use crate::text::path::display;
use crate::text::sniff::known_by;

/// Bytes at which the buffer is written.
const FULL: usize = 64 << 10;

#[derive(clap::Args, Clone, Default)]
pub(crate) struct OutputArgs {
    /// Write to this file, replaced only on success; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A buffered output.
pub(crate) struct Output {
    buffer: Vec<u8>,
    target: Target,
}

enum Target {
    Stdout(Stdout),
    /// A device or a pipe, which is not replaced.
    Direct(File, PathBuf),
    /// The temporary file, and its final name.
    Replace(File, Temporary, PathBuf),
}

/// A file that is removed unless it is renamed.
struct Temporary(PathBuf);

impl OutputArgs {
    /// True if the command line names an output file.
    pub(crate) fn is_named(&self) -> bool {
        self.output.is_some()
    }

    /// The output file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// True if that is standard output, by `-` or since no file is named.
    pub(crate) fn is_stdout(&self) -> bool {
        self.path().is_none_or(|path| path.as_os_str() == "-")
    }

    /// An output that is not a stream. It replaces no stream, log of another system, or file in `read`: a mistyped
    /// command line must not destroy a trace.
    pub(crate) fn open(&self, read: &[PathBuf]) -> Result<Output, Failure> {
        match self.path().and_then(|path| Some((path, trace(path)?))) {
            Some((path, what)) => {
                Err(cannot_write(path, &format_args!("is {what}; help: name another file with -o")))
            }
            None => self.open_stream(read),
        }
    }

    /// The output of a stream, which replaces no file in `read`.
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

    /// The same, but refuses a file in `read` under any name.
    pub(crate) fn beside(path: &Path, read: &[PathBuf]) -> Result<Output, Failure> {
        keep_read(path, read)?;
        Output::to(path)
    }

    /// Standard output.
    pub(crate) fn stdout() -> Output {
        Output::new(Target::Stdout(io::stdout()))
    }

    fn new(target: Target) -> Output {
        // Tables have an output each, and may be many.
        Output { buffer: Vec::new(), target }
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

    /// The file appears only when it is whole.
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
    /// True for a terminal.
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

    /// Writes a full buffer, and then returns true. To be called after each line.
    #[inline]
    pub(crate) fn relieve(&mut self) -> Result<bool, Failure> {
        if self.buffer.len() < FULL { Ok(false) } else { self.flush().map(|()| true) }
    }

    /// Writes the buffer.
    #[cold]
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let written = match &mut self.target {
            Target::Stdout(out) => {
                let mut out = out.lock();
                out.write_all(&self.buffer).and_then(|()| out.flush())
            }
            Target::Direct(file, _) => file.write_all(&self.buffer),
            Target::Replace(file, ..) => file.write_all(&self.buffer),
        };
        self.buffer.clear();
        written.map_err(|error| self.failed(&error))
    }

    /// Lets a function write to the output, and returns its result, unless the output failed.
    pub(crate) fn write_with<T>(&mut self, write: impl FnOnce(&mut dyn Write) -> T) -> Result<T, Failure> {
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

    /// Writes the rest, and renames the file to its name.
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
            let file = OpenOptions::new().write(true).open(path)?;
            if file.metadata()?.is_file() {
                return Err(io::Error::other("another file replaced it; help: try again"));
            }
            return Ok(Target::Direct(file, path.to_path_buf()));
        }
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // For a link, its target is replaced.
    trust_link(path)?;
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
fn remove_unfinished() {
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
        interrupt::cleans_up(remove_unfinished);
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.extend(path.ancestors().take_while(is_missing).map(Path::to_path_buf));
        // Some may be there although another cannot be made.
        let directory = Directory(());
        let done = std::fs::create_dir_all(path);
        drop(made);
        done.map_err(|error| Failure::new(format!("cannot create `{}`: {error}", path.display())))?;
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

/// Makes the temporary file, which an interrupt removes too. Others may write to its directory: its name cannot be
/// guessed, and it is made only where nothing stands.
fn temporary_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    interrupt::cleans_up(remove_unfinished);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut unfinished = unfinished();
    let made =
        tempfile::Builder::new().prefix(&prefix).suffix(".tmp").make_in(directory_of(path), make_new)?;
    let (file, temporary) = made.keep().map_err(|error| error.error)?;
    unfinished.push(temporary.clone());
    Ok((file, temporary))
}

/// Creates a new file, and fails if anything exists there, even a link. The user's mask decides who may read it.
pub(crate) fn make_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// The directory that a file is in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Refuses a link that another user has put where the output goes, unless the directory is that user's: it may lead to
/// any file of ours.
#[cfg(unix)]
fn trust_link(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let Ok(link) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let (user, own) = (link.uid(), crate::term::native::user());
    if !link.is_symlink() || user == own || std::fs::metadata(directory_of(path))?.uid() == user {
        return Ok(());
    }
    let text = format!("it is a link of user {user}; help: name another file");
    Err(io::Error::new(ErrorKind::PermissionDenied, text))
}

#[cfg(not(unix))]
fn trust_link(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Appends a value as JSON text that people can read too.
pub(crate) fn append_json(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    // What the commands show serializes, and memory takes it.
    if serde_json::to_writer_pretty(&mut *out, value).is_ok() {
        out.push(b'\n');
    }
}
