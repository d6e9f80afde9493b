//! What 50 shippers and a collector cost, beside writing and copying the same bytes, and which rate
//! they hold.
//!
//! Prints the processor time for each million events, and memory. Run it with
//! `cargo bench -p telemetry-fleet --bench load`. With `TELEMETRY_RATE`, it looks for a rate only,
//! and begins with this number of events a second of each host.

#[path = "../tests/suite/authority.rs"]
#[expect(dead_code, reason = "this needs a part of it")]
mod authority;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use telemetry_testing::made::{Plan, blocks, edit, make, registry};
use telemetry_testing::wait;

use crate::authority::{Authority, Validity};

const PROGRAM: &str = env!("CARGO_BIN_EXE_telemetry-fleet");

/// Shippers at a time, each with a stream of this number of events: one second of a busy program.
const HOSTS: usize = 50;
const EVENTS: usize = 100_000;

/// Seconds for which programs send at a rate. They must be stored when a quarter more has passed:
/// open segments are sent last.
const SECONDS: usize = 10;

/// Pieces in which a program sends what it has recorded in a second.
const PIECES: usize = 20;

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
    let rate = std::env::var("TELEMETRY_RATE").ok().map(|rate| rate.parse().expect("a number"));
    // The runtime writes whole blocks while a lane is busy. A program that also flushes ten times a
    // second writes some smaller ones, and one that flushes after nine events writes no others.
    for flush in [10_000, 9].into_iter().filter(|_| rate.is_none()) {
        println!("with a flush in {flush} events:");
        measure(flush);
    }
    let mut tried = std::iter::successors(Some(rate.unwrap_or(EVENTS)), |rate| Some(rate * 4 / 5)).take(10);
    let held = tried.find(|rate| holds(*rate)).expect("a rate that is held");
    println!("{HOSTS} hosts hold {held} events a second each, {} together", HOSTS * held);
}

/// Lets programs of all hosts send this many events a second, as they would while they run. Says
/// whether shippers and collector keep up.
fn holds(rate: usize) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new(dir.path(), "authority");
    let (collector, address) = start_collector(dir.path(), &authority);
    let mut shippers: Vec<_> = (0..HOSTS)
        .map(|host| {
            let mut shipper = shipper(dir.path(), &authority, &address, host);
            shipper
                .arg(format!("--listen=unix:{}", socket(dir.path(), host).display()))
                .arg("--stop-timeout=600");
            shipper.stderr(File::create(log(dir.path(), host)).unwrap());
            Running(shipper.spawn().unwrap())
        })
        .collect();
    let plan = Plan { events: rate * SECONDS, block_size: 16_384, flush: 10_000, ..Plan::default() };
    let stream = make(&registry(), &plan).stream;
    let blocks = blocks(&stream);
    wait::until("all shippers listen", || (0..HOSTS).all(|host| socket(dir.path(), host).exists()));
    let before = cpu().1;
    let start = Instant::now();
    let late = std::thread::scope(|scope| {
        let (dir, stream, blocks) = (dir.path(), &stream, &blocks);
        let program =
            |host| scope.spawn(move || send(&socket(dir, host), stream, blocks, host as u64, start));
        let programs: Vec<_> = (0..HOSTS).map(program).collect();
        programs.into_iter().map(|program| program.join().unwrap()).max().unwrap()
    });
    let of_shippers = shippers.iter().map(|shipper| status(shipper.0.id(), "VmHWM") / 1024);
    let (least, most) = (of_shippers.clone().min().unwrap(), of_shippers.max().unwrap());
    let pids = shippers.iter().map(|shipper| shipper.0.id().to_string());
    assert!(Command::new("kill").arg("-TERM").args(pids).status().unwrap().success());
    for shipper in &mut shippers {
        assert!(shipper.0.wait().unwrap().success());
    }
    let elapsed = start.elapsed();
    for host in 0..HOSTS {
        let log = std::fs::read_to_string(log(dir.path(), host)).unwrap();
        assert!(!log.contains(" bytes stay in the spool") && !log.contains(" shed "), "{log}");
    }
    let memory = end(collector);
    let millions = (HOSTS * rate * SECONDS) as f64 / 1e6;
    let (cost, bytes) = ((cpu().1 - before) / millions, (HOSTS * stream.len()) as f64 / 1e6 / SECONDS as f64);
    println!(
        "{HOSTS} hosts, {rate} events a second each, {bytes:.0} MB a second together, for {SECONDS} s: all stored \
         after {:.1} s, programs up to {:.1} s late; {cost:.4} s for a million events; a shipper {least} to {most} \
         MiB of memory, the collector {memory} MiB",
        elapsed.as_secs_f64(),
        late.as_secs_f64(),
    );
    elapsed <= Duration::from_secs(SECONDS as u64) * 5 / 4
}

fn socket(dir: &Path, host: usize) -> PathBuf {
    dir.join(format!("{host}.socket"))
}

fn log(dir: &Path, host: usize) -> PathBuf {
    dir.join(format!("{host}.log"))
}

/// A process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a stream as a program does that records it meanwhile. Returns by how much the last piece
/// was late, because the shipper did not read.
fn send(socket: &Path, stream: &[u8], blocks: &[Range<usize>], host: u64, start: Instant) -> Duration {
    let mut to = UnixStream::connect(socket).unwrap();
    let (pieces, mut blocks) = (SECONDS * PIECES, blocks.iter().peekable());
    let piece_time = Duration::from_secs(1) / PIECES as u32;
    for piece in 1..=pieces {
        let mut bytes = Vec::new();
        while let Some(block) = blocks.next_if(|block| block.end <= stream.len() * piece / pieces) {
            let at = bytes.len();
            bytes.extend_from_slice(&stream[block.clone()]);
            // Each host has a session of its own.
            edit(&mut bytes[at..], |header| header.session += host);
        }
        std::thread::sleep((piece_time * piece as u32).saturating_sub(start.elapsed()));
        to.write_all(&bytes).unwrap();
    }
    start.elapsed().saturating_sub(piece_time * pieces as u32)
}

/// Starts a collector with a directory below this one. Returns its address, too.
fn start_collector(dir: &Path, authority: &Authority) -> (Running, String) {
    let (cert, key) = authority.sign("127.0.0.1", 1, Validity::Good);
    let mut collector = Command::new(PROGRAM);
    collector.args(["collect", "--listen=127.0.0.1:0"]);
    collector.arg(format!("--store=file://{}", dir.join("store").display()));
    collector.arg("--cert").arg(cert).arg("--key").arg(key).arg("--client-ca").arg(&authority.file);
    let mut collector = collector.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut log = BufReader::new(collector.stderr.take().unwrap());
    log.read_line(&mut line).unwrap();
    // It must be able to go on writing.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    (Running(collector), line.trim().strip_prefix("collecting at ").unwrap().to_owned())
}

/// Ends a collector. Returns the most memory that it had, in MiB.
fn end(collector: Running) -> u64 {
    status(collector.0.id(), "VmHWM") / 1024
}

/// The command of a host. Each has its own name, and so its own certificate.
fn shipper(dir: &Path, authority: &Authority, address: &str, host: usize) -> Command {
    let name = format!("host{host}");
    let (cert, key) = authority.sign(&name, 100 + host as u64, Validity::Good);
    let mut shipper = Command::new(PROGRAM);
    shipper.args(["ship", "--host", &name, "--to", address]).arg("--ca").arg(&authority.file);
    shipper.arg("--cert").arg(cert).arg("--key").arg(key);
    shipper.arg("--spool").arg(dir.join(format!("spool{host}"))).stdout(Stdio::null());
    shipper
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
        for block in blocks(&stream) {
            edit(&mut stream[block], |header| header.session += host as u64);
        }
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

    let before = cpu().1;
    let (collector, address) = start_collector(dir.path(), &authority);
    let ship = |host| {
        let mut shipper = shipper(dir.path(), &authority, &address, host);
        shipper.arg(dir.path().join(format!("{host}.tel"))).spawn().unwrap()
    };
    let shippers: Vec<_> = (0..HOSTS).map(ship).collect();
    for mut shipper in shippers {
        assert!(shipper.wait().unwrap().success());
    }
    let shipped = (cpu().1 - before) / millions;
    let memory = end(collector);
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
