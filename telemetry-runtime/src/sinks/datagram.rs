//! Sends datagrams, each with one block.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use super::connect::Connect;
use crate::sinks::sink::{Batch, Sink, Start};

/// Sends blocks by UDP, one in each datagram.
///
/// Datagrams get lost, and the system does not report it. A reader of the stream sees which events
/// are missing. The facts that a reader needs may also be lost, so they are sent again every
/// second. A name is looked up on another thread. The drain waits a second at most for the first
/// lookup, and only if this is the only sink.
#[derive(Debug)]
pub struct Datagram {
    /// `HOST:PORT`.
    address: String,
    socket: Option<UdpSocket>,
    connect: Connect<UdpSocket>,
    /// When the reader was last sent the facts that it needs.
    told: Option<Instant>,
    telling: bool,
}

/// Maximum length of a datagram over IPv4.
const MAX_DATAGRAM: usize = 65_507;
/// How often the facts are sent again.
const REMINDER: Duration = Duration::from_secs(1);
/// Long datagrams in quick succession do not fit into the buffer of a reader, usually 208 KiB. Of
/// sixteen, five arrive even on the same machine. With a pause all do.
const LONG_LEN: usize = 8 << 10;
const PAUSE: Duration = Duration::from_micros(50);
/// How long a block waits for room.
const SEND_TIMEOUT: Duration = Duration::from_millis(5);

impl Datagram {
    /// Sends datagrams to `HOST:PORT`.
    pub fn udp(address: impl Into<String>) -> Self {
        let (address, connect) = (address.into(), Connect::new());
        Datagram { address, socket: None, connect, told: None, telling: false }
    }

    fn connected(&mut self) -> io::Result<&UdpSocket> {
        if self.socket.is_none() {
            let address = self.address.clone();
            self.socket = Some(self.connect.wait(move || connect(&address))?);
        }
        self.socket.as_ref().ok_or_else(|| ErrorKind::NotConnected.into())
    }
}

impl Sink for Datagram {
    fn begin(&mut self, _bytes: usize) -> io::Result<Start> {
        self.connected()?;
        self.telling = self.told.is_none_or(|told| told.elapsed() >= REMINDER);
        Ok(Start::new_if(self.telling))
    }

    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let socket = self.connected()?;
        let mut datagram = Vec::with_capacity(MAX_DATAGRAM);
        for (index, block) in blocks.iter().enumerate() {
            datagram.clear();
            block.iter().for_each(|bytes| datagram.extend_from_slice(bytes));
            match send(socket, &datagram) {
                // Once one datagram is sent, those that fail are treated like datagrams that get
                // lost: they are missing in the stream.
                Err(error) if index == 0 => return Err(error),
                _ => {}
            }
            if datagram.len() >= LONG_LEN {
                std::thread::sleep(PAUSE);
            }
        }
        if std::mem::take(&mut self.telling) {
            self.told = Some(Instant::now());
        }
        Ok(())
    }

    fn max_block(&self) -> usize {
        MAX_DATAGRAM
    }

    fn leaves_host(&self) -> bool {
        true
    }

    fn after_fork(&mut self) -> bool {
        *self = Datagram::udp(std::mem::take(&mut self.address));
        true
    }

    fn name(&self) -> String {
        format!("`udp:{}`", self.address)
    }
}

fn connect(address: &str) -> io::Result<UdpSocket> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any).and_then(|socket| {
            socket.connect(address)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        match socket {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn send(socket: &UdpSocket, datagram: &[u8]) -> io::Result<()> {
    let since = Instant::now();
    loop {
        match socket.send(datagram) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock && since.elapsed() < SEND_TIMEOUT => {
                std::thread::sleep(Duration::from_micros(200));
            }
            Err(error) => return Err(error),
        }
    }
}
