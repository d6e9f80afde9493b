//! The bytes that a pipe or a connection has not taken yet, so that no block is left half-sent.
//! Also holds blocks for a reader that is not connected yet.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use telemetry_format::{BlockType, Grouped, Header};

use super::patience::may_wait;
use crate::own::registry as own;
use crate::sinks::sink::Batch;
use crate::sys;

/// Maximum number of bytes that wait by default, plus one write of about a megabyte.
pub(super) const DEFAULT_MOST: usize = 4 << 20;

/// How long a write waits for a reader that takes something, if no other sink would wait with it. A
/// reader that writes to a disk may pause for 10 ms now and then.
const WRITE_TIMEOUT: Timeout = Timeout { idle: Duration::from_millis(40), all: Duration::from_millis(100) };
/// How long the end of the process waits.
const END_TIMEOUT: Timeout = Timeout { idle: Duration::from_millis(500), all: Duration::from_secs(2) };
/// Maximum number of pieces in one write.
const MAX_SLICES: usize = 64;

/// When the process began to end its sinks.
static ENDING: OnceLock<Instant> = OnceLock::new();

/// Records that the sinks are dropped because the process ends. All of them together have the time
/// limit of one.
pub(crate) fn end() {
    ENDING.get_or_init(Instant::now);
}

/// Returns true if the sinks are dropped because the process ends.
pub(super) fn is_end() -> bool {
    ENDING.get().is_some()
}

/// Returns how much of a time limit other sinks have left at the end.
pub(super) fn rest_of_end(limit: Duration) -> Duration {
    let used = ENDING.get().map_or(Duration::ZERO, Instant::elapsed);
    limit.min(END_TIMEOUT.all.saturating_sub(used))
}

#[derive(Clone, Copy)]
struct Timeout {
    /// The limit for a time without progress.
    idle: Duration,
    all: Duration,
}

impl Timeout {
    /// Returns the limits of a write.
    fn of_write(is_patient: bool) -> Timeout {
        match is_patient && may_wait() {
            true => WRITE_TIMEOUT,
            false => Timeout { all: Duration::ZERO, ..WRITE_TIMEOUT },
        }
    }
}

/// A writer that is used without waiting, or with short waits, and the bytes that it has not taken
/// yet.
#[derive(Debug)]
pub(super) struct Backlog<W: Write> {
    /// The writer, or `None` while there is no reader.
    pub(super) out: Option<W>,
    pieces: VecDeque<Piece>,
    /// Number of bytes in all pieces that were not sent.
    waiting: usize,
    /// Number of blocks in all pieces that were not sent in full.
    unsent: usize,
    /// Number of these blocks that were forgotten, and not told yet.
    forgotten: usize,
    most: usize,
    /// True if a write may wait for the reader.
    is_patient: bool,
    /// When the reader last took something, or when something began to wait.
    progress: Instant,
    /// True if the reader took nothing for a while. No write waits for it until it does.
    stalled: bool,
}

/// The rest of one write. It is allocated with its exact length, so that no memory is wasted.
#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    /// Number of these bytes that were sent.
    sent: usize,
    /// The end of each block, and its number of events.
    blocks: Vec<(usize, u32)>,
    /// Number of these blocks that were sent in full.
    sent_blocks: usize,
}

impl Piece {
    /// Copies blocks without the first `sent` bytes.
    fn new(blocks: &Batch<'_>, sent: usize) -> Piece {
        let bytes = Vec::with_capacity(blocks.byte_len() - sent);
        let mut piece = Piece { bytes, sent: 0, blocks: Vec::new(), sent_blocks: 0 };
        let mut skip = sent;
        for block in blocks.iter() {
            let before = piece.bytes.len();
            for bytes in block {
                let skipped = skip.min(bytes.len());
                piece.bytes.extend_from_slice(&bytes[skipped..]);
                skip -= skipped;
            }
            if piece.bytes.len() > before {
                piece.blocks.push((piece.bytes.len(), events(block[0])));
            }
        }
        piece.blocks.shrink_to_fit();
        piece
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Returns the blocks that were not sent in full: the end of each, and its number of events.
    fn unsent(&self) -> &[(usize, u32)] {
        &self.blocks[self.sent_blocks..]
    }

    /// Moves on by some bytes. Returns the number of blocks that are sent in full now.
    fn advance(&mut self, bytes: usize) -> usize {
        self.sent += bytes;
        let done = self.unsent().iter().take_while(|(end, _)| *end <= self.sent).count();
        self.sent_blocks += done;
        done
    }

    /// Returns the number of events in blocks that were not sent in full.
    fn events(&self) -> u64 {
        self.unsent().iter().map(|(_, events)| u64::from(*events)).sum()
    }
}

/// Returns the number of events in a block that count as written. Those of labels do not.
fn events(header: &[u8]) -> u32 {
    let Ok(header) = Header::decode(header, crc32c::crc32c) else { return 0 };
    let is_label = header.registry == own::registry().def().fingerprint && header.kind == own::LABEL_KIND;
    if header.block_type == BlockType::Events && !is_label { header.events } else { 0 }
}

impl<W: Write> Backlog<W> {
    pub(super) fn new(out: Option<W>, most: usize) -> Self {
        Backlog {
            out,
            pieces: VecDeque::new(),
            waiting: 0,
            unsent: 0,
            forgotten: 0,
            most,
            is_patient: true,
            progress: Instant::now(),
            stalled: false,
        }
    }

    /// Makes this never wait for the reader from now on.
    #[cfg(all(unix, not(miri)))]
    pub(super) fn never_wait(&mut self) {
        self.is_patient = false;
    }

    /// Sets another limit.
    pub(super) fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// Sends blocks, or keeps what cannot be sent yet.
    ///
    /// # Errors
    /// Returns `WouldBlock` if too much waits already, and `NotConnected` if that is so without a
    /// reader. After any other error the reader is gone, and nothing of the blocks was sent.
    pub(super) fn send(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        self.go_on(Timeout::of_write(self.is_patient))?;
        let mut sent = 0;
        if self.waiting == 0 {
            self.progress = Instant::now();
            if self.out.is_some() {
                sent = self.push(&mut blocks.slices(), Timeout::of_write(self.is_patient))?;
            }
        } else if self.waiting + blocks.byte_len() > self.most {
            return Err(self.full());
        }
        if sent < blocks.byte_len() {
            let piece = Piece::new(blocks, sent);
            self.waiting += piece.bytes.len();
            self.unsent += piece.blocks.len();
            self.pieces.push_back(piece);
        }
        Ok(())
    }

    /// Sends the waiting bytes, as far as that can be done soon.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.go_on(Timeout::of_write(self.is_patient))?;
        if self.waiting == 0 { Ok(()) } else { Err(self.full()) }
    }

    /// Sends the waiting bytes for the last time. Returns the number of events that were not sent.
    pub(super) fn finish(&mut self) -> u64 {
        self.stalled = false;
        self.progress = Instant::now();
        let [idle, all] = [END_TIMEOUT.idle, END_TIMEOUT.all].map(rest_of_end);
        // A reader that is gone gets nothing more.
        let _ = self.go_on(Timeout { idle, all });
        self.clear()
    }

    /// Forgets the waiting bytes. Returns the number of their events.
    pub(super) fn clear(&mut self) -> u64 {
        self.waiting = 0;
        self.forgotten += std::mem::take(&mut self.unsent);
        (self.stalled, self.progress) = (false, Instant::now());
        std::mem::take(&mut self.pieces).iter().map(Piece::events).sum()
    }

    /// Returns the number of blocks that wait, including one that is half-sent.
    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    /// Returns the number of blocks that were forgotten since the last call.
    pub(super) fn forgotten(&mut self) -> usize {
        std::mem::take(&mut self.forgotten)
    }

    /// Returns true if bytes wait.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Returns true if bytes wait for a reader that has taken something lately.
    pub(super) fn is_behind(&self) -> bool {
        self.waiting > 0 && self.out.is_some() && !self.stalled
    }

    fn full(&self) -> io::Error {
        let [waiting, most] = [self.waiting, self.most].map(|bytes| Grouped::from(bytes as u64));
        match self.out {
            Some(_) => {
                let text = format!("the reader is too slow: {waiting} bytes wait, at most {most}");
                io::Error::new(ErrorKind::WouldBlock, text)
            }
            None => {
                let text = format!("{waiting} bytes wait for a reader, at most {most}");
                io::Error::new(ErrorKind::NotConnected, text)
            }
        }
    }

    fn go_on(&mut self, timeout: Timeout) -> io::Result<()> {
        while self.waiting > 0 && self.out.is_some() {
            let pieces = std::mem::take(&mut self.pieces);
            let mut slices: Vec<_> =
                pieces.iter().take(MAX_SLICES).map(|piece| IoSlice::new(piece.rest())).collect();
            let offered: usize = slices.iter().map(|slice| slice.len()).sum();
            let result = self.push(&mut slices, timeout);
            drop(slices);
            self.pieces = pieces;
            let sent = result?;
            self.take(sent);
            if sent < offered {
                break;
            }
        }
        Ok(())
    }

    /// Removes the bytes that were sent.
    fn take(&mut self, mut sent: usize) {
        self.waiting -= sent;
        while sent > 0
            && let Some(first) = self.pieces.front_mut()
        {
            let taken = sent.min(first.rest().len());
            self.unsent -= first.advance(taken);
            sent -= taken;
            if first.rest().is_empty() {
                self.pieces.pop_front();
            }
        }
    }

    /// Writes until all is written or the reader takes no more. Returns the number of bytes that it
    /// took. An error after some bytes is left to the next call: what was sent counts as sent.
    fn push(&mut self, mut rest: &mut [IoSlice<'_>], timeout: Timeout) -> io::Result<usize> {
        IoSlice::advance_slices(&mut rest, 0);
        let begin = Instant::now();
        let mut sent = 0;
        let Some(out) = &mut self.out else { return Ok(0) };
        sys::without_sigpipe(|| {
            while !rest.is_empty() {
                match out.write_vectored(rest) {
                    Ok(0) if sent == 0 => return Err(ErrorKind::WriteZero.into()),
                    Ok(0) => break,
                    Ok(n) => {
                        IoSlice::advance_slices(&mut rest, n);
                        sent += n;
                        (self.stalled, self.progress) = (false, Instant::now());
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        self.stalled |= self.progress.elapsed() >= timeout.idle;
                        if self.stalled || begin.elapsed() >= timeout.all {
                            break;
                        }
                        std::thread::sleep(Duration::from_micros(500));
                    }
                    Err(error) if sent == 0 => return Err(error),
                    Err(_) => break,
                }
            }
            Ok(())
        })?;
        Ok(sent)
    }
}
