//! Names, opens, locks and writes the files of sinks.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use telemetry_format::Notice;

use super::backlog;
use super::lock::lock;
use super::old;
use crate::run::state;
use crate::sinks::sink::Batch;
use crate::sys;

/// Maximum number of names that are tried to find one that no other process writes to.
const MAX_NAMES: u32 = 100;

/// Maximum number of attempts to move an earlier stream.
const MAX_MOVES: u32 = 8;

/// What a path led to.
pub(super) enum Opened {
    Regular(Segment),
    /// A pipe or a device, where written bytes cannot be taken back. Writes to it do not wait.
    Pipe(File),
    /// A pipe without a reader.
    NoReader,
}

/// A regular file that only this sink writes to.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    file: File,
    /// Number of bytes in whole blocks.
    pub(super) len: u64,
}

/// Opens the file of a path, and empties it. With `keeps_old`, a stream of an earlier run gets
/// another name before. If another process or another copy of the runtime writes a stream there, or
/// `is_taken` says so, opens a file beside it.
pub(super) fn open(path: &Path, is_taken: bool, keeps_old: bool) -> io::Result<Opened> {
    let own = std::process::id();
    for number in u32::from(is_taken)..MAX_NAMES {
        let beside = match number {
            0 => path.to_path_buf(),
            1 => numbered(path, &own),
            _ => numbered(path, &format_args!("{own}-{number}")),
        };
        let file = match open_and_lock(&beside, keeps_old && number == 0) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(Opened::NoReader),
            opened => match opened? {
                Found::Locked(file) => file,
                Found::InUse => continue,
                Found::Pipe(pipe) => return Ok(Opened::Pipe(pipe)),
            },
        };
        // Emptied only once this sink has the lock.
        file.set_len(0)?;
        if number > 0 {
            let (path, beside) = (path.display(), beside.display());
            sys::report(Notice::FileInUse, format_args!("`{path}` is in use; writing to `{beside}`"));
        }
        return Ok(Opened::Regular(Segment::new(beside, file)));
    }
    Err(io::Error::new(
        io::ErrorKind::ResourceBusy,
        format!("the file is in use, and so are {} files beside it", MAX_NAMES - 1),
    ))
}

/// What one path led to.
enum Found {
    Locked(File),
    /// A regular file that another process writes a stream to.
    InUse,
    Pipe(File),
}

/// Opens a path, and locks the file. With `keeps_old`, moves an earlier stream out of the way.
fn open_and_lock(path: &Path, keeps_old: bool) -> io::Result<Found> {
    // Some file systems give a file another number each time, so the path never seems to lead to
    // it.
    for _ in 0..MAX_MOVES {
        let file = open_at_once(path).map_err(|error| explained(error, path))?;
        if !file.metadata()?.is_file() {
            return Ok(Found::Pipe(file));
        }
        if !lock(&file) {
            return Ok(Found::InUse);
        }
        // After a move, the next round creates the file. So does another process that moves it.
        if !keeps_old || old::is_at(&file, path) && !old::set_aside(path) {
            return Ok(Found::Locked(file));
        }
    }
    Ok(Found::InUse)
}

impl Segment {
    fn new(path: PathBuf, file: File) -> Segment {
        Segment { path, file, len: 0 }
    }

    /// Creates a file that must not exist.
    pub(super) fn create_new(path: PathBuf) -> io::Result<Segment> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        // No other process knows the file yet.
        lock(&file);
        Ok(Segment::new(path, file))
    }

    /// Writes all blocks, or none that a reader would find.
    pub(super) fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        match write_all(&mut self.file, &mut blocks.slices()) {
            Ok(()) => {
                self.len += blocks.byte_len() as u64;
                Ok(())
            }
            Err(error) => {
                // Removes the half-written block. If that fails, too, readers continue at the next
                // block.
                let _ = self.file.set_len(self.len);
                let _ = self.file.seek(SeekFrom::Start(self.len));
                Err(error)
            }
        }
    }
}

/// At the end of the process, the file stays open, and so its lock stays until the process has
/// ended. Another copy of the runtime, which ends later, would otherwise empty the file.
impl Drop for Segment {
    fn drop(&mut self) {
        if backlog::is_end() {
            std::mem::forget(self.file.try_clone());
        }
    }
}

/// Opens a file without emptying it, and without waiting for the reader of a pipe. Refuses a file
/// or link that another user has planted.
#[cfg(all(unix, not(miri)))]
fn open_at_once(path: &Path) -> io::Result<File> {
    let text = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    sys::open_output(&text)?.map_err(|sys::Planted { user, is_link }| {
        let what = if is_link { "a symbolic link" } else { "a file" };
        let why = format!(
            "found {what} of user {user} in a directory that any user may write to, expected one of user {}",
            sys::user()
        );
        sys::tagged(io::ErrorKind::PermissionDenied, Notice::SinkUntrusted, why)
    })
}

#[cfg(not(all(unix, not(miri))))]
fn open_at_once(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

/// Explains an error whose text from the system is misleading.
#[cfg(unix)]
fn explained(error: io::Error, path: &Path) -> io::Error {
    use std::os::unix::fs::FileTypeExt;
    let Some(libc::ENXIO) = error.raw_os_error() else { return error };
    match std::fs::metadata(path).map(|metadata| metadata.file_type()) {
        Ok(kind) if kind.is_fifo() => {
            io::Error::new(io::ErrorKind::NotConnected, "the pipe has no reader yet")
        }
        Ok(kind) if kind.is_socket() => {
            let help = format!("a socket, expected a file or a pipe; help: `unix:{}`", path.display());
            sys::tagged(io::ErrorKind::InvalidInput, Notice::SinkAddress, help)
        }
        _ => error,
    }
}

#[cfg(not(unix))]
fn explained(error: io::Error, _path: &Path) -> io::Error {
    error
}

/// Refuses a path for files beside it, if it leads to something other than a file. A user who names
/// a device or a pipe wants the sink to write to that, and not to create files in `/dev`.
pub(super) fn expect_file(path: &Path) -> io::Result<()> {
    let Some(kind) =
        std::fs::metadata(path).ok().map(|there| there.file_type()).filter(|kind| !kind.is_file())
    else {
        return Ok(());
    };
    let why = format!("`{}` is {}, expected the path of a file", path.display(), described(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Describes what is not a regular file.
fn described(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    if kind.is_dir() { "a directory" } else { "a device" }
}

/// Returns `name.NUMBER.ext`.
pub(super) fn numbered(path: &Path, number: &dyn Display) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(format!(".{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Returns true if a forked child has another path than its parent.
pub(super) fn is_own(path: &Path) -> bool {
    path.to_str().is_some_and(|text| {
        let text = text.replace("%%", "");
        text.contains("%p") || text.contains("%s")
    })
}

/// Returns a path with `%p` replaced by the process's number, `%s` by the session's in hexadecimal,
/// and `%%` by `%`.
pub(super) fn expanded(path: &Path) -> PathBuf {
    let Some(text) = path.to_str().filter(|text| text.contains('%')) else { return path.to_path_buf() };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out += before;
        let (known, instead) = match after.chars().next() {
            Some('p') => (1, std::process::id().to_string()),
            Some('s') => (1, format!("{:016x}", state::session())),
            Some('%') => (1, "%".to_owned()),
            _ => (0, "%".to_owned()),
        };
        out += &instead;
        rest = &after[known..];
    }
    (out + rest).into()
}

/// The same as the standard library's unstable `write_all_vectored`.
fn write_all(file: &mut File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => IoSlice::advance_slices(&mut slices, n),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
