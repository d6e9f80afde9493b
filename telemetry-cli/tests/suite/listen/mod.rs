//! `listen`, with real sockets on this machine, honest senders and hostile ones.
#![cfg(unix)]

mod channel;
mod hostile;
mod sessions;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use telemetry_format::{BlockType, Header};

use crate::run::{Folder, Run};
use crate::streams::{blocks, gc_run};

/// Longer than any event takes, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(40);

/// A running `telemetry listen`.
struct Listening {
    child: Child,
    /// The addresses that it printed.
    addresses: Vec<String>,
    lines: Receiver<String>,
    stderr: String,
    stdout: Option<JoinHandle<Vec<u8>>>,
}

impl Listening {
    fn new(folder: &Folder, args: &str) -> Listening {
        Listening::start(&mut folder.command(&format!("listen {args}")), args)
    }

    fn start(command: &mut Command, args: &str) -> Listening {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let mut stdout = child.stdout.take().unwrap();
        let stdout = std::thread::spawn(move || {
            let mut all = Vec::new();
            stdout.read_to_end(&mut all).unwrap();
            all
        });
        let stdout = Some(stdout);
        let mut own = Listening { child, addresses: Vec::new(), lines, stderr: String::new(), stdout };
        for _ in args.split(' ').filter(|word| word.contains(':')) {
            let line = own.wait_for("listening on");
            own.addresses.push(line.split('`').nth(1).unwrap().to_owned());
        }
        own
    }

    /// Waits for a line on standard error.
    #[track_caller]
    fn wait_for(&mut self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|error| panic!("no {text}: {error}\n{}", self.stderr));
            self.stderr += &line;
            self.stderr.push('\n');
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends bytes to the first address.
    fn send(&self, bytes: &[u8]) {
        send(&self.addresses[0], bytes);
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Interrupts it, and returns its output and exit code.
    fn interrupt(self) -> Run {
        self.signal("-INT");
        self.end()
    }

    /// Waits for its end.
    fn end(mut self) -> Run {
        let since = Instant::now();
        let code = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None => assert!(since.elapsed() < PATIENCE, "it does not end\n{}", self.stderr),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.stderr += &line;
            self.stderr.push('\n');
        }
        let stdout = self.stdout.take().unwrap().join().unwrap();
        Run { stdout, stderr: std::mem::take(&mut self.stderr), code }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection, or a socket that sends datagrams.
trait Peer: Read + Write {}
impl<T: Read + Write> Peer for T {}

fn connect(address: &str) -> Box<dyn Peer> {
    match address.split_once(':').unwrap() {
        ("tcp", peer) => {
            let stream = TcpStream::connect(peer).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Box::new(stream)
        }
        ("unix", path) => {
            let stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Box::new(stream)
        }
        other => panic!("{other:?}"),
    }
}

/// Sends all bytes, and waits until the other side has read to the end.
fn send(address: &str, bytes: &[u8]) {
    if let Some(peer) = address.strip_prefix("udp:") {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        return blocks(bytes).iter().for_each(|block| _ = socket.send_to(block, peer).unwrap());
    }
    connect(address).write_all(bytes).unwrap();
}

/// Returns true if the other side closes the connection.
fn is_closed(mut connection: impl Read) -> bool {
    match connection.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

fn file(folder: &Folder, session: u64) -> Vec<u8> {
    std::fs::read(folder.path(&format!("{session:016x}.tel"))).unwrap_or_default()
}

/// Waits until a session's file has the expected content.
#[track_caller]
fn wait_for_file(folder: &Folder, session: u64, expected: &[u8]) {
    let since = Instant::now();
    while file(folder, session) != expected {
        let found = file(folder, session).len();
        assert!(
            since.elapsed() < PATIENCE,
            "{found} bytes of session {session}, expected {}",
            expected.len()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Makes the stream of a session that ended.
fn session(id: u64) -> Vec<u8> {
    gc_run(id).finish().unwrap()
}

/// Makes a block of events with a payload of some length, and valid checksums.
fn block(session: u64, payload: usize) -> Vec<u8> {
    let payload = vec![1; payload];
    let header = Header {
        payload_len: payload.len() as u32,
        payload_crc: crc32c::crc32c(&payload),
        ..Header::new(BlockType::Events, session)
    };
    [&header.encode(crc32c::crc32c)[..], &payload].concat()
}

/// Makes a header that announces a payload, without the payload.
fn promise(payload_len: u32) -> Vec<u8> {
    let header = Header { payload_len, ..Header::new(BlockType::Events, 666) };
    header.encode(crc32c::crc32c).to_vec()
}
