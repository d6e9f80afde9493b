//! Datagrams, each a block.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use super::connect::Connect;
use crate::sink::{Blocks, Sink};

/// UDP, one block a datagram.
///
/// Datagrams get lost, and nobody tells: not the program, but a reader, who sees which events are missing.
/// Since what a reader needs may be lost too, it is sent again every second. It is as with a
/// [`Socket`](super::Socket) that a name is looked up without waiting for more than the first second.
#[derive(Debug)]
pub struct Datagram {
    /// `HOST:PORT`.
    address: String,
    socket: Option<UdpSocket>,
    connect: Connect<UdpSocket>,
    /// When the reader was told what it needs.
    told: Option<Instant>,
    telling: bool,
}

/// Most bytes of a datagram over IPv4.
const MOST: usize = 65_507;
/// How often readers are told again what they need.
const REMINDER: Duration = Duration::from_secs(1);
/// Long ones that follow each other at once do not fit the buffer of a reader, usually 208 KiB: of sixteen,
/// five arrive even on the same machine. With a pause all do.
const LONG: usize = 8 << 10;
const PAUSE: Duration = Duration::from_micros(50);
/// How long a block waits for room.
const PATIENCE: Duration = Duration::from_millis(5);

impl Datagram {
    /// Datagrams to `HOST:PORT`.
    pub fn udp(address: impl Into<String>) -> Self {
        let (address, connect) = (address.into(), Connect::new());
        Datagram { address, socket: None, connect, told: None, telling: false }
    }

    fn connected(&mut self) -> io::Result<&UdpSocket> {
        if self.socket.is_none() {
            let address = self.address.clone();
            self.socket = Some(self.connect.poll(move || connect(&address))?);
        }
        self.socket.as_ref().ok_or_else(|| ErrorKind::NotConnected.into())
    }
}

impl Sink for Datagram {
    fn begin(&mut self, _bytes: usize) -> io::Result<bool> {
        self.connected()?;
        self.telling = self.told.is_none_or(|told| told.elapsed() >= REMINDER);
        Ok(self.telling)
    }

    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        let socket = self.connected()?;
        let mut datagram = Vec::with_capacity(MOST);
        for (index, block) in blocks.iter().enumerate() {
            datagram.clear();
            block.iter().for_each(|bytes| datagram.extend_from_slice(bytes));
            match send(socket, &datagram) {
                // Once one is on its way, those that fail are lost as if they were, too: they are missing
                // in the stream.
                Err(error) if index == 0 => return Err(error),
                _ => {}
            }
            if datagram.len() >= LONG {
                std::thread::sleep(PAUSE);
            }
        }
        if std::mem::take(&mut self.telling) {
            self.told = Some(Instant::now());
        }
        Ok(())
    }

    fn max_block(&self) -> usize {
        MOST
    }

    fn in_child(&mut self) -> bool {
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
            Err(error) if error.kind() == ErrorKind::WouldBlock && since.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_micros(200));
            }
            Err(error) => return Err(error),
        }
    }
}
