//! Where blocks go.

use std::io::{self, IoSlice};

/// A place that blocks go to: MPS's plinth.
///
/// ```
/// use std::io::{self, Write};
/// use telemetry_runtime::{Blocks, Sink};
///
/// struct ToWriter<W>(W);
///
/// impl<W: Write + Send> Sink for ToWriter<W> {
///     fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
///         blocks.iter().try_for_each(|block| block.iter().try_for_each(|bytes| self.0.write_all(bytes)))
///     }
/// }
/// ```
///
/// Those that the runtime has are in [`sinks`](crate::sinks).
///
/// Called by one thread at a time, mostly the drain's. What a sink emits itself is recorded, and
/// written by the next pass.
pub trait Sink: Send {
    /// Takes whole blocks, all of them or none.
    ///
    /// # Errors
    /// The blocks are then counted as lost by this sink, unless they are still in memory at the next
    /// write. Waiting for better times is not a sink's business: it should fail soon.
    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()>;

    /// Called before each write, with the bytes of the event blocks to come, 0 if there is none. True if
    /// whoever reads what is written next has not seen what was written before: at the beginning of a file or
    /// a connection. Session, registries, threads and labels are then sent again, until a write with them
    /// succeeds, and blocks that are open, from their beginning. The first write has all that anyway.
    ///
    /// # Errors
    /// As of [`Sink::write`], which is then not called.
    fn begin(&mut self, bytes: usize) -> io::Result<bool> {
        let _ = bytes;
        Ok(false)
    }

    /// Most bytes of one block, header included, from 65,536 down to 1,024. Blocks of facts that are longer are
    /// sent in parts; blocks of events are never longer than 65,488 bytes.
    fn max_block(&self) -> usize {
        usize::MAX
    }

    /// Writes out what the sink holds back, as far as that can be done soon. Called once within the latency,
    /// at a flush and at the end of the process.
    ///
    /// # Errors
    /// As of [`Sink::write`], but nothing is counted as lost. [`io::ErrorKind::WouldBlock`] says that more
    /// calls may help.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// True if it will never take anything again; it is then dropped.
    fn is_gone(&self) -> bool {
        false
    }

    /// Called in the child of a `fork`, which is a session of its own: the sink is to forget what waits to be
    /// written and to close what it shares with the parent, without writing to it, and begins anew at the
    /// next write. False if it cannot; the child then never calls it again, nor drops it.
    fn in_child(&mut self) -> bool {
        false
    }

    /// What messages call it, a path in backticks for instance.
    fn name(&self) -> String {
        "a sink".into()
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        (**self).write(blocks)
    }

    fn begin(&mut self, bytes: usize) -> io::Result<bool> {
        (**self).begin(bytes)
    }

    fn max_block(&self) -> usize {
        (**self).max_block()
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }

    fn is_gone(&self) -> bool {
        (**self).is_gone()
    }

    fn in_child(&mut self) -> bool {
        (**self).in_child()
    }

    fn name(&self) -> String {
        (**self).name()
    }
}

/// Whole blocks on their way to a sink.
pub struct Blocks<'a> {
    pub(crate) blocks: &'a [[&'a [u8]; 2]],
}

impl<'a> Blocks<'a> {
    /// Header and payload of every block.
    pub fn iter(&self) -> impl Iterator<Item = [&'a [u8]; 2]> + '_ {
        self.blocks.iter().copied()
    }

    /// All bytes, in order, for a vectored write. None of the slices is empty.
    pub fn slices(&self) -> Vec<IoSlice<'a>> {
        let slices = self.blocks.iter().flatten().filter(|bytes| !bytes.is_empty());
        slices.map(|bytes| IoSlice::new(bytes)).collect()
    }

    /// Number of bytes.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().flatten().map(|bytes| bytes.len()).sum()
    }
}
