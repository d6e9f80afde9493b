//! Streams of programs that are connected.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use telemetry_decode::blocks::{Blocks, Piece};

use crate::daemon::queue::Queue;
use crate::failpoint::failpoint;
use crate::log;
use crate::segment::{Cutter, Segment};

/// How often a thread that waits looks whether to stop.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// How long a program on TCP is read after a stop: it does not notice the stop.
const LAST: Duration = Duration::from_secs(2);

/// How long a session is known after its program has disconnected: it may connect again.
const FORGET: Duration = Duration::from_secs(600);

/// Programs at a time.
pub(crate) const MAX_PROGRAMS: u64 = 256;

/// The open segments of all programs.
pub(crate) struct Live {
    pub(crate) queue: Arc<Queue>,
    cutter: Mutex<Cutter>,
    pub(crate) stop: AtomicBool,
    /// Milliseconds after which a segment is closed.
    max_age: AtomicU64,
}

impl Live {
    pub(crate) fn new(queue: Arc<Queue>, max_len: u64, max_age: Duration) -> Live {
        let cutter = queue.spool.cutter(queue.spool.live_dir(), &queue.host, max_len);
        let live = Live {
            queue,
            cutter: Mutex::new(cutter),
            stop: AtomicBool::new(false),
            max_age: AtomicU64::new(0),
        };
        live.set_age(max_age);
        live
    }

    pub(crate) fn set_age(&self, age: Duration) {
        self.max_age.store(age.as_millis().try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn set_max_len(&self, max_len: u64) {
        self.cutter().set_max_len(max_len);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reads a program on a new thread.
    pub(crate) fn accept(self: &Arc<Self>, connection: impl Connection + 'static, peer: String) {
        let figures = &self.queue.figures;
        let connections = &figures.connections;
        if connections.load(Ordering::Relaxed) >= MAX_PROGRAMS {
            return figures.error(format_args!("{peer}: refused, beyond {MAX_PROGRAMS} programs at a time"));
        }
        connections.fetch_add(1, Ordering::Relaxed);
        let own = self.clone();
        let thread = std::thread::Builder::new().name("program".to_owned());
        let spawned = thread.spawn(move || {
            own.receive(connection, &peer);
            own.queue.figures.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if let Err(error) = spawned {
            connections.fetch_sub(1, Ordering::Relaxed);
            figures.error(format_args!("a program is refused: cannot start a thread: {error}"));
        }
    }

    /// Takes the blocks of a program until it ends or the shipper stops.
    fn receive(&self, connection: impl Connection, peer: &str) {
        let mut blocks = Blocks::new(UntilStop { live: self, connection, stopped: None });
        let mut sessions = BTreeSet::new();
        let ended = loop {
            match blocks.next() {
                Ok(Some(Piece::Block(block))) => {
                    self.queue.figures.lost.note(&block.header);
                    let is_new = sessions.insert(block.header.session);
                    let mut segments = self.cut(|cutter| {
                        let segments = cutter.push(&block)?;
                        if is_new {
                            cutter.join(block.header.session);
                        }
                        Ok(segments)
                    });
                    // What is read outlives this process, if it is killed.
                    self.retry(|| self.cutter().flush(block.header.session));
                    segments.extend(self.cut(|cutter| cutter.cut_beyond(self.queue.most_open())));
                    self.add(&segments);
                    self.queue.figures.received.fetch_add(block.bytes.len() as u64, Ordering::Relaxed);
                    // Nothing more is read while the spool is full of what cannot be shed.
                    while !self.queue.wait_for_space(None, TICK) && !self.is_stopping() {}
                }
                Ok(Some(Piece::Damage(found, _))) => {
                    let bytes = found.range.end - found.range.start;
                    self.queue.figures.damaged.fetch_add(bytes, Ordering::Relaxed);
                    if !self.is_stopping() {
                        log::line(format_args!("warning: {peer}: {bytes} bytes that are not a block"));
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        sessions.into_iter().for_each(|session| self.cutter().leave(session));
        if let Err(error) = ended {
            log::line(format_args!("{peer}: {error}"));
        }
    }

    /// Closes segments that are old enough.
    pub(crate) fn cut_old(&self) {
        let age = Duration::from_millis(self.max_age.load(Ordering::Relaxed));
        let Some(time) = Instant::now().checked_sub(age) else { return };
        self.add(&self.cut(|cutter| cutter.cut_older(time)));
        if let Some(time) = Instant::now().checked_sub(FORGET) {
            self.cutter().forget_older(time);
        }
    }

    /// Closes all segments.
    pub(crate) fn cut_all(&self) {
        self.add(&self.cut(Cutter::cut_all));
    }

    /// Lets the cutter do something. Returns the segments that are whole then.
    fn cut(&self, mut work: impl FnMut(&mut Cutter) -> io::Result<Vec<Segment>>) -> Vec<Segment> {
        let segments = self.retry(|| {
            let mut cutter = self.cutter();
            let segments = work(&mut cutter);
            // Under the lock, so that an older length does not replace a newer one.
            self.queue.set_open(cutter.most_open());
            segments
        });
        segments.unwrap_or_default()
    }

    /// Gives whole segments to the queue, which sheds some if it is full.
    fn add(&self, segments: &[Segment]) {
        for segment in segments {
            failpoint("ship-live-cut");
            self.retry(|| self.queue.add(segment));
        }
        self.queue.leave_space();
    }

    /// Tries until it succeeds: a full disk may have space later, and until then nothing is read.
    /// Returns `None` if the shipper stops. What is in no segment then stays in the directory of
    /// open segments.
    fn retry<T>(&self, mut work: impl FnMut() -> io::Result<T>) -> Option<T> {
        let mut is_told = false;
        loop {
            let error = match work() {
                Ok(done) => return Some(done),
                Err(error) => error,
            };
            if !std::mem::replace(&mut is_told, true) {
                self.queue
                    .figures
                    .error(format_args!("warning: the spool: {error}; nothing is read until it has space"));
            }
            if self.is_stopping() {
                return None;
            }
            std::thread::sleep(TICK);
        }
    }

    fn cutter(&self) -> MutexGuard<'_, Cutter> {
        self.cutter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection of a program.
pub(crate) trait Connection: Read + Send {
    /// How long what has come is read after [`Connection::take_no_more`]; `None` for all of it.
    const LAST: Option<Duration>;

    /// Takes no more. What has come can still be read. The writes of a program on a Unix socket
    /// fail from now on, so it counts what it could not send.
    fn take_no_more(&self);
}

impl Connection for TcpStream {
    const LAST: Option<Duration> = Some(LAST);

    fn take_no_more(&self) {
        // It fails only if the program has gone.
        let _ = self.shutdown(Shutdown::Read);
    }
}

#[cfg(unix)]
impl Connection for UnixStream {
    // The program counts it as sent, and it cannot grow.
    const LAST: Option<Duration> = None;

    fn take_no_more(&self) {
        let _ = self.shutdown(Shutdown::Read);
    }
}

/// A connection that ends when the shipper stops, after what has come.
struct UntilStop<'a, C> {
    live: &'a Live,
    connection: C,
    /// Set when the shipper stops.
    stopped: Option<Instant>,
}

impl<C: Connection> Read for UntilStop<'_, C> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.live.is_stopping() {
                let connection = &self.connection;
                let stopped = self.stopped.get_or_insert_with(|| {
                    connection.take_no_more();
                    Instant::now()
                });
                if C::LAST.is_some_and(|last| stopped.elapsed() >= last) {
                    return Ok(0);
                }
            }
            match self.connection.read(to) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.stopped.is_some() {
                        return Ok(0);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::spool::Spool;

    #[test]
    fn a_program_that_is_refused_counts_as_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::open(dir.path()).unwrap();
        let queue = Queue::new(spool, "h7".parse().unwrap(), u64::MAX, u64::MAX, Arc::default()).unwrap();
        let live = Arc::new(Live::new(Arc::new(queue), u64::MAX, FORGET));
        let figures = &live.queue.figures;
        figures.connections.store(MAX_PROGRAMS, Ordering::Relaxed);
        let (connection, mut program) = UnixStream::pair().unwrap();
        live.accept(connection, "unix:socket".to_owned());
        assert_eq!(figures.errors.load(Ordering::Relaxed), 1);
        assert_eq!(program.read(&mut [0]).unwrap(), 0, "it is still connected");
    }
}
