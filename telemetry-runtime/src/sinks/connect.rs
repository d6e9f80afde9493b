//! Connections that are made while others go on.

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use crate::sys;

/// How long the first attempt is waited for: a short program has no second one.
const FIRST: Duration = Duration::from_secs(1);
/// How long any other is; it then goes on beside us.
const OTHERS: Duration = Duration::from_millis(5);
/// Time between two attempts, at first and at most.
const LEAST_DELAY: Duration = Duration::from_millis(100);
const MOST_DELAY: Duration = Duration::from_secs(10);
/// A connection that lasts so long was a good one.
const GOOD: Duration = Duration::from_secs(5);
/// How long a connection may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// Makes connections on a thread of its own, since to look up a name or to connect may take seconds.
#[derive(Debug)]
pub(super) struct Connect<T> {
    attempt: Option<Receiver<io::Result<T>>>,
    /// When the last attempt began or the last connection was made.
    since: Option<Instant>,
    delay: Duration,
}

impl<T: Send + 'static> Connect<T> {
    pub(super) fn new() -> Self {
        Connect { attempt: None, since: None, delay: Duration::ZERO }
    }

    /// The connection, if there is one soon.
    ///
    /// # Errors
    /// Those of the attempt. `WouldBlock` if it is under way still, or its time has not come.
    pub(super) fn poll(&mut self, attempt: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let made = match &self.attempt {
            Some(under_way) => match under_way.try_recv() {
                Ok(made) => made,
                Err(TryRecvError::Empty) => return Err(waiting("still connecting")),
                Err(TryRecvError::Disconnected) => Err(ErrorKind::ConnectionAborted.into()),
            },
            None => self.begin(attempt)?,
        };
        self.attempt = None;
        self.since = Some(Instant::now());
        made
    }

    /// To be called when a connection that was made is lost.
    pub(super) fn lost(&mut self) {
        if self.since.is_some_and(|since| since.elapsed() > GOOD) {
            self.delay = Duration::ZERO;
        }
    }

    fn begin(
        &mut self,
        attempt: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<io::Result<T>> {
        if self.since.is_some_and(|since| since.elapsed() < self.delay) {
            return Err(waiting("not connected, another attempt follows"));
        }
        let patience = if self.since.is_none() { FIRST } else { OTHERS };
        self.since = Some(Instant::now());
        self.delay = (self.delay * 2).clamp(LEAST_DELAY, MOST_DELAY);
        let (send, made) = sync_channel(1);
        let thread = std::thread::Builder::new().name("telemetry".into());
        sys::without_signals(|| thread.spawn(move || send.send(attempt())))?;
        match made.recv_timeout(patience) {
            Ok(made) => Ok(made),
            Err(RecvTimeoutError::Disconnected) => Ok(Err(ErrorKind::ConnectionAborted.into())),
            Err(RecvTimeoutError::Timeout) => {
                self.attempt = Some(made);
                Err(waiting("still connecting"))
            }
        }
    }
}

fn waiting(text: &str) -> io::Error {
    io::Error::new(ErrorKind::WouldBlock, text)
}
