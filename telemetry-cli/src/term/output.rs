//! The output of a command: a buffer, and standard output or a file that appears when it is
//! complete.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use telemetry_foreign::RECOGNIZED_BY;

use crate::term::ended::Failure;
use crate::term::interrupt;
#[cfg(unix)]
use crate::term::native::stdout_was_closed;
use crate::text::path::display;
use crate::text::sniff::known_by;

/// The buffer is written when it has this many bytes.
const MAX_BUFFERED: usize = 64 << 10;

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
    /// Returns true if the command line names an output file.
    pub(crate) fn is_named(&self) -> bool {
        self.output.is_some()
    }

    /// Returns the output file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Returns true if the output is standard output, by `-` or because no file is named.
    pub(crate) fn is_stdout(&self) -> bool {
        self.path().is_none_or(|path| path.as_os_str() == "-")
    }

    /// Opens an output that is not a stream. It replaces no stream, no log of another system, and
    /// no file in `read`: a mistyped command line must not destroy a trace.
    pub(crate) fn open(&self, read: &[PathBuf]) -> Result<Output, Failure> {
        match self.path().and_then(|path| Some((path, trace(path)?))) {
            Some((path, what)) => {
                Err(cannot_write(path, &format_args!("is {what}; help: name another file with -o")))
            }
            None => self.open_stream(read),
        }
    }

    /// Opens the output of a stream, which replaces no file in `read`.
    pub(crate) fn open_stream(&self, read: &[PathBuf]) -> Result<Output, Failure> {
        match &self.output {
            Some(path) if !self.is_stdout() => Output::beside(path, read),
            _ => Ok(Output::stdout()),
        }
    }
}

impl Output {
    /// Opens a file that appears when it is complete.
    pub(crate) fn to(path: &Path) -> Result<Output, Failure> {
        open_file(path).map(Output::new).map_err(|error| cannot_write(path, &error))
    }

    /// Opens such a file, but refuses a file in `read` under any name.
    pub(crate) fn beside(path: &Path, read: &[PathBuf]) -> Result<Output, Failure> {
        keep_read(path, read)?;
        Output::to(path)
    }

    /// Returns standard output.
    pub(crate) fn stdout() -> Output {
        Output::new(Target::Stdout(io::stdout()))
    }

    fn new(target: Target) -> Output {
        // Each table has an output, and there may be many.
        Output { buffer: Vec::new(), target }
    }
}

/// For writers that keep their output. They return its errors.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= MAX_BUFFERED {
            self.write_buffer()?;
        }
        Ok(bytes.len())
    }

    /// Does nothing: the file appears only when it is complete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Target::Stdout(_) if !bytes.is_empty() && stdout_was_closed() => {
                Err(io::Error::other("it is closed"))
            }
            Target::Stdout(out) => {
                let mut out = out.lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Target::Direct(file, _) | Target::Replace(file, ..) => file.write_all(bytes),
        }
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

    /// Does nothing: the file appears only when it is complete.
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
    /// Returns true for a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        match &self.target {
            Target::Stdout(out) => out.is_terminal(),
            Target::Direct(file, _) => file.is_terminal(),
            Target::Replace(..) => false,
        }
    }

    /// Refuses a terminal, for output that is not text.
    pub(crate) fn expect_no_terminal(&self) -> Result<(), Failure> {
        match self.is_terminal() {
            true => Err(Failure::new(
                "the output is not text, and would go to a terminal; help: name a file with -o FILE",
            )),
            false => Ok(()),
        }
    }

    /// Returns true for standard output, and for a device or a pipe.
    #[cfg(feature = "arrow")]
    pub(crate) fn is_pipe(&self) -> bool {
        !matches!(self.target, Target::Replace(..))
    }

    /// Returns the buffer, to append lines to.
    #[inline]
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes the buffer if it is full, and then returns true. Call it after each line.
    #[inline]
    pub(crate) fn relieve(&mut self) -> Result<bool, Failure> {
        if self.buffer.len() < MAX_BUFFERED { Ok(false) } else { self.flush().map(|()| true) }
    }

    /// Appends lines, and writes them if they are many or the buffer is full.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<(), Failure> {
        if lines.len() < MAX_BUFFERED {
            self.buffer.extend_from_slice(lines);
            return self.relieve().map(drop);
        }
        self.flush()?;
        self.target.write(lines).map_err(|error| self.failed(&error))
    }

    /// Writes the buffer.
    #[cold]
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.write_buffer().map_err(|error| self.failed(&error))
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        let written = self.target.write(&self.buffer);
        self.buffer.clear();
        written
    }

    /// Lets a function write to the output. Returns its result, unless the output failed.
    pub(crate) fn write_with<T>(&mut self, write: impl FnOnce(&mut dyn Write) -> T) -> Result<T, Failure> {
        let mut sink = Sink { output: self, failure: None };
        let written = write(&mut sink);
        match sink.failure {
            Some(failure) => Err(failure),
            None => Ok(written),
        }
    }

    /// Writes a value as JSON or as text, then ends like [`Output::finish`].
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

    /// Writes the rest, and gives the file its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        if let Target::Replace(_, Temporary(temporary), path) = &self.target {
            // The lock is held to the end, so an interrupt finds either the old file or the new
            // one.
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

/// Other systems do not tell.
#[cfg(not(unix))]
fn stdout_was_closed() -> bool {
    false
}

pub(crate) fn cannot_write(path: &Path, error: &dyn Display) -> Failure {
    Failure::new(format!("cannot write `{}`: {error}", path.display()))
}

/// Names the format of a file that is a stream or another system's log, by its first bytes.
fn trace(path: &Path) -> Option<String> {
    let mut first = Vec::new();
    let file = File::open(path).ok().filter(|_| path.is_file())?;
    file.take(RECOGNIZED_BY as u64).read_to_end(&mut first).ok()?;
    known_by(&first)
}

/// Refuses an output that is also an input.
pub(crate) fn keep_read(output: &Path, read: &[PathBuf]) -> Result<(), Failure> {
    let Some(same) = read.iter().find(|read| is_same(output, read)) else { return Ok(()) };
    let same = display(same);
    Err(cannot_write(output, &format_args!("is an input of this command, {same}; help: name another file")))
}

/// Returns true if an output is a regular file and also the input; `-` is standard input.
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
    // Through a link, its target is replaced.
    trust_link(path)?;
    let path = if old.is_some() { std::fs::canonicalize(path)? } else { path.to_path_buf() };
    let (file, temporary) = temporary_beside(&path)?;
    let temporary = Temporary(temporary);
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    Ok(Target::Replace(file, temporary, path))
}

/// The temporary files and folders that this run is writing.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

pub(super) fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files, and directories made for them, if the command ends early.
fn remove_unfinished() {
    for path in unfinished().drain(..) {
        if std::fs::remove_file(&path).is_err() {
            let _ = std::fs::remove_dir_all(path);
        }
    }
    remove_empty();
}

/// The directories that this run made, innermost first.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A directory for files. It is removed if no file was written to it.
#[must_use]
pub(crate) struct Directory(());

impl Directory {
    /// Makes the directory, and its parents if they are missing.
    pub(crate) fn make(path: &Path) -> Result<Directory, Failure> {
        interrupt::cleans_up(remove_unfinished);
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.extend(path.ancestors().take_while(is_missing).map(Path::to_path_buf));
        // Some may exist even if another one cannot be made.
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

/// Removes the directories that are empty. The system refuses to remove the others.
fn remove_empty() {
    for path in MADE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = std::fs::remove_dir(path);
    }
}

/// Makes the temporary file, which an interrupt removes too. Other users may write to its
/// directory, so its name cannot be guessed and it never replaces anything.
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

/// Creates a new file, and fails if anything exists there, even a link. The user's mask decides who
/// may read the file.
pub(crate) fn make_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Returns the directory that a file is in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Refuses a link that another user made where the output goes, because it may lead to any of our
/// files. In that user's own directory it is accepted.
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
    // All values that commands show serialize, and writing to memory cannot fail.
    if serde_json::to_writer_pretty(&mut *out, value).is_ok() {
        out.push(b'\n');
    }
}
