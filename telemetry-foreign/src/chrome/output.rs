//! The output, compressed or not.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Text is written when there is this much of it.
const MAX_BUFFERED: usize = 64 << 10;

/// Lines of JSON, with commas between them.
pub(super) struct Output<'o> {
    pub(super) buffer: Vec<u8>,
    to: To<'o>,
}

enum To<'o> {
    Plain(&'o mut dyn Write),
    Gzip(GzEncoder<&'o mut dyn Write>),
}

impl<'o> Output<'o> {
    pub(super) fn new(out: &'o mut dyn Write, is_compressed: bool) -> Self {
        let to = match is_compressed {
            true => To::Gzip(GzEncoder::new(out, Compression::fast())),
            false => To::Plain(out),
        };
        Output { buffer: Vec::new(), to }
    }

    /// Writes the buffer if it is full.
    #[inline]
    pub(super) fn relieve(&mut self) -> io::Result<()> {
        if self.buffer.len() < MAX_BUFFERED { Ok(()) } else { self.flush() }
    }

    #[cold]
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Plain(out) => out.write_all(&self.buffer)?,
            To::Gzip(out) => out.write_all(&self.buffer)?,
        }
        self.buffer.clear();
        // An event of a megabyte must not keep its memory.
        self.buffer.shrink_to(2 * MAX_BUFFERED);
        Ok(())
    }

    /// Writes the rest.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        match &mut self.to {
            To::Plain(out) => out.flush(),
            To::Gzip(out) => out.try_finish(),
        }
    }
}
