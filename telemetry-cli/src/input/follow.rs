//! A file that is read as it grows.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use telemetry_format::{HEADER_LEN, Header, MAGIC, flags};

use crate::term::message::note;

/// The interval between checks for more bytes.
const TICK: Duration = Duration::from_millis(100);

/// The bytes of a file, and those appended to it later. It continues with a file that replaces it,
/// and with the next segment of a rotated stream (`trace.tel`, `trace.1.tel`, `trace.2.tel`). A
/// read waits for more, until all sessions in it have ended or it is stopped.
pub(crate) struct Follow {
    path: PathBuf,
    file: File,
    /// Bytes that were read of it.
    read: u64,
    /// The next segment, if it exists.
    next: Option<(PathBuf, File)>,
    sessions: Sessions,
    stopped: Arc<AtomicBool>,
    growth: Arc<Growth>,
    is_gone: bool,
}

/// Whether an input grows, for another thread.
#[derive(Default)]
pub(crate) struct Growth {
    /// Its end was reached.
    has_waited: AtomicBool,
    /// It has grown since.
    has_grown: AtomicBool,
}

#[cfg(unix)]
impl Growth {
    /// Returns the growth of an input that is known to grow.
    pub(crate) fn known() -> Growth {
        Growth { has_waited: true.into(), has_grown: true.into() }
    }

    /// Returns true if the end was reached.
    pub(crate) fn has_waited(&self) -> bool {
        self.has_waited.load(Ordering::Relaxed)
    }

    /// Returns true if the input has grown since its end was reached.
    pub(crate) fn has_grown(&self) -> bool {
        self.has_grown.load(Ordering::Relaxed)
    }
}

impl Follow {
    /// Begins at the start of a file.
    pub(crate) fn open(path: &Path) -> io::Result<Follow> {
        Ok(Follow {
            path: path.to_path_buf(),
            file: File::open(path)?,
            read: 0,
            next: None,
            sessions: Sessions::default(),
            stopped: Arc::default(),
            growth: Arc::default(),
            is_gone: false,
        })
    }

    /// Returns a function that stops it: the next read that would wait finds the end instead.
    pub(crate) fn stopper(&self) -> impl FnOnce() + Send + 'static {
        let stopped = self.stopped.clone();
        move || stopped.store(true, Ordering::Relaxed)
    }

    /// Returns whether the file grows.
    #[cfg(unix)]
    pub(crate) fn growth(&self) -> Arc<Growth> {
        Arc::clone(&self.growth)
    }

    /// Continues after the end of the file, if there is more.
    fn go_on(&mut self) -> io::Result<bool> {
        // Everything that was appended before the next file began has been read by now.
        if let Some((path, file)) = self.next.take() {
            (self.path, self.file) = (path, file);
            self.restart();
            return Ok(true);
        }
        if self.file.metadata()?.len() < self.read {
            note(format!("`{}` was truncated: reading it from its start again", self.path.display()));
            self.file.rewind()?;
            self.restart();
            return Ok(true);
        }
        self.next = match replacement(&self.path, &self.file) {
            Ok(Some(file)) => Some((self.path.clone(), file)),
            Ok(None) => next_segment(&self.path),
            Err(_) => {
                // The path is free for a moment between two files, or for good.
                let next = next_segment(&self.path);
                if next.is_none() && !self.is_gone {
                    note(format!("`{}` is missing: waiting for a new file", self.path.display()));
                    self.is_gone = true;
                }
                next
            }
        };
        Ok(self.next.is_some())
    }

    fn restart(&mut self) {
        self.read = 0;
        self.is_gone = false;
        self.sessions.restart();
    }
}

impl Read for Follow {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.file.read(to)?;
            if n > 0 {
                self.read += n as u64;
                self.sessions.pass(&to[..n]);
                if self.growth.has_waited.load(Ordering::Relaxed) {
                    self.growth.has_grown.store(true, Ordering::Relaxed);
                }
                return Ok(n);
            }
            if self.go_on()? {
                continue;
            }
            if self.sessions.have_all_ended() || self.stopped.load(Ordering::Relaxed) {
                return Ok(0);
            }
            self.growth.has_waited.store(true, Ordering::Relaxed);
            std::thread::sleep(TICK);
        }
    }
}

/// Opens the file that has the path now, if it is another one.
fn replacement(path: &Path, file: &File) -> io::Result<Option<File>> {
    let now = File::open(path)?;
    Ok((!is_same(&now.metadata()?, &file.metadata()?)).then_some(now))
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    a.created().ok() == b.created().ok()
}

/// Finds the next segment of a rotated stream.
fn next_segment(path: &Path) -> Option<(PathBuf, File)> {
    let (stem, number) = segment(path)?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let later = std::fs::read_dir(dir).ok()?.filter_map(|entry| {
        let name = PathBuf::from(entry.ok()?.file_name());
        let (other, later) = segment(&name)?;
        (other == stem && later > number && name.extension() == path.extension()).then_some((later, name))
    });
    let (_, name) = later.min_by_key(|(later, _)| *later)?;
    let path = path.with_file_name(name);
    let file = File::open(&path).ok()?;
    Some((path, file))
}

/// Splits the name of a segment into its base and number: `trace` and 2 for `trace.2.tel`. The
/// first segment has no number.
fn segment(path: &Path) -> Option<(&str, Option<u64>)> {
    let stem = path.file_stem()?.to_str()?;
    match stem.rsplit_once('.').map(|(name, number)| (name, number.parse())) {
        Some((name, Ok(number))) => Some((name, Some(number))),
        _ => Some((stem, None)),
    }
}

/// The sessions that have ended, from the headers of the blocks that were read.
#[derive(Default)]
struct Sessions {
    /// By id.
    ended: HashMap<u64, bool>,
    /// Bytes of the next header.
    header: Vec<u8>,
    /// Bytes of the payload that are still to come.
    payload: u64,
}

impl Sessions {
    fn have_all_ended(&self) -> bool {
        !self.ended.is_empty() && self.ended.values().all(|ended| *ended)
    }

    /// Continues at the start of a stream.
    fn restart(&mut self) {
        self.header.clear();
        self.payload = 0;
    }

    /// Takes the next bytes.
    fn pass(&mut self, mut bytes: &[u8]) {
        loop {
            let skipped = bytes.len().min(usize::try_from(self.payload).unwrap_or(usize::MAX));
            self.payload -= skipped as u64;
            bytes = &bytes[skipped..];
            let taken = bytes.len().min(HEADER_LEN - self.header.len());
            self.header.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.header.len() < HEADER_LEN {
                return;
            }
            match Header::decode(&self.header, crc32c::crc32c) {
                Ok(header) => {
                    *self.ended.entry(header.session).or_default() |= header.flags & flags::END != 0;
                    self.payload = header.block_len() - HEADER_LEN as u64;
                    self.header.clear();
                }
                Err(_) => {
                    // After damage, the next header may begin at any byte.
                    let start = self.header[1..].iter().position(|byte| *byte == MAGIC[0]);
                    self.header.drain(..start.map_or(HEADER_LEN, |start| start + 1));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_known_by_their_names() {
        let table = [
            ("trace.tel", Some(("trace", None))),
            ("trace.2.tel", Some(("trace", Some(2)))),
            ("dir/a.b.10.tel", Some(("a.b", Some(10)))),
            ("a.b.tel", Some(("a.b", None))),
            ("", None),
        ];
        for (path, expected) in table {
            assert_eq!(segment(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn ends_are_found_in_any_pieces_and_behind_damage() {
        let header = |session, flags| {
            let block = Header { flags, ..Header::new(telemetry_format::BlockType::Sync, session) };
            block.encode(crc32c::crc32c).to_vec()
        };
        let noise = [MAGIC[0]; 7].to_vec();
        let stream =
            [header(1, 0), noise, header(2, 0), header(1, flags::END), header(2, flags::END)].concat();
        for size in 1..stream.len() {
            let mut sessions = Sessions::default();
            let mut passed = 0;
            for piece in stream.chunks(size) {
                assert!(!sessions.have_all_ended());
                sessions.pass(piece);
                passed += piece.len();
            }
            assert!(passed == stream.len() && sessions.have_all_ended(), "{size}");
        }
    }
}
