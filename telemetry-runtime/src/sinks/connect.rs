//! Makes connections while the sinks' other work continues.

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::backlog::rest_of_end;
use super::patience::may_wait;
use crate::sys;

/// How long a sink that keeps nothing waits for the first attempt, and any sink for the last one. A
/// short program does not make a second attempt.
const WAIT: Duration = Duration::from_secs(1);
/// How long a sink waits for any other attempt, which then continues on its thread.
const SHORT_WAIT: Duration = Duration::from_millis(5);
/// The time between two attempts, at first and at most.
const MIN_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(10);
/// A connection that lasts this long resets the delay.
const GOOD: Duration = Duration::from_secs(5);
/// How long a connection attempt may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// Makes connections on its own thread, since name lookup and connecting may take seconds.
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

    /// Returns the connection, if there is one soon. Waits for the first attempt if no other sink
    /// would wait with it.
    ///
    /// # Errors
    /// Returns the error of the attempt, or `WouldBlock` if it is in progress or not due yet.
    pub(super) fn wait(&mut self, attempt: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let is_first = self.since.is_none() && may_wait();
        self.attempt_for(if is_first { WAIT } else { SHORT_WAIT }, attempt)
    }

    /// Does the same as [`Connect::wait`], without waiting for the first attempt.
    pub(super) fn poll(&mut self, attempt: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
        self.attempt_for(SHORT_WAIT, attempt)
    }

    /// Makes a last attempt, or waits for the one in progress.
    pub(super) fn last(&mut self, attempt: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let wait = rest_of_end(WAIT);
        if let Some(under_way) = self.attempt.take() {
            return under_way.recv_timeout(wait).unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()));
        }
        self.delay = Duration::ZERO;
        self.attempt_for(wait, attempt)
    }

    fn attempt_for(
        &mut self,
        wait: Duration,
        attempt: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let made = match &self.attempt {
            Some(under_way) => match under_way.try_recv() {
                Ok(made) => made,
                Err(TryRecvError::Empty) => return Err(waiting("still connecting")),
                Err(TryRecvError::Disconnected) => Err(ErrorKind::ConnectionAborted.into()),
            },
            None => self.begin(wait, attempt)?,
        };
        self.attempt = None;
        self.since = Some(Instant::now());
        made
    }

    /// Records that a connection was lost.
    pub(super) fn lost(&mut self) {
        if self.since.is_some_and(|since| since.elapsed() > GOOD) {
            self.delay = Duration::ZERO;
        }
    }

    fn begin(
        &mut self,
        wait: Duration,
        attempt: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<io::Result<T>> {
        if self.since.is_some_and(|since| since.elapsed() < self.delay) {
            return Err(waiting("not connected, another attempt follows"));
        }
        self.since = Some(Instant::now());
        self.delay = (self.delay * 2).clamp(MIN_DELAY, MAX_DELAY);
        let (send, made) = sync_channel(1);
        let thread = std::thread::Builder::new().name("telemetry".into());
        sys::without_signals(|| thread.spawn(move || send.send(attempt())))?;
        match made.recv_timeout(wait) {
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
