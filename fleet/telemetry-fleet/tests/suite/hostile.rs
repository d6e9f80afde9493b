//! Peers that a collector must not trust.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use telemetry_fleet::wire::{Bye, Done, Hello, Kind, Message, Outcome, Segment, Version, header};
use telemetry_format::{BlockType, Header};
use telemetry_testing::wait;

use crate::authority::Validity;
use crate::collect::{Collector, Fleet, with};
#[cfg(target_os = "linux")]
use crate::disk::SmallDisk;
use crate::ship::said;

/// The TLS of the host `h7`.
fn client(fleet: &Fleet) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&fleet.authority.file).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(
            vec![CertificateDer::from_pem_file(&fleet.client.0).unwrap()],
            PrivateKeyDer::from_pem_file(&fleet.client.1).unwrap(),
        )
        .unwrap();
    let name = ServerName::try_from(fleet.address.clone()).unwrap();
    ClientConnection::new(Arc::new(config), name).unwrap()
}

/// A connection of the host `h7` that sends what it likes.
pub(crate) struct Peer(StreamOwned<ClientConnection, TcpStream>);

impl Peer {
    pub(crate) fn connect(fleet: &Fleet, port: u16) -> Peer {
        Peer(StreamOwned::new(client(fleet), TcpStream::connect((&*fleet.address, port)).unwrap()))
    }

    pub(crate) fn greet(fleet: &Fleet, port: u16) -> Peer {
        let mut peer = Peer::connect(fleet, port);
        let versions = (Version::OLDEST, Version::NEWEST);
        peer.send(&Message::Hello(Hello { versions, host: "h7".to_owned(), token: String::new() }).frame());
        assert!(matches!(peer.answer(), Some(Message::Welcome(_))));
        peer
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        // The collector may have closed the connection.
        let _ = self.0.write_all(bytes).and_then(|()| self.0.flush());
    }

    /// Waits a moment, and says whether the collector has sent something.
    fn is_answered(&self) -> bool {
        let wait = |time| self.0.sock.set_read_timeout(time).unwrap();
        wait(Some(Duration::from_millis(100)));
        let found = self.0.sock.peek(&mut [0]).is_ok();
        wait(None);
        found
    }

    /// Returns the next message that is no sign of life, or `None` at the end.
    pub(crate) fn answer(&mut self) -> Option<Message> {
        loop {
            let mut head = [0; 8];
            self.0.read_exact(&mut head).ok()?;
            let mut payload = vec![0; u32::from_le_bytes(head[4..].try_into().unwrap()) as usize];
            self.0.read_exact(&mut payload).ok()?;
            let kinds =
                [Kind::Hello, Kind::Welcome, Kind::Segment, Kind::Data, Kind::Done, Kind::Alive, Kind::Bye];
            let kind = kinds.into_iter().find(|kind| *kind as u8 == head[0]).unwrap();
            if kind != Kind::Alive {
                return Some(Message::parse(kind, &payload).unwrap());
            }
        }
    }

    /// Sends a segment whole.
    pub(crate) fn segment(&mut self, name: &str, bytes: &[u8]) {
        let segment = Segment { number: 5, len: bytes.len() as u64, name: name.to_owned() };
        self.send(&Message::Segment(segment).frame());
        for part in bytes.chunks(50_000) {
            self.send(&header(Kind::Data, part.len()));
            self.send(part);
        }
    }

    /// Sends a segment, and says whether it is stored. Then it is removed from the store.
    fn is_served(&mut self, fleet: &Fleet) -> bool {
        self.segment(NAME, &block(|_| {}));
        let answer = self.answer();
        let is_stored = matches!(answer, Some(Message::Done(Done { outcome: Outcome::Stored, .. })));
        if is_stored {
            std::fs::remove_file(fleet.host.path("store").join(NAME)).unwrap();
        }
        is_stored
    }

    /// Checks that it is served.
    pub(crate) fn check(&mut self, fleet: &Fleet) {
        assert!(self.is_served(fleet), "a segment is not stored");
    }
}

const NAME: &str = "segments/day=2023-11-14/host=h7/0000000000000001-17979cfe362a0000-00000000.tel";

/// A block of the session and the time in [`NAME`].
fn block(change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::new(BlockType::Session, 1);
    header.base_wall = 0x1797_9cfe_362a_0000;
    change(&mut header);
    header.encode(crc32c::crc32c).to_vec()
}

/// A segment of `len` bytes, of a session from 1 to 9, and its name.
pub(crate) fn segment_of(session: u64, len: usize) -> (String, Vec<u8>) {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let payload = vec![0; (len - bytes.len()).min(8 << 20) - telemetry_format::HEADER_LEN];
        bytes.extend(block(|header| {
            (header.session, header.payload_len) = (session, payload.len() as u32);
            header.payload_crc = crc32c::crc32c(&payload);
        }));
        bytes.extend_from_slice(&payload);
    }
    (NAME.replace("0000000000000001", &format!("{session:016x}")), bytes)
}

/// Zeros, compressed.
fn zeros(len: usize) -> Vec<u8> {
    let mut packed = Vec::with_capacity(len);
    let mut state = flate2::Compress::new(flate2::Compression::default(), false);
    let status = state.compress_vec(&vec![0; len], &mut packed, flate2::FlushCompress::Finish);
    assert_eq!(status.unwrap(), flate2::Status::StreamEnd);
    packed
}

#[test]
fn what_is_no_segment_is_refused() {
    let fleet = Fleet::new();
    let bomb =
        [block(|_| {}), block(|header| (header.codec, header.unpacked_len) = (1, 0x7fff_ffff))].concat();
    let many = std::iter::repeat_with(|| block(|header| (header.codec, header.unpacked_len) = (1, 16 << 20)));
    let many = many.take(40).collect::<Vec<_>>().concat();
    // It states less than it has.
    let packed = zeros(1 << 20);
    let liar = |header: &mut Header| {
        (header.codec, header.unpacked_len, header.payload_len) = (1, 1000, packed.len() as u32);
        header.payload_crc = crc32c::crc32c(&packed);
    };
    let collector = fleet.collector();
    let cases = [
        (b"no stream".repeat(30), "block at offset 0: "),
        (block(|_| {})[..100].to_vec(), "block at offset 0: it is cut"),
        (
            block(|header| header.session = 2),
            "it is of the session 0000000000000002, expected 0000000000000001",
        ),
        (block(|header| header.base_wall = 7), "no block begins at the time in its name"),
        (Vec::new(), "no block begins at the time in its name"),
        (
            [block(liar), packed.clone()].concat(),
            "it grows beyond 1000 bytes when it is decompressed, the length",
        ),
        (block(|header| header.block_type = BlockType::Events), "its intervals have the checksum "),
        (bomb, "it grows beyond 536870912 bytes when it is decompressed"),
        (many, "it grows beyond 536870912 bytes when it is decompressed"),
        (
            [block(|header| header.payload_len = 4), b"1234".to_vec()].concat(),
            "its payload has the checksum ",
        ),
    ];
    let reasons = cases.each_ref().map(|case| case.1);
    for (bytes, why) in cases {
        let mut peer = Peer::greet(&fleet, collector.port);
        peer.segment(NAME, &bytes);
        let answer = peer.answer();
        let Some(Message::Done(Done { number: 5, outcome: Outcome::Refused, text })) = answer else {
            panic!("{answer:?}, expected `{why}`")
        };
        assert!(text.contains(why), "{text} does not contain {why}");
        // The connection goes on.
        peer.check(&fleet);
    }
    check_memory(&collector, 1);
    check_others(&fleet, collector, &reasons);
}

/// Checks that another host is served, and that the log has a line for each reason.
fn check_others(fleet: &Fleet, collector: Collector, reasons: &[&str]) {
    fleet.check(&collector);
    std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
    for entry in std::fs::read_dir(fleet.host.path("store")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(name == "incoming" || name == "probe", "{name:?}");
    }
    let log = collector.log();
    assert_eq!(log.len(), reasons.len(), "{log:#?}");
    for (line, why) in log.iter().zip(reasons) {
        assert!(line.contains(why), "{line} does not contain {why}");
    }
}

#[test]
fn what_breaks_the_protocol_ends_the_connection() {
    let fleet = Fleet::new();
    let segment =
        |len, name: &str| Message::Segment(Segment { number: 1, len, name: name.to_owned() }).frame();
    let data = |len: usize| [&header(Kind::Data, len)[..], &vec![0; len]].concat();
    let collector = fleet.collector();
    let cases = [
        (
            segment(1, "segments/day=2023-11-14/host=h7/../../../../etc/passwd"),
            "is not the name of a segment",
        ),
        (segment(1, "/etc/passwd"), "is not the name of a segment"),
        (segment(1, &NAME.replace("h7", "..")), "is not the name of a segment"),
        (segment(1, &NAME.replace("h7", "h8")), "a segment of another host, `h8`"),
        (segment(1, &NAME.replace("2023-11-14", "2023-11-15")), "is not the name of a segment"),
        (segment(1 << 40, NAME), "a segment of 1099511627776 bytes, expected at most 67108864"),
        (data(9), "a frame Data with a wrong payload"),
        ([segment(3, NAME), data(4)].concat(), "a frame Data of 4 bytes inside a segment with 3 left"),
        ([segment(3, NAME), Message::Alive.frame()].concat(), "a frame Alive of 0 bytes inside a segment"),
        (header(Kind::Data, 1 << 30).to_vec(), "a frame Data of 1073741824 bytes, expected at most 65536"),
        (header(Kind::Segment, 5000).to_vec(), "a frame Segment of 5000 bytes, expected at most 4096"),
        (vec![99; 8], "no frame begins with the bytes [63, 63, 63, 63]"),
        (
            Message::Bye(Bye { is_passing: true, text: String::new() }).frame(),
            "it sent a frame Bye between segments",
        ),
    ];
    let reasons = cases.each_ref().map(|case| case.1);
    for (bytes, why) in cases {
        let mut peer = Peer::greet(&fleet, collector.port);
        peer.send(&bytes);
        let answer = peer.answer();
        let Some(Message::Bye(Bye { is_passing: false, text })) = answer else {
            panic!("{answer:?}, expected `{why}`")
        };
        assert!(text.contains(why), "{text} does not contain {why}");
        assert_eq!(peer.answer(), None);
    }
    check_others(&fleet, collector, &reasons);
}

#[test]
fn plain_text_is_refused() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let mut tcp = TcpStream::connect((&*fleet.address, collector.port)).unwrap();
    tcp.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    collector.wait_for("refused: it does not speak TLS");
    fleet.check(&collector);
}

/// Checks the most memory that a collector has used: 64 MiB, and 1 MiB for each connection.
pub(crate) fn check_memory(collector: &Collector, connections: u64) {
    if cfg!(target_os = "linux") {
        let status = std::fs::read_to_string(format!("/proc/{}/status", collector.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib < (64 + connections) << 10, "{kib} KiB");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn idle_and_slow_connections_do_not_hinder_others() {
    let fleet = Fleet::new();
    let mut arguments = fleet.arguments();
    let limits = ["--hello-timeout=2", "--silence-timeout=3", "--segment-timeout=4"];
    arguments.extend(limits.map(str::to_owned));
    let collector = Collector::start(&arguments);
    // One is known, and sends a segment byte by byte. It is never silent.
    let segment = Message::Segment(Segment { number: 1, len: 1 << 14, name: NAME.to_owned() }).frame();
    let mut slow = Peer::greet(&fleet, collector.port);
    slow.send(&segment);
    let slow = std::thread::spawn(move || {
        while !slow.is_answered() {
            slow.send(&[&header(Kind::Data, 1)[..], &[0x89]].concat());
        }
        slow.answer()
    });
    // Others are known and silent: between segments, inside of one, and inside of a frame.
    let mut silent = [(); 3].map(|()| Peer::greet(&fleet, collector.port));
    silent[1].send(&segment);
    silent[2].send(&[&segment[..], &header(Kind::Data, 9), &[0x89]].concat());
    let idle: Vec<_> =
        (0..1000).map(|_| TcpStream::connect((&*fleet.address, collector.port)).unwrap()).collect();
    fleet.check(&collector);
    collector.wait_for("refused: it did not say who it is, and others wait");
    collector.wait_for("refused: it did not say who it is in time");
    let late = "a segment did not come in time";
    let answers = silent.each_mut().map(|peer| (peer.answer(), "it sent nothing for 3 s"));
    for (answer, why) in answers.into_iter().chain([(slow.join().unwrap(), late)]) {
        let Some(Message::Bye(Bye { is_passing: false, text })) = answer else { panic!("{answer:?}") };
        assert_eq!(text, why);
    }
    collector.wait_for(late);
    check_memory(&collector, 1);
    fleet.check(&collector);
    drop(idle);
}

/// Sends bytes one by one until the collector has ended the connection.
fn drip(socket: &TcpStream, bytes: &[u8], mut send: impl FnMut(&[u8])) {
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    for byte in bytes {
        send(&[*byte]);
        match socket.peek(&mut [0]) {
            Ok(0) => return,
            Ok(_) => panic!("the collector answers"),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
    panic!("the collector takes {} bytes, one by one", bytes.len());
}

/// Each byte comes in time, but not all of them do.
#[test]
fn what_comes_byte_by_byte_is_ended() {
    let fleet = Fleet::new();
    let mut arguments = fleet.arguments();
    arguments.push("--hello-timeout=5".to_owned());
    let collector = Collector::start(&arguments);
    let mut beside = Peer::greet(&fleet, collector.port);
    // One never comes to the end of its first message of TLS, and the other to that of its Hello.
    let mut first = Vec::new();
    client(&fleet).write_tls(&mut first).unwrap();
    let socket = TcpStream::connect((&*fleet.address, collector.port)).unwrap();
    let mut peer = Peer::connect(&fleet, collector.port);
    // The handshake.
    peer.send(&[]);
    let of_peer = peer.0.sock.try_clone().unwrap();
    let addresses = [&socket, &of_peer].map(|socket| socket.local_addr().unwrap());
    let (versions, host) = ((Version::OLDEST, Version::NEWEST), "h7".to_owned());
    let hello = Message::Hello(Hello { versions, host, token: "t".repeat(500) }).frame();
    let dripping = [
        thread::spawn(move || drip(&socket, &first, |byte| drop((&socket).write_all(byte)))),
        thread::spawn(move || drip(&of_peer, &hello, |byte| peer.send(byte))),
    ];
    fleet.check(&collector);
    loop {
        beside.check(&fleet);
        if dripping.iter().all(thread::JoinHandle::is_finished) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    dripping.into_iter().for_each(|dripping| dripping.join().unwrap());
    for address in addresses {
        collector.wait_for(&format!("{address}: refused: it did not say who it is in time"));
    }
}

/// Known hosts have places, too. Those that have one keep it, and others get one that is free
/// again.
#[test]
fn connections_beyond_the_limits_are_refused() {
    for (option, most, why) in [
        ("--max-connections=100", 8, "this host has 8 connections already"),
        ("--max-connections=1", 1, "the collector has 1 connections, its most"),
    ] {
        let fleet = Fleet::new();
        let mut arguments = fleet.arguments();
        arguments.push(option.to_owned());
        let collector = Collector::start(&arguments);
        let mut peers = Vec::new();
        for _ in 0..most {
            let mut peer = Peer::greet(&fleet, collector.port);
            // Who is served has its place.
            peer.check(&fleet);
            peers.push(peer);
        }
        let mut beyond = Peer::greet(&fleet, collector.port);
        let address = beyond.0.sock.local_addr().unwrap();
        let answer = beyond.answer();
        let Some(Message::Bye(Bye { is_passing: true, text })) = answer else { panic!("{answer:?}") };
        assert_eq!((text.as_str(), beyond.answer()), (why, None));
        collector.wait_for(&format!("{address}: refused: host `h7`: {why}"));
        peers.iter_mut().for_each(|peer| peer.check(&fleet));
        if most > 1 {
            // The limit of a host is not that of others.
            let mut other =
                with(fleet.shipper("spool", collector.port), &fleet.authority.sign("h8", 8, Validity::Good));
            let run = said(&other.args(["--host", "h8"]).output().unwrap());
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
            fleet.host.check(&fleet.host.objects());
        }
        peers.pop();
        wait::until("a place is free again", || Peer::greet(&fleet, collector.port).is_served(&fleet));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_nothing() {
    let fleet = Fleet::new();
    let Some(disk) = SmallDisk::mount(&fleet.host.path("store"), "3m") else { return };
    let collector = fleet.collector();
    let run = fleet.ship(collector.port);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("the collector cannot write: No space left on device"), "{}", run.stderr);
    collector.wait_for("the collector cannot write: No space left on device");
    disk.grow("64m");
    fleet.check(&collector);
}
