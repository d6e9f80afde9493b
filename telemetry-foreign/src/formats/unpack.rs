//! Makes a plain file of a log that is compressed as a whole.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use super::format::Format;
use crate::common::gzip::{gunzip, is_gzip};

impl Format {
    /// Returns a file that a log can be read from at any offset: a temporary one, if the whole log
    /// is compressed. Also returns what is wrong with the compression, if anything. Then the file
    /// has what could be decompressed.
    ///
    /// # Errors
    /// Those of the file, and of the temporary one.
    pub fn unpack(mut file: File) -> io::Result<(File, Option<io::Error>)> {
        let mut first = [0; 2];
        file.rewind()?;
        let len = file.read(&mut first)?;
        file.rewind()?;
        if !is_gzip(&first[..len]) {
            return Ok((file, None));
        }
        let mut plain = tempfile::tempfile()?;
        let broken = copy_until_broken(&mut gunzip(io::BufReader::new(file)), &mut plain)?;
        plain.rewind()?;
        Ok((plain, broken))
    }
}

/// Copies everything that can be decompressed, so data before broken compression is not lost.
/// Returns how it is broken.
fn copy_until_broken(from: &mut impl Read, to: &mut impl Write) -> io::Result<Option<io::Error>> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(len) => to.write_all(&buffer[..len])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_broken(&error) => return Ok(Some(error)),
            Err(error) => return Err(error),
        }
    }
}

/// Returns true if an error is in the compression, not in the file.
fn is_broken(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}
