//! Files one after the other, of which the last few are kept.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::place::{self, Segment};
use crate::sink::{Blocks, Sink};
use crate::sys;

/// Files one after the other, each a stream that can be read alone: of `trace.tel`, `trace.1.tel`,
/// `trace.2.tel` and so on.
///
/// The numbers go on from those that are there, and no file is ever renamed or written anew. When a new
/// one begins, the oldest of that name beyond the count are removed, those of earlier runs too, but none that
/// is being written. What is at the path itself is left alone, and must be a file or nothing. In the path `%p`, `%s` and `%%` stand for what they do for [`File`](super::File).
#[derive(Debug)]
pub struct Rotating {
    /// As it was given.
    path: PathBuf,
    size: u64,
    age: Option<Duration>,
    count: usize,
    segment: Option<(Segment, Instant)>,
    complained: bool,
}

impl Rotating {
    /// Files of 64 MiB, at most 10.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Rotating { path, size: 64 << 20, age: None, count: 10, segment: None, complained: false }
    }

    /// Bytes of a file, which has more only if its first write, about a megabyte, is longer.
    pub fn size(self, bytes: u64) -> Self {
        Rotating { size: bytes, ..self }
    }

    /// How long a file is written to. The next one begins when there is something to write.
    pub fn age(self, age: Duration) -> Self {
        Rotating { age: Some(age), ..self }
    }

    /// How many files are kept, the one being written among them; from 1.
    pub fn count(self, files: usize) -> Self {
        Rotating { count: files.max(1), ..self }
    }

    /// The file that is being written.
    pub fn path(&self) -> Option<&Path> {
        self.segment.as_ref().map(|(segment, _)| &*segment.path)
    }

    fn is_due(&self, bytes: usize) -> bool {
        self.segment.as_ref().is_none_or(|(segment, since)| {
            let is_full = segment.len.saturating_add(bytes as u64) > self.size;
            // What has no events belongs behind those that are there.
            segment.len > 0 && bytes > 0 && (is_full || self.age.is_some_and(|age| since.elapsed() >= age))
        })
    }

    /// Begins the next file. What is written stays open if that fails.
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
            if place::is_in_use(&oldest) {
                continue;
            }
            match std::fs::remove_file(&oldest) {
                Err(error) if error.kind() != io::ErrorKind::NotFound && !self.complained => {
                    self.complained = true;
                    sys::complain(format_args!("cannot remove `{}`: {error}", oldest.display()));
                }
                _ => {}
            }
        }
    }
}

/// The numbers of the files that are there, lowest first.
fn numbers(path: &Path) -> io::Result<Vec<u64>> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        numbers.extend(number_of(path, &entry?.file_name()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number in a file's name, if it is one of ours.
fn number_of(path: &Path, name: &OsStr) -> Option<u64> {
    let name = Path::new(name);
    let (stem, extension) = match path.extension() {
        Some(extension) => (Path::new(name.file_stem()?), name.extension() == Some(extension)),
        None => (name, true),
    };
    let number = stem.extension()?.to_str()?.parse().ok()?;
    // Names such as `trace.01.tel` are not.
    let is_ours = extension && place::numbered(path, &number).file_name() == Some(name.as_os_str());
    is_ours.then_some(number)
}

impl Sink for Rotating {
    fn begin(&mut self, bytes: usize) -> io::Result<bool> {
        if self.is_due(bytes) {
            self.rotate()?;
        }
        Ok(self.segment.as_ref().is_some_and(|(segment, _)| segment.len == 0))
    }

    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        if self.segment.is_none() {
            self.rotate()?;
        }
        match &mut self.segment {
            Some((segment, _)) => segment.write(blocks),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn in_child(&mut self) -> bool {
        self.segment = None;
        true
    }

    fn name(&self) -> String {
        format!("`{}`", self.path.display())
    }
}
