//! Sources of bytes: memory or files with random access, or a pipe that is read once.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Bytes with random access.
#[derive(Clone)]
pub(crate) enum Source<'s> {
    Slice(&'s [u8]),
    Files(Arc<Files>),
}

impl Source<'_> {
    /// Fills `to`, or less at the end of the source. Returns the number of bytes read.
    pub(crate) fn read_all_at(&self, at: u64, to: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < to.len() {
            let here = at.saturating_add(read as u64);
            let more = match self {
                Source::Slice(bytes) => {
                    let from =
                        usize::try_from(here).ok().and_then(|here| bytes.get(here..)).unwrap_or_default();
                    let most = from.len().min(to.len() - read);
                    to[read..read + most].copy_from_slice(&from[..most]);
                    most
                }
                Source::Files(files) => files.read_at(here, &mut to[read..])?,
            };
            if more == 0 {
                break;
            }
            read += more;
        }
        Ok(read)
    }

    /// Returns the first offset from `at` on whose bytes may be nonzero: after a hole of a file, or
    /// the end of the source.
    pub(crate) fn data_from(&self, at: u64) -> u64 {
        match self {
            Source::Slice(_) => at,
            Source::Files(files) => files.data_from(at),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Source::Slice(bytes) => bytes.len() as u64,
            Source::Files(files) => files.len,
        }
    }
}

/// Files in sequence, each with the length that it had when it was opened.
pub(crate) struct Files {
    /// Each file with the offset of its end.
    files: Vec<(File, u64)>,
    len: u64,
}

impl Files {
    pub(crate) fn new(opened: impl IntoIterator<Item = File>) -> io::Result<Files> {
        let mut all = Files { files: Vec::new(), len: 0 };
        for file in opened {
            all.len = all.len.saturating_add(file.metadata()?.len());
            all.files.push((file, all.len));
        }
        Ok(all)
    }

    /// Wraps a file that grows while it is read.
    pub(crate) fn growing(file: File) -> Files {
        Files { files: vec![(file, u64::MAX)], len: u64::MAX }
    }

    /// Returns the range of bytes of each file.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let starts = std::iter::once(0).chain(self.files.iter().map(|(_, end)| *end));
        starts.zip(&self.files).map(|(start, (_, end))| start..*end)
    }

    /// Copies the rest of a pipe to an unlinked temporary file.
    pub(crate) fn spool(from: &mut dyn Read) -> io::Result<Files> {
        let mut file = tempfile::tempfile()?;
        io::copy(from, &mut file)?;
        Files::new([file])
    }

    fn data_from(&self, mut at: u64) -> u64 {
        let mut index = self.files.partition_point(|(_, end)| *end <= at);
        while let Some((file, end)) = self.files.get(index) {
            let start = index.checked_sub(1).map_or(0, |before| self.files[before].1);
            match data_of_file_from(file, at - start).map(|found| start.saturating_add(found)) {
                Some(found) if found < *end => return found.max(at),
                _ => (at, index) = (*end, index + 1),
            }
        }
        at
    }

    /// Reads into `to`, at most up to the end of the file at `at`.
    pub(crate) fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<usize> {
        let index = self.files.partition_point(|(_, end)| *end <= at);
        let Some((file, end)) = self.files.get(index) else { return Ok(0) };
        let start = index.checked_sub(1).map_or(0, |before| self.files[before].1);
        let most = usize::try_from(end - at).unwrap_or(usize::MAX).min(to.len());
        retry(|| read_file_at(file, at - start, &mut to[..most]))
    }
}

#[cfg(unix)]
fn read_file_at(file: &File, at: u64, to: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, to, at)
}

#[cfg(not(unix))]
fn read_file_at(mut file: &File, at: u64, to: &mut [u8]) -> io::Result<usize> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(at))?;
    file.read(to)
}

/// Returns the first offset from `at` on where the file has data; `None` if the rest is a hole.
/// Returns `at` if the system cannot tell. This moves the file's position, which is harmless,
/// because all reads give an offset.
#[cfg(target_os = "linux")]
fn data_of_file_from(file: &File, at: u64) -> Option<u64> {
    use rustix::{fs, io};
    match fs::seek(file, fs::SeekFrom::Data(at)) {
        Ok(found) => Some(found),
        Err(io::Errno::NXIO) => None,
        Err(_) => Some(at),
    }
}

#[cfg(not(target_os = "linux"))]
fn data_of_file_from(_: &File, at: u64) -> Option<u64> {
    Some(at)
}

fn retry(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The bytes ahead of a position that moves forward.
///
/// The buffer grows only with bytes that arrive, never by the length in a header. A read never
/// waits for more bytes than requested.
pub(crate) struct Window<'s> {
    form: Form<'s>,
    /// Offset of the position.
    at: u64,
}

enum Form<'s> {
    Slice(&'s [u8]),
    Buffered { from: From<'s>, buffer: Vec<u8>, start: usize, end: usize, step: usize, ended: bool },
}

enum From<'s> {
    Files(Arc<Files>),
    Once(Box<dyn Read + Send + 's>),
}

/// Bytes of one read, in sequential reading.
const READ_LEN: usize = 256 << 10;

/// Bytes of one read, where most bytes are skipped.
const SKIPPING_READ_LEN: usize = 4 << 10;

impl<'s> Window<'s> {
    /// Creates a window over an input that is read once.
    pub(crate) fn once(from: Box<dyn Read + Send + 's>) -> Self {
        Window::buffered(From::Once(from), READ_LEN)
    }

    /// Creates a window over a source whose payloads are mostly skipped.
    pub(crate) fn skipping(source: &Source<'s>) -> Self {
        match source {
            Source::Slice(bytes) => Window { form: Form::Slice(bytes), at: 0 },
            Source::Files(files) => Window::buffered(From::Files(files.clone()), SKIPPING_READ_LEN),
        }
    }

    pub(crate) fn slice(bytes: &'s [u8]) -> Self {
        Window { form: Form::Slice(bytes), at: 0 }
    }

    fn buffered(from: From<'s>, step: usize) -> Self {
        Window {
            form: Form::Buffered { from, buffer: Vec::new(), start: 0, end: 0, step, ended: false },
            at: 0,
        }
    }

    /// Returns the offset of the position.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the bytes that are already in memory.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.form {
            Form::Slice(bytes) => bytes.get(self.at as usize..).unwrap_or_default(),
            Form::Buffered { buffer, start, end, .. } => &buffer[*start..*end],
        }
    }

    /// Reads until `len` bytes are in memory, or the input ends. Returns the bytes in memory.
    pub(crate) fn fill(&mut self, len: usize) -> io::Result<&[u8]> {
        if let Form::Buffered { from, buffer, start, end, step, ended } = &mut self.form {
            while *end - *start < len && !*ended {
                if buffer.len() - *end < *step {
                    if *start > 0 {
                        buffer.copy_within(*start..*end, 0);
                        (*start, *end) = (0, *end - *start);
                    }
                    let room = (*end + *step).max(buffer.len());
                    if buffer.is_empty() {
                        // New memory from the system is zero already.
                        *buffer = vec![0; room];
                    }
                    buffer.resize(room, 0);
                }
                let have = *end - *start;
                let to = &mut buffer[*end..];
                let read = match from {
                    From::Files(files) => {
                        let most = (*step).max(len - have).min(to.len());
                        files.read_at(self.at + have as u64, &mut to[..most])?
                    }
                    From::Once(from) => retry(|| from.read(to))?,
                };
                *end += read;
                *ended = read == 0;
            }
        }
        Ok(self.bytes())
    }

    /// Moves the position forward. In a source it may pass the bytes in memory; in a pipe it may
    /// not.
    pub(crate) fn skip(&mut self, len: usize) {
        self.at += len as u64;
        if let Form::Buffered { start, end, .. } = &mut self.form {
            *start = (*start + len).min(*end);
            if *start == *end {
                (*start, *end) = (0, 0);
            }
        }
    }

    /// Moves the position of a source in either direction.
    pub(crate) fn seek(&mut self, at: u64) {
        self.at = at;
        if let Form::Buffered { start, end, ended, .. } = &mut self.form {
            (*start, *end, *ended) = (0, 0, false);
        }
    }
}
