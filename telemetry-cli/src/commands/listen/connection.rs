//! One sender: what it sends is read no faster, no longer and no further than the limits allow.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use telemetry_decode::{Blocks, Cause, Piece};
use telemetry_format::MAX_PAYLOAD;

use super::limits::Bucket;
use super::receiver::Receiver;

/// How long one read waits, so that it is seen in time when to stop.
pub(super) const READ_TIMEOUT: Duration = Duration::from_millis(100);
/// Bytes in which a block must begin, beside the longest block itself. A block that is longer than the limit
/// is passed over, so that the next one is found.
const MOST_GARBAGE: u64 = MAX_PAYLOAD as u64 + (1 << 20);

/// Reads blocks to the end of the connection and has them stored.
pub(super) fn receive(receiver: &Receiver, connection: impl Read, peer: &str) {
    let progress = Progress::new();
    let bucket = Bucket::new(receiver.limits.max_rate);
    let metered = Metered { receiver, connection, progress: &progress, bucket };
    let mut blocks = Blocks::new(metered).max_block(receiver.limits.max_block);
    loop {
        match blocks.next() {
            Ok(Some(Piece::Block(block))) => {
                progress.has_block.set(true);
                progress.since.set(Instant::now());
                progress.consumed.set(block.at + block.bytes.len() as u64);
                receiver.put(&block, peer);
            }
            Ok(Some(Piece::Damage(damage, _))) => {
                progress.consumed.set(damage.range.end);
                // What was on its way when we stopped is nobody's fault.
                if !(receiver.is_stopping() && matches!(damage.cause, Cause::Cut { .. } | Cause::Header(_))) {
                    receiver.refuse_damage(&damage, peer);
                }
            }
            Ok(None) => return,
            Err(error) => return receiver.refuse_rest(progress.waiting(), &error, peer),
        }
    }
}

/// How far a connection was read, and its blocks taken.
struct Progress {
    read: Cell<u64>,
    consumed: Cell<u64>,
    has_block: Cell<bool>,
    /// Since when there should be another block.
    since: Cell<Instant>,
}

impl Progress {
    fn new() -> Self {
        let (read, consumed) = (Cell::new(0), Cell::new(0));
        Progress { read, consumed, has_block: Cell::new(false), since: Cell::new(Instant::now()) }
    }

    /// Bytes that are no whole block yet.
    fn waiting(&self) -> u64 {
        self.read.get() - self.consumed.get()
    }

    /// Between two blocks a sender may take its time.
    fn is_idle(&self) -> bool {
        self.has_block.get() && self.waiting() == 0
    }
}

/// A connection that is read within the limits.
struct Metered<'r, C> {
    receiver: &'r Receiver,
    connection: C,
    progress: &'r Progress,
    bucket: Bucket,
}

impl<C> Metered<'_, C> {
    fn check(&self) -> io::Result<()> {
        let progress = self.progress;
        if !progress.is_idle() && progress.since.get().elapsed() > self.receiver.limits.timeout {
            return Err(io::Error::new(ErrorKind::TimedOut, "no whole block came in time"));
        }
        let waiting = progress.waiting();
        if waiting > self.receiver.limits.max_block + MOST_GARBAGE {
            let text = format!("{waiting} bytes in which no block begins");
            return Err(io::Error::new(ErrorKind::InvalidData, text));
        }
        Ok(())
    }

    /// Waits until more may be read. False if it is time to stop.
    fn wait(&mut self) -> bool {
        loop {
            let wait = self.bucket.take(0).min(READ_TIMEOUT);
            if wait.is_zero() {
                return true;
            }
            if self.receiver.is_stopping() {
                return false;
            }
            std::thread::sleep(wait);
            // It is we who wait, not the sender.
            self.progress.since.set(self.progress.since.get() + wait);
        }
    }
}

impl<C: Read> Read for Metered<'_, C> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            self.check()?;
            if !self.wait() {
                return Ok(0);
            }
            match self.connection.read(to) {
                Ok(read) => {
                    self.bucket.take(read);
                    if self.progress.is_idle() {
                        self.progress.since.set(Instant::now());
                    }
                    self.progress.read.set(self.progress.read.get() + read as u64);
                    return Ok(read);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.receiver.is_stopping() {
                        return Ok(0);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
