//! Files of the file system: how they are named, opened, shared with others and written.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{File, FileType, OpenOptions, TryLockError};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::sink::Blocks;
use crate::{start, sys};

/// Names that are tried before it is given up to find one that nobody else writes to.
const MOST_NAMES: u32 = 100;

/// What was opened.
pub(super) enum Opened {
    Regular(Segment),
    /// A pipe or a device: what is written is gone. It does not wait.
    Pipe(File),
}

/// A regular file that is this sink's alone.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    file: File,
    /// Bytes of whole blocks.
    pub(super) len: u64,
}

/// Opens what a path names, and empties it. If somebody else writes a stream there, another copy of the
/// runtime for instance, it is a file beside it; also if it is known to be somebody else's.
pub(super) fn open(path: &Path, is_taken: bool) -> io::Result<Opened> {
    let own = std::process::id();
    for number in u32::from(is_taken)..MOST_NAMES {
        let beside = match number {
            0 => path.to_path_buf(),
            1 => numbered(path, &own),
            _ => numbered(path, &format_args!("{own}-{number}")),
        };
        let file = open_at_once(&beside).map_err(|error| explained(error, &beside))?;
        if !file.metadata()?.is_file() {
            return Ok(Opened::Pipe(file));
        }
        // Emptied only once it is known to be ours.
        if !lock(&file) {
            continue;
        }
        file.set_len(0)?;
        if number > 0 {
            sys::complain(format_args!(
                "`{}` is somebody else's; this stream goes to `{}`",
                path.display(),
                beside.display()
            ));
        }
        return Ok(Opened::Regular(Segment::new(beside, file)));
    }
    Err(io::Error::new(
        io::ErrorKind::ResourceBusy,
        format!("is being written by somebody else, and so are {} files beside it", MOST_NAMES - 1),
    ))
}

impl Segment {
    fn new(path: PathBuf, file: File) -> Segment {
        Segment { path, file, len: 0 }
    }

    /// Makes a file that is not there yet.
    pub(super) fn create_new(path: PathBuf) -> io::Result<Segment> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        // Nobody else knows of it yet.
        lock(&file);
        Ok(Segment::new(path, file))
    }

    /// Writes all blocks, or none that a reader would find.
    pub(super) fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        match write_all(&mut self.file, &mut blocks.slices()) {
            Ok(()) => {
                self.len += blocks.bytes() as u64;
                Ok(())
            }
            Err(error) => {
                // Take a half-written block back. If even that fails, readers resync there.
                let _ = self.file.set_len(self.len);
                let _ = self.file.seek(SeekFrom::Start(self.len));
                Err(error)
            }
        }
    }
}

/// Makes the file this one's alone. False if it is somebody else's. Where files cannot be locked, as on some
/// network file systems, it is taken to be ours. Elsewhere than on Unix a lock would keep readers out.
fn lock(file: &File) -> bool {
    !cfg!(unix) || !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// True if a stream is being written to the file.
pub(super) fn is_in_use(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| !lock(&file))
}

/// Opens without emptying it, and without waiting for the reader of a pipe.
fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    options.open(path)
}

/// What the system's words hide.
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
            io::Error::new(io::ErrorKind::InvalidInput, help)
        }
        _ => error,
    }
}

#[cfg(not(unix))]
fn explained(error: io::Error, _path: &Path) -> io::Error {
    error
}

/// Refuses a path for files beside it, if something else than a file is there: who names a device or a pipe wants that
/// to be written, and not a file among the devices.
pub(super) fn expect_file(path: &Path) -> io::Result<()> {
    let Some(kind) =
        std::fs::metadata(path).ok().map(|there| there.file_type()).filter(|kind| !kind.is_file())
    else {
        return Ok(());
    };
    let why = format!("`{}` is {}, expected the path of a file", path.display(), described(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// What is no regular file, in words.
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

/// `name.NUMBER.ext`.
pub(super) fn numbered(path: &Path, number: &dyn Display) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(format!(".{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// True if the path of a forked child is another one than its parent's.
pub(super) fn is_own(path: &Path) -> bool {
    path.to_str().is_some_and(|text| {
        let text = text.replace("%%", "");
        text.contains("%p") || text.contains("%s")
    })
}

/// A path in which `%p` stands for the process's id, `%s` for the session's in hexadecimal, and `%%` for `%`.
pub(super) fn expanded(path: &Path) -> PathBuf {
    let Some(text) = path.to_str().filter(|text| text.contains('%')) else { return path.to_path_buf() };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out += before;
        let (known, instead) = match after.chars().next() {
            Some('p') => (1, std::process::id().to_string()),
            Some('s') => (1, format!("{:016x}", start::session())),
            Some('%') => (1, "%".to_owned()),
            _ => (0, "%".to_owned()),
        };
        out += &instead;
        rest = &after[known..];
    }
    (out + rest).into()
}

/// As the standard library's unstable `write_all_vectored`.
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
