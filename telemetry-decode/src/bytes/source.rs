//! Where bytes come from: memory or files, read at any place; or a pipe, read once.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that can be read at any place.
#[derive(Clone)]
pub(crate) enum Source<'s> {
    Slice(&'s [u8]),
    Files(Arc<Files>),
}

impl Source<'_> {
    /// Reads what fits `to`; less only at the end.
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

    /// Where from a place on there are bytes that may be other than zeros: behind a hole of a file, or at the end of all.
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

/// Files one behind the other, each as long as it was when it was opened.
pub(crate) struct Files {
    /// Each with the offset of its end.
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

    /// A file that grows while it is read.
    pub(crate) fn growing(file: File) -> Files {
        Files { files: vec![(file, u64::MAX)], len: u64::MAX }
    }

    /// Which bytes of all each file has.
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

    /// Reads what fits `to`; less only at the end of a file.
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

/// Where a file has data from a place on; nothing if there is only a hole. Where the system does not know, all is data.
/// The file's own position is not used: files are read at given positions.
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

/// The bytes ahead of a place that moves forward.
///
/// It grows only as bytes arrive, never by what a header promises, and never waits for more than what
/// is asked for.
pub(crate) struct Window<'s> {
    form: Form<'s>,
    /// Offset of the place.
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

/// Bytes asked for at once where bytes are read in order.
const STEP: usize = 256 << 10;

/// Bytes asked for at once where most are skipped.
const SKIPPING_STEP: usize = 4 << 10;

impl<'s> Window<'s> {
    /// Over something that is read once.
    pub(crate) fn once(from: Box<dyn Read + Send + 's>) -> Self {
        Window::buffered(From::Once(from), STEP)
    }

    /// Over a source whose payloads are mostly skipped.
    pub(crate) fn skipping(source: &Source<'s>) -> Self {
        match source {
            Source::Slice(bytes) => Window { form: Form::Slice(bytes), at: 0 },
            Source::Files(files) => Window::buffered(From::Files(files.clone()), SKIPPING_STEP),
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

    /// Offset of the place.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The bytes already here.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.form {
            Form::Slice(bytes) => bytes.get(self.at as usize..).unwrap_or_default(),
            Form::Buffered { buffer, start, end, .. } => &buffer[*start..*end],
        }
    }

    /// At least `len` bytes, or all that there are.
    pub(crate) fn fill(&mut self, len: usize) -> io::Result<&[u8]> {
        if let Form::Buffered { from, buffer, start, end, step, ended } = &mut self.form {
            while *end - *start < len && !*ended {
                if buffer.len() - *end < *step {
                    if *start > 0 {
                        buffer.copy_within(*start..*end, 0);
                        (*start, *end) = (0, *end - *start);
                    }
                    let room = (*end + *step).max(buffer.len());
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

    /// Moves the place on. A source may be moved beyond what is here; a pipe may not.
    pub(crate) fn skip(&mut self, len: usize) {
        self.at += len as u64;
        if let Form::Buffered { start, end, .. } = &mut self.form {
            *start = (*start + len).min(*end);
            if *start == *end {
                (*start, *end) = (0, 0);
            }
        }
    }

    /// Moves the place back or on, in a source.
    pub(crate) fn seek(&mut self, at: u64) {
        self.at = at;
        if let Form::Buffered { start, end, ended, .. } = &mut self.form {
            (*start, *end, *ended) = (0, 0, false);
        }
    }
}
