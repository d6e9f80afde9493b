//! A connection to whoever listens.

use std::io::{self, IoSlice, Write};
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(unix)]
use std::path::PathBuf;

use super::backlog::{Backlog, DEFAULT_MOST};
use super::connect::{Connect, TIMEOUT};
use crate::sink::{Blocks, Sink};

/// A TCP or Unix connection to whoever listens, `telemetry listen` for instance.
///
/// The first connection is waited for, at most 1 s. After that, while there is none, blocks are refused, and
/// it is tried again with growing delays of up to 10 s. A write waits at most 0.1 s for a slow peer, and not
/// for one that took nothing the last time; up to 4 MiB are kept for it, and what is more is refused. When a connection breaks
/// what waits is lost, half a block of it too, and the next connection begins anew, with all that its
/// reader needs. At the end a peer that goes on reading is waited for, at most 2 s.
#[derive(Debug)]
pub struct Socket {
    peer: Peer,
    stream: Option<Backlog<Stream>>,
    connect: Connect<Stream>,
    /// Most bytes that wait.
    backlog: usize,
    /// Nothing has been sent on this connection.
    is_new: bool,
}

#[derive(Debug)]
enum Peer {
    Tcp(String),
    #[cfg(unix)]
    Unix(PathBuf),
    /// Somebody else made the connection. There is no second one.
    #[cfg(unix)]
    Given,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Socket {
    /// A TCP connection to `HOST:PORT`.
    pub fn tcp(address: impl Into<String>) -> Self {
        Socket::new(Peer::Tcp(address.into()))
    }

    /// A connection to a Unix socket.
    #[cfg(unix)]
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Socket::new(Peer::Unix(path.into()))
    }

    /// A connection that somebody else made. The sink is gone once it breaks or the peer closes its end.
    ///
    /// # Errors
    /// If the connection is of no use.
    #[cfg(unix)]
    pub fn from_unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let stream = Backlog::new(Stream::Unix(stream), DEFAULT_MOST);
        Ok(Socket { stream: Some(stream), ..Socket::new(Peer::Given) })
    }

    /// Most bytes that wait for a slow peer, for the next connection; one write more, about a megabyte.
    pub fn backlog(self, bytes: usize) -> Self {
        Socket { backlog: bytes, ..self }
    }

    fn new(peer: Peer) -> Self {
        Socket { peer, stream: None, connect: Connect::new(), backlog: DEFAULT_MOST, is_new: true }
    }

    fn connected(&mut self) -> io::Result<&mut Backlog<Stream>> {
        if self.stream.is_none() {
            let stream = match &self.peer {
                Peer::Tcp(address) => {
                    let address = address.clone();
                    self.connect.poll(move || connect_tcp(&address))
                }
                #[cfg(unix)]
                Peer::Unix(path) => {
                    let path = path.clone();
                    self.connect.poll(move || {
                        let stream = UnixStream::connect(path)?;
                        stream.set_nonblocking(true)?;
                        Ok(Stream::Unix(stream))
                    })
                }
                #[cfg(unix)]
                Peer::Given => Err(io::ErrorKind::NotConnected.into()),
            };
            self.stream = Some(Backlog::new(stream?, self.backlog));
            self.is_new = true;
        }
        self.stream.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// After an error the connection is given up, but for a peer that is only slow.
    fn closed_if_broken(&mut self, result: io::Result<()>) -> io::Result<()> {
        if result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) {
            self.stream = None;
            self.connect.lost();
        }
        result
    }
}

fn connect_tcp(address: &str) -> io::Result<Stream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                stream.set_nonblocking(true)?;
                // Blocks are gathered already.
                stream.set_nodelay(true)?;
                return Ok(Stream::Tcp(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Sink for Socket {
    fn begin(&mut self, _bytes: usize) -> io::Result<bool> {
        self.connected()?;
        Ok(self.is_new)
    }

    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        let result = self.connected()?.send(blocks);
        if result.is_ok() {
            self.is_new = false;
        }
        self.closed_if_broken(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let result = stream.flush();
        self.closed_if_broken(result)
    }

    #[cfg(unix)]
    fn is_gone(&self) -> bool {
        let Peer::Given = self.peer else { return false };
        match &self.stream {
            Some(Backlog { out: Stream::Unix(stream), .. }) => is_closed(stream),
            _ => true,
        }
    }

    fn in_child(&mut self) -> bool {
        if let Some(stream) = self.stream.take() {
            stream.abandon();
        }
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

/// True if the peer has closed its end. Nobody waits for what it may have sent.
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
            Stream::Unix(stream) => stream.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
