//! The readers of a long life: one at a Unix socket, and one at a TCP port. Both read slowly and
//! break their connections, and the second one also stalls for seconds. In the end, each event that
//! its sink has sent is there, or the reader knows that it is missing.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use telemetry::sinks::{self, Socket};
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::{Order, Reader};

use super::Random;
use crate::support::process::Outcome;

/// The file by which the process tells its readers that no more faults are wanted.
const OVER: &str = "over";
/// The bytes that may wait for the TCP reader. They are few, so that not all fit while it stalls,
/// and so that the memory of the process stays the same.
const BACKLOG: usize = 256 << 10;

/// A reader. It has the directory of the process, and files there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    Unix,
    Tcp,
}

/// What a reader has of a process.
pub(super) struct Received {
    pub(super) found: u64,
    pub(super) missing: u64,
}

impl Peer {
    /// In the order of the process's sinks.
    pub(super) const ALL: [Peer; 2] = [Peer::Unix, Peer::Tcp];

    /// Starts the reader, before the process. It reads until the process has ended.
    pub(super) fn start<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        dir: &Path,
        ended: &'scope AtomicBool,
    ) {
        let listener = match self {
            Peer::Unix => {
                Listener::Unix(UnixListener::bind(dir.join(self.file("socket"))).expect("a socket"))
            }
            Peer::Tcp => {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                let address = listener.local_addr().expect("an address").to_string();
                std::fs::write(dir.join(self.file("address")), address).expect("a file");
                Listener::Tcp(listener)
            }
        };
        listener.set_nonblocking().expect("a socket");
        let dir = dir.to_owned();
        scope.spawn(move || self.receive(&listener, &dir, ended));
    }

    /// Adds the sink that sends to the reader.
    pub(super) fn add_sink(self) {
        let socket = match self {
            Peer::Unix => Socket::unix(self.file("socket")),
            Peer::Tcp => {
                let address = std::fs::read_to_string(self.file("address")).expect("an address");
                Socket::tcp(address).backlog(BACKLOG)
            }
        };
        sinks::add(socket).expect("a sink");
    }

    /// Tells the readers that no more faults are wanted.
    pub(super) fn end_faults() {
        std::fs::write(OVER, "").expect("a file");
    }

    /// Returns true if the reader has a connection of this process that it will not break.
    pub(super) fn is_settled(self) -> bool {
        let session = File::open(sinks::output()).ok().and_then(session_of);
        let settled: Option<u64> =
            std::fs::read_to_string(self.file("settled")).ok().and_then(|text| text.parse().ok());
        session.is_some() && session == settled
    }

    /// The name of the number of events that the process has written to the reader.
    pub(super) fn written(self) -> &'static str {
        match self {
            Peer::Unix => "written_to_unix",
            Peer::Tcp => "written_to_tcp",
        }
    }

    /// Checks what the reader has of a process.
    pub(super) fn check(self, run: &Outcome) -> Received {
        let session = File::open(run.path()).ok().and_then(session_of).expect("a session");
        let path = run.dir().join(self.received());
        let mut events =
            Reader::open(path).expect("a stream").order(Order::Stream).events().expect("a stream");
        let mut found = 0;
        // Children that were forked have sessions of their own.
        while let Some(event) = events.next().expect("a readable stream") {
            found += u64::from(event.session().id == session);
        }
        let completeness = events.completeness();
        let of_lanes = completeness.lanes.iter().filter(|lane| lane.session == session);
        let of_no_lane = completeness.unaccounted.iter().filter(|(id, _)| *id == session);
        let missing = of_lanes.map(|lane| lane.missing).chain(of_no_lane.map(|(_, events)| *events));
        let missing: u64 = missing.sum();
        assert_eq!(
            found + missing,
            run.number(self.written()),
            "{self:?}: {missing} missing, {completeness}"
        );
        if self == Peer::Unix {
            // It reads what was sent before it breaks a connection.
            assert_eq!(completeness.missing(), 0, "{completeness}");
        }
        Received { found, missing }
    }

    /// A file of the reader in the directory of the process.
    fn file(self, what: &str) -> String {
        match self {
            Peer::Unix => format!("unix.{what}"),
            Peer::Tcp => format!("tcp.{what}"),
        }
    }

    /// The file with the whole blocks of all connections.
    fn received(self) -> &'static str {
        // Streams of children have two dots in their names.
        match self {
            Peer::Unix => "received-by-unix.tel",
            Peer::Tcp => "received-by-tcp.tel",
        }
    }

    fn receive(self, listener: &Listener, dir: &Path, ended: &AtomicBool) {
        let mut random = Random(3 + self as u64);
        let mut file = BufWriter::new(File::create(dir.join(self.received())).expect("a file"));
        // The first connection breaks soon, so that there are several in a short run, too.
        let mut most = 100 << 10;
        loop {
            // Read first: a connection of the process may still wait to be accepted.
            let is_last = ended.load(Ordering::Acquire);
            let Ok(stream) = listener.accept() else {
                if is_last {
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            let bytes = self.read(stream, most, dir, &mut random);
            let mut whole = Blocks::new(&bytes[..]);
            while let Some(Piece::Block(block)) = whole.next().expect("a stream") {
                file.write_all(block.bytes).expect("a file");
            }
            most = (100 << 10) + random.below(8 << 20) as usize;
        }
        file.flush().expect("a file");
    }

    /// Reads a connection until the process ends it, or breaks it after more than `most` bytes.
    fn read(self, mut stream: Stream, most: usize, dir: &Path, random: &mut Random) -> Vec<u8> {
        let is_over = || dir.join(OVER).exists();
        let mut stalls_at = (self == Peer::Tcp && random.below(3) == 0).then_some(most / 2);
        let (mut bytes, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
        let mut is_settled = false;
        loop {
            // Asked before it reads: from here on it does not break the connection.
            let stays = is_over();
            let Ok(read @ 1..) = stream.read(&mut chunk) else { break };
            bytes.extend_from_slice(&chunk[..read]);
            if stays {
                is_settled = is_settled || self.settle(&bytes, dir);
                continue;
            }
            if bytes.len() > most {
                stream.break_off(&mut bytes);
                break;
            }
            if stalls_at.is_some_and(|at| bytes.len() > at) {
                stalls_at = None;
                let until = Instant::now() + Duration::from_millis(random.below(10_000));
                while Instant::now() < until && !is_over() {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            if random.below(100) == 0 {
                std::thread::sleep(Duration::from_millis(random.below(500)));
            }
        }
        bytes
    }

    /// Tells the process that these bytes are of a connection that stays. Returns false if they are
    /// too few to say whose it is.
    fn settle(self, bytes: &[u8], dir: &Path) -> bool {
        let session = session_of(bytes);
        if let Some(session) = session {
            std::fs::write(dir.join(self.file("settled")), session.to_string()).expect("a file");
        }
        session.is_some()
    }
}

/// Returns the session of a stream's first block.
fn session_of(stream: impl Read + Send) -> Option<u64> {
    let mut blocks = Blocks::new(stream);
    let first = blocks.next();
    match first {
        Ok(Some(Piece::Block(block))) => Some(block.header.session),
        _ => None,
    }
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Listener::Unix(listener) => listener.set_nonblocking(true),
            Listener::Tcp(listener) => listener.set_nonblocking(true),
        }
    }

    /// Returns the next connection, if there is one. Its reader waits.
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Ok(Stream::Unix(stream))
            }
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl Stream {
    /// Breaks the connection. It may still give some bytes.
    fn break_off(self, bytes: &mut Vec<u8>) {
        match self {
            Stream::Unix(mut stream) => {
                // What was sent can still be read, and the sender knows the rest.
                _ = stream.shutdown(Shutdown::Read);
                _ = stream.read_to_end(bytes);
            }
            // What was sent and not read is gone, and the sender does not know how much that is.
            Stream::Tcp(stream) => drop(stream),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(bytes),
            Stream::Tcp(stream) => stream.read(bytes),
        }
    }
}
