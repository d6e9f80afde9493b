//! The interface of sinks.

use std::io::{self, IoSlice};

/// A destination for blocks, which the MPS calls a plinth.
///
/// ```
/// use std::io::{self, Write};
/// use telemetry_runtime::{Batch, Sink};
///
/// struct ToWriter<W>(W);
///
/// impl<W: Write + Send> Sink for ToWriter<W> {
///     fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
///         blocks.iter().flatten().try_for_each(|bytes| self.0.write_all(bytes))
///     }
/// }
/// ```
///
/// The runtime's own sinks are in [`sinks`](crate::sinks).
///
/// One thread at a time calls a sink, in most cases the drain's. Events that the sink itself emits
/// are recorded, and written by the next pass.
pub trait Sink: Send {
    /// Takes whole blocks, all of them or none.
    ///
    /// # Errors
    /// After an error, this sink's losses include the blocks, unless they are still in memory at
    /// the next write. A sink should fail soon, and not wait until it can write.
    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()>;

    /// Prepares the next write. Called before each write, with the length of its event blocks,
    /// which may be 0. Returns whether the reader of the next write has seen the previous ones.
    ///
    /// # Errors
    /// The same as for [`Sink::write`], which is then not called.
    fn begin(&mut self, bytes: usize) -> io::Result<Start> {
        let _ = bytes;
        Ok(Start::Continued)
    }

    /// Returns the maximum length of one block, including the header, from 65,536 down to 1,024.
    /// Longer blocks of facts are sent in parts. Blocks of events are never longer than 65,488
    /// bytes.
    fn max_block(&self) -> usize {
        usize::MAX
    }

    /// Writes what the sink holds back, as far as that can be done soon. Called once within the
    /// latency, at a flush, and at the end of the process.
    ///
    /// # Errors
    /// The same as for [`Sink::write`], but nothing is counted as lost.
    /// [`io::ErrorKind::WouldBlock`] says that more calls may help.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if the sink holds back something that its reader may take soon. The sink is
    /// then flushed every few milliseconds.
    fn is_behind(&self) -> bool {
        false
    }

    /// Returns how many of the blocks that the sink took last are not sent yet. The sink may still
    /// forget these, see [`Sink::forgotten`].
    fn unsent(&self) -> usize {
        0
    }

    /// Returns how many unsent blocks the sink has forgotten since the last call, for example
    /// because a connection broke. They are the earliest of those that were unsent. Called after
    /// each write and flush. The sink's losses include the events of these blocks, unless they are
    /// still in memory at the next write.
    fn forgotten(&mut self) -> usize {
        0
    }

    /// Returns the number of events that the sink took and could not deliver, without those of
    /// forgotten blocks. The stream does not state them.
    fn lost(&self) -> u64 {
        0
    }

    /// Returns true if the sink will never take anything again. The runtime then drops it.
    fn is_closed(&self) -> bool {
        false
    }

    /// Returns true if the reader is to get the facts of the session now, although there may be no
    /// event for it. Called every few moments.
    fn wants_facts(&self) -> bool {
        false
    }

    /// Returns true if what the sink takes leaves this host. Such a sink does not get the kinds
    /// that have a sensitive parameter, unless the registry or the user allows it. Called once.
    fn leaves_host(&self) -> bool {
        false
    }

    /// Prepares the sink for a new session, in the child of a `fork`. The sink forgets what waits
    /// to be written, and closes what it shares with the parent without writing to it. It starts
    /// over at the next write. Returns false if it cannot: the child then never calls or drops it
    /// again.
    fn after_fork(&mut self) -> bool {
        false
    }

    /// Returns the name of the sink in messages, for example a path in backticks.
    fn name(&self) -> String {
        "a sink".into()
    }
}

/// Whether the reader of the next write has seen the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The reader has seen them.
    Continued,
    /// The reader has not seen them, since a file or a connection begins. The runtime sends
    /// session, registries, threads and labels again, until a write with them succeeds, and open
    /// blocks from their beginning. It does so at the first write in any case.
    New,
}

impl Start {
    /// Returns `New` if `is_new`, else `Continued`.
    pub(crate) fn new_if(is_new: bool) -> Start {
        if is_new { Start::New } else { Start::Continued }
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        (**self).write(blocks)
    }

    fn begin(&mut self, bytes: usize) -> io::Result<Start> {
        (**self).begin(bytes)
    }

    fn max_block(&self) -> usize {
        (**self).max_block()
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }

    fn is_behind(&self) -> bool {
        (**self).is_behind()
    }

    fn unsent(&self) -> usize {
        (**self).unsent()
    }

    fn forgotten(&mut self) -> usize {
        (**self).forgotten()
    }

    fn lost(&self) -> u64 {
        (**self).lost()
    }

    fn is_closed(&self) -> bool {
        (**self).is_closed()
    }

    fn wants_facts(&self) -> bool {
        (**self).wants_facts()
    }

    fn leaves_host(&self) -> bool {
        (**self).leaves_host()
    }

    fn after_fork(&mut self) -> bool {
        (**self).after_fork()
    }

    fn name(&self) -> String {
        (**self).name()
    }
}

/// Whole blocks for a sink.
#[derive(Debug)]
pub struct Batch<'a> {
    pub(crate) blocks: &'a [[&'a [u8]; 2]],
}

impl<'a> Batch<'a> {
    /// Returns the header and the payload of every block.
    pub fn iter(&self) -> impl Iterator<Item = [&'a [u8]; 2]> + '_ {
        self.blocks.iter().copied()
    }

    /// Returns all bytes, in order, for a vectored write. None of the slices is empty.
    pub fn slices(&self) -> Vec<IoSlice<'a>> {
        let slices = self.blocks.iter().flatten().filter(|bytes| !bytes.is_empty());
        slices.map(|bytes| IoSlice::new(bytes)).collect()
    }

    /// Returns the length of all blocks in bytes.
    pub fn byte_len(&self) -> usize {
        self.blocks.iter().flatten().map(|bytes| bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink that says as little as it may.
    struct Plain;

    impl Sink for Plain {
        fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
            Ok(())
        }
    }

    /// A sink that says something else to every question.
    struct Odd;

    impl Sink for Odd {
        fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
            Err(io::Error::other("write"))
        }

        fn begin(&mut self, bytes: usize) -> io::Result<Start> {
            Ok(Start::new_if(bytes == 7))
        }

        fn max_block(&self) -> usize {
            2000
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::Error::other("flush"))
        }

        fn is_behind(&self) -> bool {
            true
        }

        fn unsent(&self) -> usize {
            2
        }

        fn forgotten(&mut self) -> usize {
            3
        }

        fn lost(&self) -> u64 {
            4
        }

        fn is_closed(&self) -> bool {
            true
        }

        fn wants_facts(&self) -> bool {
            true
        }

        fn leaves_host(&self) -> bool {
            true
        }

        fn after_fork(&mut self) -> bool {
            true
        }

        fn name(&self) -> String {
            "odd".into()
        }
    }

    /// Returns what a sink says.
    fn answers<S: Sink>(sink: &mut S) -> String {
        let results = [sink.write(&Batch { blocks: &[] }).is_ok(), sink.flush().is_ok()];
        let numbers = (sink.max_block(), sink.unsent(), sink.forgotten(), sink.lost());
        let states = [sink.is_behind(), sink.is_closed(), sink.wants_facts(), sink.leaves_host()];
        let begin = sink.begin(7).ok();
        format!("{results:?} {numbers:?} {states:?} {begin:?} {} {}", sink.after_fork(), sink.name())
    }

    #[test]
    fn a_box_passes_all_questions_on() {
        let most = usize::MAX;
        let plain = format!(
            "[true, true] ({most}, 0, 0, 0) [false, false, false, false] Some(Continued) false a sink"
        );
        let odd = "[false, false] (2000, 2, 3, 4) [true, true, true, true] Some(New) true odd";
        assert_eq!((answers(&mut Plain), answers(&mut Odd)), (plain.clone(), odd.to_owned()));
        let mut boxes: [Box<dyn Sink>; 2] = [Box::new(Plain), Box::new(Odd)];
        assert_eq!(boxes.each_mut().map(answers), [plain, odd.to_owned()]);
    }

    #[test]
    fn a_batch_has_no_empty_slices() {
        let blocks: [[&[u8]; 2]; 2] = [[b"head", b"payload"], [b"HEAD", b""]];
        let batch = Batch { blocks: &blocks };
        assert_eq!((batch.byte_len(), batch.iter().count()), (15, 2));
        let slices: Vec<Vec<u8>> = batch.slices().iter().map(|slice| slice.to_vec()).collect();
        assert_eq!(slices, [&b"head"[..], b"payload", b"HEAD"]);
    }
}
