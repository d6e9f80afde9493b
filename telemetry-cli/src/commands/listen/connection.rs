//! One sender, which is read within the limits of rate, time and length.

use std::io::{self, ErrorKind, Read};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::completeness::Cause;
use telemetry_format::MAX_PAYLOAD;

use super::limits::{Bucket, READ_TIMEOUT};
use super::places::Place;
use super::receiver::Receiver;

/// A block must begin within this number of bytes. It has space for the longest block, because a
/// block above the limit is skipped to find the next one.
const MAX_GARBAGE: u64 = MAX_PAYLOAD as u64 + (1 << 20);

/// A program that sends.
pub(super) struct Program<C> {
    pub(super) connection: C,
    /// The connection once more, if the program may be asked.
    #[cfg(unix)]
    pub(super) control: Option<UnixStream>,
}

impl<C> Program<C> {
    pub(super) fn of(connection: C) -> Program<C> {
        Program {
            connection,
            #[cfg(unix)]
            control: None,
        }
    }
}

/// Reads blocks to the end of the connection, and stores them.
pub(super) fn receive(receiver: &Receiver, place: &Place, program: Program<impl Read + Send>, peer: &str) {
    #[cfg(unix)]
    let (mut control, is_controlled) = (program.control, receiver.has_control);
    #[cfg(unix)]
    let mut _socket = None;
    let connection = program.connection;
    let progress = Progress::new();
    let bucket = Bucket::new(receiver.limits.max_rate);
    let metered = Metered { receiver, place, connection, progress: &progress, bucket };
    let mut blocks = Blocks::new(metered).max_block(receiver.limits.max_block);
    loop {
        match blocks.next() {
            Ok(Some(Piece::Block(block))) => {
                progress.took(block.at + block.bytes.len() as u64);
                place.has_block();
                receiver.put(&block, peer);
                #[cfg(unix)]
                if let Some(program) = control.take() {
                    _socket = receiver.open_control(&block, program, peer);
                }
            }
            Ok(Some(Piece::Damage(damage, _))) => {
                progress.get().consumed = damage.range.end;
                // The sender is not at fault for a block that our stop interrupted.
                if !(receiver.is_stopping()
                    && matches!(damage.cause, Cause::Truncated { .. } | Cause::Header(_)))
                {
                    receiver.refuse_damage(&damage, peer);
                }
            }
            Ok(None) => return,
            // It has ended without taking all requests.
            #[cfg(unix)]
            Err(error)
                if is_controlled
                    && error.kind() == ErrorKind::ConnectionReset
                    && progress.get().waiting() == 0 =>
            {
                return;
            }
            Err(error) => {
                return receiver.refuse_rest(progress.get().waiting(), place.is_replaced(), &error, peer);
            }
        }
    }
}

/// The progress of a connection, shared by its reader and the loop that takes its blocks.
struct Progress(Mutex<State>);

struct State {
    read: u64,
    consumed: u64,
    has_block: bool,
    /// The time from which to wait for another block.
    since: Instant,
}

impl Progress {
    fn new() -> Self {
        Progress(Mutex::new(State { read: 0, consumed: 0, has_block: false, since: Instant::now() }))
    }

    fn get(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a block that ends at an offset.
    fn took(&self, end: u64) {
        let mut state = self.get();
        (state.consumed, state.has_block, state.since) = (end, true, Instant::now());
    }
}

impl State {
    /// Returns the number of bytes that are not a whole block yet.
    fn waiting(&self) -> u64 {
        self.read - self.consumed
    }

    /// Returns true between two blocks, where a sender may take its time.
    fn is_idle(&self) -> bool {
        self.has_block && self.waiting() == 0
    }
}

/// A connection that is read within the limits.
struct Metered<'r, C> {
    receiver: &'r Receiver,
    place: &'r Place,
    connection: C,
    progress: &'r Progress,
    bucket: Bucket,
}

impl<C> Metered<'_, C> {
    fn check(&self) -> io::Result<()> {
        let progress = self.progress.get();
        if self.place.is_replaced() {
            return Err(io::Error::new(ErrorKind::TimedOut, "it was idle, and other connections wait"));
        }
        if !progress.is_idle() && progress.since.elapsed() > self.receiver.limits.timeout {
            return Err(io::Error::new(ErrorKind::TimedOut, "no whole block arrived in time"));
        }
        let waiting = progress.waiting();
        if waiting > self.receiver.limits.max_block + MAX_GARBAGE {
            let text = format!("{waiting} bytes without the start of a block");
            return Err(io::Error::new(ErrorKind::InvalidData, text));
        }
        Ok(())
    }

    /// Waits until more may be read. Returns false if it is time to stop.
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
            // In this time our command waits, not the sender.
            self.progress.get().since += wait;
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
                    let mut progress = self.progress.get();
                    if progress.is_idle() {
                        progress.since = Instant::now();
                    }
                    progress.read += read as u64;
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
