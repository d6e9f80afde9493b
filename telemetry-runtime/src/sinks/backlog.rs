//! What a pipe or a connection has not taken yet, so that no block is left half sent.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::time::{Duration, Instant};

use crate::sink::Blocks;
use crate::sys;

/// Most bytes that wait unless somebody says otherwise; one write more, about a megabyte.
pub(super) const DEFAULT_MOST: usize = 4 << 20;

/// How long one write waits for a reader that takes something. (One that writes to a disk pauses for 10 ms
/// every so often.)
const PATIENCE: Patience = Patience { idle: Duration::from_millis(40), all: Duration::from_millis(100) };
/// How long the end waits.
const LAST_PATIENCE: Patience = Patience { idle: Duration::from_millis(500), all: Duration::from_secs(2) };

#[derive(Clone, Copy)]
struct Patience {
    /// Without any progress.
    idle: Duration,
    all: Duration,
}

/// Something that is written to without waiting, and what it has not taken yet.
#[derive(Debug)]
pub(super) struct Backlog<W: Write> {
    pub(super) out: W,
    bytes: Vec<u8>,
    /// Bytes of these that were sent since.
    start: usize,
    most: usize,
    /// The reader took nothing the last time. It is not waited for again until it does.
    stalled: bool,
}

impl<W: Write> Backlog<W> {
    pub(super) fn new(out: W, most: usize) -> Self {
        Backlog { out, bytes: Vec::new(), start: 0, most, stalled: false }
    }

    /// Sends blocks, or keeps what cannot be sent yet.
    ///
    /// # Errors
    /// `WouldBlock` if too much waits already. After any other error the reader is gone, and with it what
    /// waits.
    pub(super) fn send(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        self.go_on(PATIENCE)?;
        if self.waiting() == 0 {
            let mut slices = blocks.slices();
            let mut rest = &mut slices[..];
            self.push(&mut rest, PATIENCE)?;
            rest.iter().for_each(|bytes| self.bytes.extend_from_slice(bytes));
            return Ok(());
        }
        if self.waiting() + blocks.bytes() > self.most {
            return Err(self.would_block());
        }
        blocks.iter().flatten().for_each(|bytes| self.bytes.extend_from_slice(bytes));
        Ok(())
    }

    /// Sends what waits, as far as that can be done soon.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.go_on(PATIENCE)?;
        if self.waiting() == 0 { Ok(()) } else { Err(self.would_block()) }
    }

    /// Forgets what waits: it is not ours to send.
    pub(super) fn abandon(mut self) {
        self.clear();
    }

    fn clear(&mut self) {
        (self.bytes, self.start) = (Vec::new(), 0);
    }

    fn waiting(&self) -> usize {
        self.bytes.len() - self.start
    }

    fn would_block(&self) -> io::Error {
        let text = format!("the reader is too slow: {} bytes wait, at most {}", self.waiting(), self.most);
        io::Error::new(ErrorKind::WouldBlock, text)
    }

    fn go_on(&mut self, patience: Patience) -> io::Result<()> {
        if self.waiting() == 0 {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes);
        let mut slices = [IoSlice::new(&bytes[self.start..])];
        let mut rest = &mut slices[..];
        self.push(&mut rest, patience)?;
        self.start = bytes.len() - rest.iter().map(|slice| slice.len()).sum::<usize>();
        self.bytes = bytes;
        if self.start * 2 >= self.bytes.len() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        Ok(())
    }

    /// Writes until all is written or the reader takes no more. After an error nothing waits any more: the
    /// next reader could not use it.
    fn push(&mut self, rest: &mut &mut [IoSlice<'_>], patience: Patience) -> io::Result<()> {
        IoSlice::advance_slices(rest, 0);
        let begin = Instant::now();
        let mut progress = begin;
        let result = sys::without_sigpipe(|| {
            while !rest.is_empty() {
                match self.out.write_vectored(rest) {
                    Ok(0) => return Err(ErrorKind::WriteZero.into()),
                    Ok(n) => {
                        IoSlice::advance_slices(rest, n);
                        self.stalled = false;
                        progress = Instant::now();
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        self.stalled |= progress.elapsed() >= patience.idle;
                        if self.stalled || begin.elapsed() >= patience.all {
                            break;
                        }
                        std::thread::sleep(Duration::from_micros(500));
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
        if result.is_err() {
            self.clear();
        }
        result
    }
}

impl<W: Write> Drop for Backlog<W> {
    /// Sends what waits, as far as a reader takes it, for the last time.
    fn drop(&mut self) {
        self.stalled = false;
        let _ = self.go_on(LAST_PATIENCE);
    }
}
