//! Versions of the protocol: old and new peers work together.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use telemetry_fleet::wire::{Bye, Hello, Message, Version, Welcome};

use crate::collect::{Collector, Fleet, with};
use crate::hostile::Peer;
use crate::ship::said;

#[test]
fn one_minor_version_apart_works() {
    let fleet = Fleet::new();
    for (collect, ship) in [("1.1", "1.2"), ("1.2", "1.1"), ("1.1", "1.1"), ("1.2", "1.2")] {
        let mut arguments = fleet.arguments();
        arguments.push(format!("--protocol={collect}"));
        let collector = Collector::start(&arguments);
        let mut command = with(fleet.shipper("spool", collector.port), &fleet.client);
        let run = said(&command.arg("--protocol").arg(ship).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{collect} {ship}");
        fleet.host.check(&fleet.host.objects());
        std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
        assert_eq!(collector.log(), [] as [&str; 0]);
    }
}

/// The bytes of version 1.1 as its first release sent them. They must never change.
#[test]
fn the_bytes_of_the_version_before() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let mut peer = Peer::connect(&fleet, collector.port);
    peer.send(b"\x01\0\0\0\x12\0\0\0telfleet\x01\0\x01\x01\x02\0h7\0\0");
    let (window, max_segment) = (16 << 20, 64 << 20);
    let version = Version { major: 1, minor: 1 };
    assert_eq!(peer.answer(), Some(Message::Welcome(Welcome { version, window, max_segment })));
    let name = "segments/day=2023-11-14/host=h7/0000000000000001-17979cfe362a0000-00000000.tel";
    let mut header = telemetry_format::Header::new(telemetry_format::BlockType::Session, 1);
    header.base_wall = 0x1797_9cfe_362a_0000;
    let mut bytes = b"\x03\0\0\0\x5c\0\0\0\x09\0\0\0\x90\0\0\0\0\0\0\0\x4e\0".to_vec();
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b"\x04\0\0\0\x90\0\0\0");
    bytes.extend_from_slice(&header.encode(crc32c::crc32c));
    peer.send(&bytes);
    let done = peer.answer().unwrap();
    assert_eq!(done.frame(), b"\x05\0\0\0\x07\0\0\0\x09\0\0\0\x01\0\0");
    peer.send(b"\x08\0\0\0\x18\0\0\0........................");
    // A message of version 1.2 is none here.
    peer.send(b"\x0a\0\0\0\x04\0\0\0....");
    assert!(matches!(peer.answer(), Some(Message::Bye(Bye { is_passing: false, .. }))));
}

/// The bytes of a collector of version 1.1, as its first release sent them. They must never change.
#[test]
fn the_bytes_of_a_collector_of_the_version_before() {
    let fleet = Fleet::new();
    let listener = TcpListener::bind((&*fleet.address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&fleet.server.0).unwrap()],
            PrivateKeyDer::from_pem_file(&fleet.server.1).unwrap(),
        )
        .unwrap();
    let collector = std::thread::spawn(move || {
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        collect_old(StreamOwned::new(connection, listener.accept().unwrap().0))
    });
    let run = fleet.ship(port);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    fleet.host.check(&collector.join().unwrap());
}

/// Answers a shipper to the end of its connection. Returns the segments.
fn collect_old(mut shipper: impl Read + Write) -> Vec<Vec<u8>> {
    let (mut segments, mut head) = (Vec::new(), [0; 8]);
    let (mut number, mut left) = (Vec::new(), 0);
    while shipper.read_exact(&mut head).is_ok() {
        let mut payload = vec![0; u32::from_le_bytes(head[4..].try_into().unwrap()) as usize];
        shipper.read_exact(&mut payload).unwrap();
        match head[0] {
            1 => {
                assert!(payload.starts_with(b"telfleet\x01\x01"), "{payload:?}");
                let welcome = b"\x02\0\0\0\x12\0\0\0\x01\x01\0\0\0\x01\0\0\0\0\0\0\0\x04\0\0\0\0";
                shipper.write_all(welcome).unwrap();
            }
            3 => {
                number = payload[..4].to_vec();
                left = u64::from_le_bytes(payload[4..12].try_into().unwrap());
                segments.push(Vec::new());
            }
            4 => {
                left -= payload.len() as u64;
                segments.last_mut().unwrap().extend(payload);
                if left == 0 {
                    shipper.write_all(b"\x05\0\0\0\x07\0\0\0").unwrap();
                    shipper.write_all(&number).unwrap();
                    shipper.write_all(b"\x01\0\0").unwrap();
                }
            }
            // A sign of life, and the state of the spool.
            6 | 8 => {}
            other => panic!("a frame {other}, which version 1.1 does not know"),
        }
        shipper.flush().unwrap();
    }
    segments
}

#[test]
fn other_versions_are_refused() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let newer = Version { major: 2, minor: 0 };
    for versions in [(newer, newer), (Version { major: 0, minor: 9 }, Version { major: 0, minor: 9 })] {
        let mut peer = Peer::connect(&fleet, collector.port);
        peer.send(&Message::Hello(Hello { versions, host: "h7".to_owned(), token: String::new() }).frame());
        let text = format!(
            "it speaks the versions {} to {} of the protocol, expected one of 1.1 to 1.2",
            versions.0, versions.1
        );
        assert_eq!(peer.answer(), Some(Message::Bye(Bye { is_passing: false, text: text.clone() })));
        collector.wait_for(&text);
    }
    // A newer shipper that still speaks ours, with something at the end that we do not know.
    let mut peer = Peer::connect(&fleet, collector.port);
    let hello = Hello { versions: (Version::NEWEST, newer), host: "h7".to_owned(), token: String::new() };
    let mut frame = Message::Hello(hello).frame();
    frame.extend_from_slice(b"more");
    frame[4] += 4;
    peer.send(&frame);
    assert!(matches!(peer.answer(), Some(Message::Welcome(welcome)) if welcome.version == Version::NEWEST));
}
