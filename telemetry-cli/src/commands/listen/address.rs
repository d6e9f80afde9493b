//! Addresses for listening.

use std::fmt;
use std::io;
use std::net::{TcpListener, UdpSocket};
#[cfg(unix)]
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Clone)]
pub(crate) enum Address {
    Tcp(String),
    Udp(String),
    #[cfg(unix)]
    Unix(PathBuf),
}

/// A bound address.
pub(super) enum Bound {
    Tcp(TcpListener),
    Udp(UdpSocket),
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

/// The file of a socket. Dropping this removes the file, unless another file has replaced it.
pub(super) struct RemovedAtEnd(Option<(PathBuf, FileId)>);

/// Device and number of a file.
type FileId = (u64, u64);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_peer = |peer: &str| {
            let parts = peer.rsplit_once(':');
            parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        match text.split_once(':') {
            Some(("tcp", peer)) if is_peer(peer) => Ok(Address::Tcp(peer.to_owned())),
            Some(("udp", peer)) if is_peer(peer) => Ok(Address::Udp(peer.to_owned())),
            #[cfg(unix)]
            Some(("unix", path)) if !path.is_empty() => Ok(Address::Unix(path.into())),
            _ => Err("expected tcp:HOST:PORT, udp:HOST:PORT or unix:PATH".to_owned()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(peer) => write!(f, "tcp:{peer}"),
            Address::Udp(peer) => write!(f, "udp:{peer}"),
            #[cfg(unix)]
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// Begins to listen. Also returns the address with the port that the system chose.
    pub(super) fn bind(&self) -> io::Result<(Bound, String)> {
        match self {
            Address::Tcp(peer) => {
                let listener = TcpListener::bind(peer)?;
                let name = format!("tcp:{}", listener.local_addr()?);
                Ok((Bound::Tcp(listener), name))
            }
            Address::Udp(peer) => {
                let socket = UdpSocket::bind(peer)?;
                let name = format!("udp:{}", socket.local_addr()?);
                Ok((Bound::Udp(socket), name))
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                remove_stale(path)?;
                let listener = crate::term::native::bind_own(path)?;
                Ok((Bound::Unix(listener, path.clone()), self.to_string()))
            }
        }
    }
}

impl Bound {
    /// Returns the file of a Unix socket, which outlives the socket.
    pub(super) fn file(&self) -> RemovedAtEnd {
        match self {
            #[cfg(unix)]
            Bound::Unix(_, path) => RemovedAtEnd::new(path.clone()),
            _ => RemovedAtEnd(None),
        }
    }
}

impl RemovedAtEnd {
    /// Has a file removed at the end.
    pub(super) fn new(path: PathBuf) -> RemovedAtEnd {
        RemovedAtEnd(file_id(&path).map(|id| (path, id)))
    }
}

impl Drop for RemovedAtEnd {
    fn drop(&mut self) {
        if let Some((path, id)) = &self.0
            && file_id(path).as_ref() == Some(id)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Returns the identity of the file at a path, without following a link.
#[cfg(unix)]
fn file_id(path: &std::path::Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &std::path::Path) -> Option<FileId> {
    None
}

/// Removes only a socket without a listener, which a killed run left.
#[cfg(unix)]
pub(super) fn remove_stale(path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    if !is_socket {
        return Ok(());
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => Err(io::Error::new(io::ErrorKind::AddrInUse, "another program listens there")),
    }
}
