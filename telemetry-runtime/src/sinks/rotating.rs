//! Writes a sequence of files, and keeps the last ones.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::lock;
use super::place::{self, Segment};
use telemetry_format::Notice;

use crate::sinks::sink::{Batch, Sink, Start};
use crate::sys;

/// Writes a sequence of files, each a stream that can be read alone: `trace.1.tel`, `trace.2.tel`
/// and so on for the path `trace.tel`.
///
/// The numbers continue after those of existing files, and no file is ever renamed or written
/// again. When a new file begins, the oldest files of that name beyond the count are removed. These
/// may be files of earlier runs, but none that is being written. What is at the path itself is left
/// alone, and must be a file or nothing. In the path, `%p`, `%s` and `%%` have the same meaning as
/// for [`File`](super::File).
#[derive(Debug)]
pub struct Rotating {
    /// The path that the sink was given.
    path: PathBuf,
    size: u64,
    age: Option<Duration>,
    count: usize,
    segment: Option<(Segment, Instant)>,
    reported: bool,
}

impl Rotating {
    /// Creates a sink for files of 64 MiB, at most 10.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Rotating { path, size: 64 << 20, age: None, count: 10, segment: None, reported: false }
    }

    /// Sets the maximum length of a file. A file is longer only if its first write is, which is
    /// about a megabyte.
    pub fn size(self, bytes: u64) -> Self {
        Rotating { size: bytes, ..self }
    }

    /// Sets how long a file is written to. The next file begins with the next write after that.
    pub fn age(self, age: Duration) -> Self {
        Rotating { age: Some(age), ..self }
    }

    /// Sets how many files are kept, including the one being written, from 1.
    pub fn count(self, files: usize) -> Self {
        Rotating { count: files.max(1), ..self }
    }

    /// Returns the path of the file that is being written.
    pub fn path(&self) -> Option<&Path> {
        self.segment.as_ref().map(|(segment, _)| &*segment.path)
    }

    fn is_due(&self, bytes: usize) -> bool {
        self.segment.as_ref().is_none_or(|(segment, since)| {
            let is_full = segment.len.saturating_add(bytes as u64) > self.size;
            // A write without events belongs to the present file.
            segment.len > 0 && bytes > 0 && (is_full || self.age.is_some_and(|age| since.elapsed() >= age))
        })
    }

    /// Begins the next file. If that fails, the present one stays open.
    fn rotate(&mut self) -> io::Result<()> {
        let path = place::expanded(&self.path);
        place::expect_file(&path)?;
        let mut there = numbers(&path)?;
        let mut number = there.last().map_or(Some(1), |last| last.checked_add(1));
        let segment = loop {
            let Some(next) = number else { return Err(io::ErrorKind::AlreadyExists.into()) };
            match Segment::create_new(place::numbered(&path, &next)) {
                // Another process rotates files of the same name.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number = next.checked_add(1),
                Err(error) => return Err(error),
                Ok(segment) => {
                    there.push(next);
                    break segment;
                }
            }
        };
        self.segment = Some((segment, Instant::now()));
        self.remove_oldest(&path, &there);
        Ok(())
    }

    fn remove_oldest(&mut self, path: &Path, there: &[u64]) {
        let beyond = there.len().saturating_sub(self.count);
        for number in &there[..beyond] {
            let oldest = place::numbered(path, number);
            if lock::is_in_use(&oldest) {
                continue;
            }
            match std::fs::remove_file(&oldest) {
                Err(error) if error.kind() != io::ErrorKind::NotFound && !self.reported => {
                    self.reported = true;
                    let tag = sys::with_errno(Notice::SegmentKept, &error);
                    sys::report(tag, format_args!("cannot remove `{}`: {error}", oldest.display()));
                }
                _ => {}
            }
        }
    }
}

/// Returns the numbers of the existing files, lowest first.
fn numbers(path: &Path) -> io::Result<Vec<u64>> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        numbers.extend(number_of(path, &entry?.file_name()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the number in a file's name, if the name is one that this sink makes.
fn number_of(path: &Path, name: &OsStr) -> Option<u64> {
    let name = Path::new(name);
    let (stem, extension) = match path.extension() {
        Some(extension) => (Path::new(name.file_stem()?), name.extension() == Some(extension)),
        None => (name, true),
    };
    let number = stem.extension()?.to_str()?.parse().ok()?;
    // It does not make names such as `trace.01.tel`.
    let is_ours = extension && place::numbered(path, &number).file_name() == Some(name.as_os_str());
    is_ours.then_some(number)
}

impl Sink for Rotating {
    fn begin(&mut self, bytes: usize) -> io::Result<Start> {
        if self.is_due(bytes) {
            self.rotate()?;
        }
        Ok(Start::new_if(self.segment.as_ref().is_some_and(|(segment, _)| segment.len == 0)))
    }

    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        if self.segment.is_none() {
            self.rotate()?;
        }
        match &mut self.segment {
            Some((segment, _)) => segment.write(blocks),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn after_fork(&mut self) -> bool {
        self.segment = None;
        true
    }

    fn name(&self) -> String {
        format!("`{}`", self.path.display())
    }
}
