//! A connection to a listener.

use std::io::{self, IoSlice, Write};
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(unix)]
use std::path::PathBuf;

use super::backlog::{Backlog, DEFAULT_MOST};
use super::connect::{Connect, TIMEOUT};
#[cfg(unix)]
use super::peer::{self, Connection};
use telemetry_format::Notice;

use crate::sinks::sink::{Batch, Sink, Start};
use crate::sys;

/// Writes to a TCP or Unix connection, whose peer listens, for example `telemetry listen`.
///
/// Up to 4 MiB are kept for a peer that is slow or not there yet, and are sent later. What is more
/// is refused, and counted. Without a connection, the sink tries again with growing delays of up to
/// 10 s. A write waits for a slow peer for 0.1 s at most. It does not wait if the peer took nothing
/// the last time, or if there are other sinks.
///
/// If a connection breaks, what waits is lost, including a half-sent block, and counted. What the
/// system had taken counts as written, whether the peer has read it or not. The next connection
/// starts over, with all that its reader needs, and states the losses. The end of the process waits
/// for a last attempt to connect, for 1 s at most. It waits for a peer that continues to read, for
/// 2 s at most.
///
/// With [`Config::back_channel`](crate::Config::back_channel), the peer of a Unix socket may ask
/// and switch this process. Such a sink connects at the start, before there is an event.
#[derive(Debug)]
pub struct Socket {
    peer: Peer,
    backlog: Backlog<Stream>,
    connect: Connect<Stream>,
    /// True if nothing was taken for this connection yet.
    is_new: bool,
    /// Why there is no connection.
    failure: Option<io::Error>,
}

/// Maximum number of bytes that wait for a client that follows the process, plus one write.
#[cfg(all(unix, not(miri)))]
const CLIENT_MOST: usize = 1 << 20;

#[derive(Debug)]
enum Peer {
    Tcp(String),
    #[cfg(unix)]
    Unix(PathBuf),
    /// The connection was given to the sink, which cannot make a second one.
    #[cfg(unix)]
    Given,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(Connection),
}

impl Socket {
    /// Creates a sink for a TCP connection to `HOST:PORT`.
    pub fn tcp(address: impl Into<String>) -> Self {
        Socket::new(Peer::Tcp(address.into()))
    }

    /// Creates a sink for a connection to a Unix socket.
    #[cfg(unix)]
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Socket::new(Peer::Unix(path.into()))
    }

    /// Creates a sink for an existing connection. The sink is gone once it breaks or the peer
    /// closes its end.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be used.
    #[cfg(unix)]
    pub fn from_unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let mut socket = Socket::new(Peer::Given);
        socket.backlog.out = Some(Stream::Unix(Connection::new(stream)));
        Ok(socket)
    }

    /// Creates a sink for a client's connection. Nothing ever waits for it, and less is kept for
    /// it.
    #[cfg(all(unix, not(miri)))]
    pub(crate) fn of_client(stream: UnixStream) -> io::Result<Self> {
        let mut socket = Socket::from_unix(stream)?.backlog(CLIENT_MOST);
        socket.backlog.never_wait();
        Ok(socket)
    }

    /// Sets how many bytes may wait for a slow or absent peer, plus one write of about a megabyte.
    pub fn backlog(mut self, bytes: usize) -> Self {
        self.backlog.limit(bytes);
        self
    }

    fn new(peer: Peer) -> Self {
        let backlog = Backlog::new(None, DEFAULT_MOST);
        Socket { peer, backlog, connect: Connect::new(), is_new: true, failure: None }
    }

    /// Returns true if the connection was given to the sink. Its other end then reports errors.
    fn is_given(&self) -> bool {
        #[cfg(unix)]
        return matches!(self.peer, Peer::Given);
        #[cfg(not(unix))]
        false
    }

    /// Connects if there is no connection. The next write or flush sends what waits.
    fn connect(&mut self, is_last: bool) -> io::Result<()> {
        if self.backlog.out.is_some() {
            return Ok(());
        }
        let connect = &mut self.connect;
        let made = match &self.peer {
            Peer::Tcp(address) => {
                let address = address.clone();
                let attempt = move || connect_tcp(&address);
                if is_last { connect.last(attempt) } else { connect.poll(attempt) }
            }
            #[cfg(unix)]
            Peer::Unix(path) => {
                let path = path.clone();
                let attempt = move || {
                    let stream = UnixStream::connect(path)?;
                    stream.set_nonblocking(true)?;
                    Ok(Stream::Unix(Connection::new(stream)))
                };
                if is_last { connect.last(attempt) } else { connect.poll(attempt) }
            }
            #[cfg(unix)]
            Peer::Given => return Err(io::ErrorKind::NotConnected.into()),
        };
        match made {
            Ok(stream) => {
                #[cfg(unix)]
                if let Stream::Unix(connection) = &stream {
                    connection.serve();
                }
                self.backlog.out = Some(stream);
                self.failure = None;
            }
            // In progress, or not due yet.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => self.failure = Some(error),
        }
        Ok(())
    }

    /// Closes the connection after an error, unless the peer is only slow.
    fn closed_if_broken(&mut self, result: io::Result<()>) -> io::Result<()> {
        let Err(error) = result else { return Ok(()) };
        if self.backlog.out.is_none() {
            let (tag, text) = match &self.failure {
                Some(failure) => (sys::tag_of(failure), format!("{failure}; {error}")),
                None => (Notice::SinkFailed.into(), format!("not connected yet; {error}")),
            };
            return Err(sys::tagged(io::ErrorKind::NotConnected, tag, text));
        }
        if error.kind() != io::ErrorKind::WouldBlock {
            self.start_over();
        }
        Err(error)
    }

    /// Closes a connection whose peer has closed its end, as far as that is known. A peer that may
    /// ask is there even if there is nothing to write.
    fn leave_ended(&mut self) {
        #[cfg(unix)]
        if let Some(Stream::Unix(connection)) = &self.backlog.out
            && connection.has_ended()
        {
            self.start_over();
        }
    }

    /// Closes the connection. The next one starts over.
    fn start_over(&mut self) {
        self.backlog.out = None;
        self.backlog.clear();
        self.is_new = true;
        self.connect.lost();
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.backlog.is_waiting() {
            let _ = self.connect(true);
            let unsent = self.backlog.finish();
            if unsent > 0 && !self.is_given() {
                let text = format_args!("{unsent} events that waited for {} were not sent", self.name());
                sys::report(Notice::EventsUnsent, text);
            }
        }
    }
}

fn connect_tcp(address: &str) -> io::Result<Stream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                stream.set_nonblocking(true)?;
                // The runtime gathers blocks already.
                stream.set_nodelay(true)?;
                return Ok(Stream::Tcp(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Sink for Socket {
    fn begin(&mut self, _bytes: usize) -> io::Result<Start> {
        self.leave_ended();
        self.connect(false)?;
        Ok(Start::new_if(self.is_new))
    }

    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        self.connect(false)?;
        let result = self.backlog.send(blocks);
        if result.is_ok() {
            self.is_new = false;
        }
        self.closed_if_broken(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.leave_ended();
        if !self.backlog.is_waiting() {
            return Ok(());
        }
        self.connect(false)?;
        let result = self.backlog.flush();
        self.closed_if_broken(result)
    }

    fn is_behind(&self) -> bool {
        self.backlog.is_behind()
    }

    fn unsent(&self) -> usize {
        self.backlog.unsent()
    }

    fn forgotten(&mut self) -> usize {
        self.backlog.forgotten()
    }

    #[cfg(unix)]
    fn wants_facts(&self) -> bool {
        matches!(self.peer, Peer::Unix(_)) && self.is_new && peer::is_served()
    }

    #[cfg(unix)]
    fn is_closed(&self) -> bool {
        let Peer::Given = self.peer else { return false };
        match &self.backlog.out {
            Some(Stream::Unix(connection)) => is_closed(connection.stream()),
            _ => true,
        }
    }

    fn leaves_host(&self) -> bool {
        matches!(self.peer, Peer::Tcp(_))
    }

    fn after_fork(&mut self) -> bool {
        // What is forgotten is the parent's.
        self.backlog.clear();
        self.backlog.forgotten();
        match self.backlog.out.take() {
            #[cfg(unix)]
            Some(Stream::Unix(connection)) => connection.close_in_child(),
            other => drop(other),
        }
        (self.is_new, self.failure) = (true, None);
        self.connect = Connect::new();
        true
    }

    fn name(&self) -> String {
        match &self.peer {
            Peer::Tcp(address) => format!("`tcp:{address}`"),
            #[cfg(unix)]
            Peer::Unix(path) => format!("`unix:{}`", path.display()),
            #[cfg(unix)]
            Peer::Given => "a connection".into(),
        }
    }
}

/// Returns true if the peer has closed its end. Ignores what it may have sent.
#[cfg(unix)]
fn is_closed(mut stream: &UnixStream) -> bool {
    match io::Read::read(&mut stream, &mut [0; 256]) {
        Ok(read) => read == 0,
        Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write_vectored(slices),
            #[cfg(unix)]
            Stream::Unix(connection) => connection.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
