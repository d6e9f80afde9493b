//! A pipe that is followed.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// The interval between checks for a stop.
const TICK: Duration = Duration::from_millis(100);
/// The size of a piece.
const PIECE: usize = 64 << 10;
const PIECES: usize = 4;

/// A pipe that a thread reads, so that waiting for bytes can be stopped.
pub(crate) struct Pipe {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// The rest of the last piece.
    rest: io::Cursor<Vec<u8>>,
    stopped: Arc<AtomicBool>,
}

impl Pipe {
    /// Begins to read.
    pub(crate) fn of(input: impl Read + Send + 'static) -> io::Result<Pipe> {
        let (sender, pieces) = sync_channel(PIECES);
        std::thread::Builder::new().name("pipe".to_string()).spawn(move || pump(input, &sender))?;
        Ok(Pipe { pieces, rest: io::Cursor::default(), stopped: Arc::default() })
    }

    /// Returns a function that stops it: the next read finds the end.
    pub(crate) fn stopper(&self) -> impl FnOnce() + Send + 'static {
        let stopped = self.stopped.clone();
        move || stopped.store(true, Ordering::Relaxed)
    }
}

/// Sends the pieces that it reads, until the input or the receiver ends.
fn pump(mut input: impl Read, to: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let piece = match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(len) => Ok(buffer[..len].to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if to.send(piece).is_err() || is_last {
            return;
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.rest.read(buffer)?;
            if len > 0 || buffer.is_empty() {
                return Ok(len);
            }
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.pieces.recv_timeout(TICK) {
                Ok(piece) => self.rest = io::Cursor::new(piece?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
