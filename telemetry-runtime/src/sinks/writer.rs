//! A sink for any writer.

use std::io::{self, Write};

use crate::sinks::sink::{Batch, Sink};
use crate::sys;

/// A sink for any writer.
///
/// The writer should not wait for long, since everything else waits for it, and it should write all
/// or nothing. A reader of a stream with a partial block continues at the next one, and loses only
/// that block.
#[derive(Debug)]
pub struct Writer<W> {
    inner: W,
}

impl<W: Write + Send> Writer<W> {
    /// Creates a sink that writes blocks to `inner`, and flushes it within the latency.
    pub fn new(inner: W) -> Self {
        Writer { inner }
    }
}

impl<W: Write + Send> Sink for Writer<W> {
    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        sys::without_sigpipe(|| blocks.iter().flatten().try_for_each(|bytes| self.inner.write_all(bytes)))
    }

    fn flush(&mut self) -> io::Result<()> {
        sys::without_sigpipe(|| self.inner.flush())
    }

    fn name(&self) -> String {
        "a writer".into()
    }
}
