//! What 50 shippers and a collector cost, beside writing and copying the same bytes.
//!
//! Prints the processor time for each million events. Run it with
//! `cargo bench -p telemetry-fleet --bench load`.

#[path = "../tests/suite/authority.rs"]
#[expect(dead_code, reason = "this needs a part of it")]
mod authority;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use telemetry_testing::made::{Plan, make, registry};

use crate::authority::{Authority, Validity};

/// Shippers at a time, each with a stream of this number of events: one second of a busy program.
const HOSTS: usize = 50;
const EVENTS: usize = 100_000;

/// Seconds of processor time: of this process, and of those that it has waited for.
fn cpu() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    // A tick is 10 ms on all Linux.
    let seconds = |field: usize| (fields[field].parse::<u64>().unwrap() as f64) / 100.0;
    (seconds(11) + seconds(12), seconds(13) + seconds(14))
}

/// A number in KiB of a process's status.
fn status(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches([':', '\t', ' ']).trim_end_matches(" kB").trim().parse().unwrap()
}

fn main() {
    // The runtime writes whole blocks while a lane is busy. A program that also flushes ten times a
    // second writes some smaller ones, and one that flushes after nine events writes no others.
    for flush in [10_000, 9] {
        println!("with a flush in {flush} events:");
        measure(flush);
    }
}

/// Ships streams with a flush in this number of events.
fn measure(flush: u64) {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new(dir.path(), "authority");
    let server = authority.sign("127.0.0.1", 1, Validity::Good);
    let client = authority.sign("h7", 2, Validity::Good);
    let mut bytes = 0;
    for host in 0..HOSTS {
        let (seed, block_size) = (host as u64, 16_384);
        let plan = Plan { seed, events: EVENTS, block_size, flush, ..Plan::default() };
        let mut stream = make(&registry(), &plan).stream;
        renumber(&mut stream, host as u64);
        bytes += stream.len();
        std::fs::write(dir.path().join(format!("{host}.tel")), stream).unwrap();
    }
    let millions = (HOSTS * EVENTS) as f64 / 1e6;
    println!("{HOSTS} hosts, {millions} million events, {:.1} bytes each", bytes as f64 / millions / 1e6);

    let before = cpu().0;
    for host in 0..HOSTS {
        copy(&mut file(dir.path(), host), &mut File::create(dir.path().join("copy")).unwrap());
    }
    let written = (cpu().0 - before) / millions;
    println!("writing: {written:.4} s for a million events");

    let before = cpu().0;
    copy_through_tls(dir.path(), &authority, &server, &client);
    let copied = (cpu().0 - before) / millions;
    println!("copying through TLS: {copied:.4} s");

    let program = env!("CARGO_BIN_EXE_telemetry-fleet");
    let before = cpu().1;
    let mut collector = Command::new(program);
    collector.args(["collect", "--listen=127.0.0.1:0"]);
    collector.arg(format!("--store=file://{}", dir.path().join("store").display()));
    collector
        .arg("--cert")
        .arg(&server.0)
        .arg("--key")
        .arg(&server.1)
        .arg("--client-ca")
        .arg(&authority.file);
    let mut collector = collector.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(collector.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("collecting at ").unwrap();
    let shippers: Vec<_> = (0..HOSTS)
        .map(|host| {
            // Each has its own name, and so its own certificate.
            let name = format!("host{host}");
            let client = authority.sign(&name, 100 + host as u64, Validity::Good);
            let mut shipper = Command::new(program);
            shipper.args(["ship", "--host", &name, "--to", address]).arg("--ca").arg(&authority.file);
            shipper.arg("--cert").arg(client.0).arg("--key").arg(client.1);
            shipper.arg("--spool").arg(dir.path().join(format!("spool{host}")));
            shipper.arg(dir.path().join(format!("{host}.tel"))).stdout(Stdio::null());
            shipper.spawn().unwrap()
        })
        .collect();
    for mut shipper in shippers {
        assert!(shipper.wait().unwrap().success());
    }
    let shipped = (cpu().1 - before) / millions;
    let memory = status(collector.id(), "VmHWM") / 1024;
    collector.kill().unwrap();
    collector.wait().unwrap();
    let collected = (cpu().1 - before) / millions - shipped;
    println!("ship: {shipped:.4} s; collect: {collected:.4} s, {memory} MiB of memory");
    let sum = shipped + collected;
    println!("together {:.1} times copying through TLS, {:.1} times writing", sum / copied, sum / written);
}

fn file(dir: &Path, host: usize) -> File {
    File::open(dir.join(format!("{host}.tel"))).unwrap()
}

/// Writes a file as a program would: 64 KiB at a time, and then to the disk.
fn copy(from: &mut impl Read, to: &mut File) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut buffer).unwrap();
        if read == 0 {
            return to.sync_data().unwrap();
        }
        to.write_all(&buffer[..read]).unwrap();
    }
}

/// Sends each file over a connection of its own to a thread that writes it.
fn copy_through_tls(
    dir: &Path,
    authority: &Authority,
    server: &(std::path::PathBuf, std::path::PathBuf),
    client: &(std::path::PathBuf, std::path::PathBuf),
) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let read = |(cert, key): &(std::path::PathBuf, std::path::PathBuf)| {
        (vec![CertificateDer::from_pem_file(cert).unwrap()], PrivateKeyDer::from_pem_file(key).unwrap())
    };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&authority.file).unwrap()).unwrap();
    let roots = Arc::new(roots);
    let verifier =
        rustls::server::WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone());
    let (cert, key) = read(server);
    let mut serving = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(cert, key)
        .unwrap();
    let (cert, key) = read(client);
    let sending = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(cert, key)
        .unwrap();
    // As the collector does.
    serving.send_tls13_tickets = 0;
    let (serving, sending) = (Arc::new(serving), Arc::new(sending));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for host in 0..HOSTS {
        let (sending, from) = (sending.clone(), dir.join(format!("{host}.tel")));
        let sender = std::thread::spawn(move || {
            let name = ServerName::try_from("127.0.0.1").unwrap();
            let connection = ClientConnection::new(sending, name).unwrap();
            let mut to = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
            let (mut from, mut buffer) = (File::open(from).unwrap(), vec![0; 64 << 10]);
            loop {
                let read = from.read(&mut buffer).unwrap();
                if read == 0 {
                    break;
                }
                to.write_all(&buffer[..read]).unwrap();
            }
            to.conn.send_close_notify();
            to.flush().unwrap();
            // The connection stays until the other side has read all.
            to.sock.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = to.sock.read(&mut buffer);
        });
        let connection = ServerConnection::new(serving.clone()).unwrap();
        let mut from = StreamOwned::new(connection, listener.accept().unwrap().0);
        copy(&mut from, &mut File::create(dir.join("copy")).unwrap());
        drop(from);
        sender.join().unwrap();
    }
}

/// Adds to the number of the session in each block.
fn renumber(stream: &mut [u8], add: u64) {
    let mut at = 0;
    while at < stream.len() {
        let mut header = telemetry_format::Header::decode(&stream[at..], crc32c::crc32c).unwrap();
        header.session += add;
        stream[at..at + telemetry_format::HEADER_LEN].copy_from_slice(&header.encode(crc32c::crc32c));
        at += header.block_len() as usize;
    }
}
