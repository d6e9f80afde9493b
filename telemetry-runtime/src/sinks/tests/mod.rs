//! Writes real blocks to sinks, and reads them back.

mod addresses;
mod backlog;
mod files;
mod memory;
#[cfg(unix)]
mod pipes;
#[cfg(unix)]
mod sockets;

use std::io;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use telemetry_format::{BlockType, HEADER_LEN, Header};

use crate::sinks::sink::{Batch, Sink, Start};

/// A test waits longer than it ever takes unless something never happens.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Payload length of the blocks that tests write.
const PAYLOAD: usize = 1_000;
/// Length of such a block.
const BLOCK: usize = HEADER_LEN + PAYLOAD;

/// Returns a block of one event whose number in its lane is `seq`.
fn block(seq: u32, payload: usize) -> [Vec<u8>; 2] {
    let payload = vec![seq as u8; payload];
    let len = payload.len() as u32;
    let header = Header {
        seq,
        events: 1,
        payload_len: len,
        unpacked_len: len,
        payload_crc: crc32c::crc32c(&payload),
        ..Header::new(BlockType::Events, 7)
    };
    [header.encode(crc32c::crc32c).to_vec(), payload]
}

/// Writes blocks with these numbers in one write, as the drain does. Returns the result of `begin`.
fn write(sink: &mut dyn Sink, seqs: impl IntoIterator<Item = u32>) -> io::Result<bool> {
    write_blocks(sink, &seqs.into_iter().map(|seq| block(seq, PAYLOAD)).collect::<Vec<_>>())
}

fn write_blocks(sink: &mut dyn Sink, blocks: &[[Vec<u8>; 2]]) -> io::Result<bool> {
    let blocks: Vec<[&[u8]; 2]> =
        blocks.iter().map(|[header, payload]| [&header[..], &payload[..]]).collect();
    let blocks = Batch { blocks: &blocks };
    let begins = sink.begin(blocks.byte_len())?;
    sink.write(&blocks)?;
    Ok(begins == Start::New)
}

/// Returns the numbers of the blocks of a stream, which must be whole.
#[track_caller]
fn seqs(mut stream: &[u8]) -> Vec<u32> {
    let mut seqs = Vec::new();
    while !stream.is_empty() {
        let header = Header::decode(stream, crc32c::crc32c).expect("a block");
        let len = header.block_len() as usize;
        let payload = stream.get(HEADER_LEN..len).expect("a whole block");
        assert_eq!(crc32c::crc32c(payload), header.payload_crc);
        seqs.push(header.seq);
        stream = &stream[len..];
    }
    seqs
}

/// Calls `get` until it returns something.
#[track_caller]
fn wait_for<T>(what: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(got) = get() {
            return got;
        }
        assert!(since.elapsed() < TIMEOUT, "no {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The variable with the name of the test for a child process, and a path for it.
const CHILD: &str = "TELEMETRY_TEST_CHILD";
const CHILD_PATH: &str = "TELEMETRY_TEST_PATH";

/// Runs `body` in a new process, which runs the calling test `test` again. There `body` gets the
/// path, and the process ends after it. Returns the output of that process to its parent.
fn child(test: &str, path: &Path, body: impl FnOnce(&Path)) -> Output {
    if std::env::var(CHILD).is_ok_and(|child| child == test) {
        body(Path::new(&std::env::var_os(CHILD_PATH).expect("a path")));
        std::process::exit(CHILD_DONE);
    }
    let mut command = Command::new(std::env::current_exe().expect("the path of this test"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    let output = command.env(CHILD, test).env(CHILD_PATH, path).output().expect("a process");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(CHILD_DONE), "{}: {text}", output.status);
    output
}

/// An exit status that no test has which ends by itself.
const CHILD_DONE: i32 = 42;
