//! Where blocks go.

use std::fs::File;
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// A place that blocks go to: MPS's plinth.
pub(crate) trait Sink: Send {
    /// Takes one or more whole blocks, all of them or none.
    fn write(&mut self, blocks: &mut [IoSlice<'_>]) -> io::Result<()>;
}

/// A file, made anew when the first block comes.
///
/// Whole blocks by `write`, not a mapping: mapping a growing file costs two to three times as much,
/// in page faults.
pub(crate) struct FileSink {
    path: PathBuf,
    file: Option<File>,
    /// Bytes of whole blocks.
    len: u64,
}

impl FileSink {
    pub(crate) fn new(path: PathBuf) -> Self {
        FileSink { path, file: None, len: 0 }
    }
}

impl Sink for FileSink {
    fn write(&mut self, blocks: &mut [IoSlice<'_>]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(&self.path)?),
        };
        let total: u64 = blocks.iter().map(|block| block.len() as u64).sum();
        match write_all(file, blocks) {
            Ok(()) => {
                self.len += total;
                Ok(())
            }
            Err(error) => {
                // Take a half-written block back. A pipe or a device cannot; readers resync there.
                let _ = file.set_len(self.len).and_then(|()| file.seek(SeekFrom::Start(self.len)));
                Err(error)
            }
        }
    }
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
