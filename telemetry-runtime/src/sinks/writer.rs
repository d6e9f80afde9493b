//! Anything that can be written to.

use std::io::{self, Write};

use crate::sink::{Blocks, Sink};
use crate::sys;

/// Anything that can be written to, as a sink.
///
/// It should not wait for long, since everything else waits for it; and it should write all or nothing.
/// Whoever reads a stream in which half a block stands goes on at the next, which costs that block.
#[derive(Debug)]
pub struct Writer<W> {
    inner: W,
}

impl<W: Write + Send> Writer<W> {
    /// Blocks are written to `inner`, which is flushed within the latency.
    pub fn new(inner: W) -> Self {
        Writer { inner }
    }
}

impl<W: Write + Send> Sink for Writer<W> {
    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        sys::without_sigpipe(|| blocks.iter().flatten().try_for_each(|bytes| self.inner.write_all(bytes)))
    }

    fn flush(&mut self) -> io::Result<()> {
        sys::without_sigpipe(|| self.inner.flush())
    }

    fn name(&self) -> String {
        "a writer".into()
    }
}
