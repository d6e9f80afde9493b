//! Slow, broken and hostile senders do not hurt others.

use std::io::Write;
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use telemetry_format::{HEADER_LEN, Header};

use super::{Listening, PATIENCE, block, connect, file, is_closed, promise, send, session, wait_for_file};
use crate::run::Folder;
use crate::streams::{blocks, with_header};

/// Each does something hostile or broken. Afterwards an honest sender is still served.
#[test]
fn hostile_senders_do_not_hurt_others() {
    let folder = Folder::new();
    let mut listening =
        Listening::new(&folder, "tcp:127.0.0.1:0 --timeout 2s --max-connections 8 --max-block 1M");
    let mut id = 100;
    let mut check = |listening: &mut Listening, what: &str, bytes: &[u8], expected: &str| {
        let mut connection = connect(&listening.addresses[0]);
        // The other side may close it while we send.
        let _ = connection.write_all(bytes);
        if expected.contains("closed") {
            assert!(is_closed(&mut connection), "{what}");
        }
        drop(connection);
        listening.wait_for(expected);
        id += 1;
        listening.send(&session(id));
        wait_for_file(&folder, id, &session(id));
    };
    let good = session(1);
    let mut flipped = good.clone();
    flipped[HEADER_LEN + 5] ^= 1;
    let header = |change: fn(&mut Header)| with_header(&good, 0, change);
    let damaged = "are damaged: ";
    // The reason is its bytes, or on a busy machine the time that it takes.
    let closed = "the connection is closed: ";
    check(&mut listening, "nothing", &[], "is closed: no whole block arrived in time");
    check(&mut listening, "text", b"GET / HTTP/1.1\r\n\r\n", "is closed: no whole block arrived in time");
    check(&mut listening, "garbage", &vec![0x89; 24 << 20], closed);
    check(&mut listening, "magic numbers", &telemetry_format::MAGIC.repeat(3 << 20), closed);
    check(&mut listening, "garbage first", &[&[7; 5_000], &good[..]].concat(), damaged);
    check(&mut listening, "a flipped bit", &flipped, damaged);
    check(&mut listening, "half a block", &good[..good.len() - 10], damaged);
    check(&mut listening, "a promise", &promise(1_000_000), "is closed: no whole block arrived in time");
    check(&mut listening, "a long block", &block(9, 2 << 20), "beyond --max-block");
    check(&mut listening, "the longest block", &promise(16 << 20), "beyond --max-block");
    check(&mut listening, "4 GiB", &header(|header| header.payload_len = u32::MAX), "beyond --max-block");
    check(&mut listening, "a wrong length", &header(|header| header.payload_len += 1), damaged);
    check(&mut listening, "promises in promises", &promise(900_000).repeat(7_000), damaged);
    // Complete blocks in them were stored, and are readable.
    assert_eq!(folder.run("print 0000000000000001.tel").code, Some(0));
    let status = std::fs::read_to_string(format!("/proc/{}/status", listening.child.id())).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_owned();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 100_000, "{peak} KiB");
    let run = listening.interrupt();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("bytes outside whole blocks"), "{}", run.stderr);
}

/// Connections that send a byte from time to time do not keep a place for long. Those beyond the
/// limit get none.
#[test]
fn slow_senders_are_closed() {
    let folder = Folder::new();
    let listening = Listening::new(&folder, "tcp:127.0.0.1:0 --timeout 1.5s --max-connections 4");
    let stream = session(6);
    // A connection that has sent a whole block may be silent.
    let mut honest = connect(&listening.addresses[0]);
    let first = blocks(&stream)[0].len();
    honest.write_all(&stream[..first]).unwrap();
    wait_for_file(&folder, 6, &stream[..first]);
    let slow: Vec<_> = (0..3)
        .map(|number| {
            let address = listening.addresses[0].clone();
            let stream = stream.clone();
            std::thread::spawn(move || {
                let mut slow = connect(&address);
                let start = if number == 0 { 0 } else { first };
                // Some begin with a whole block.
                let _ = slow.write_all(&stream[..start]);
                let rest = stream[start..].iter().take(300);
                rest.take_while(|byte| {
                    std::thread::sleep(Duration::from_millis(50));
                    slow.write_all(&[**byte]).is_ok()
                })
                .count()
            })
        })
        .collect();
    let since = Instant::now();
    while !is_closed(connect(&listening.addresses[0])) {
        assert!(since.elapsed() < PATIENCE);
    }
    for slow in slow {
        let sent = slow.join().unwrap();
        assert!(sent < 250, "{sent} bytes one by one");
    }
    honest.write_all(&stream[first..]).unwrap();
    wait_for_file(&folder, 6, &stream);
    let run = listening.interrupt();
    // On a busy machine one of them is idle by then, and the next one replaces it.
    let refused = ["refused, beyond --max-connections 4", "it was idle, and other connections wait"];
    assert!(refused.iter().any(|text| run.stderr.contains(text)), "{}", run.stderr);
}

/// Connections that send nothing, or one block and then nothing, do not lock others out for long.
#[test]
fn idle_connections_make_room() {
    let folder = Folder::new();
    for (timeout, start) in [("3600", Vec::new()), ("2", block(8, 10))] {
        let mut listening =
            Listening::new(&folder, &format!("tcp:127.0.0.1:0 --max-connections 3 --timeout {timeout}s"));
        let idle: Vec<_> = (0..3)
            .map(|_| {
                let mut idle = connect(&listening.addresses[0]);
                idle.write_all(&start).unwrap();
                idle
            })
            .collect();
        let since = Instant::now();
        let mut connection = connect(&listening.addresses[0]);
        while connection.write_all(&session(7)).is_err() || file(&folder, 7).len() < session(7).len() {
            assert!(since.elapsed() < PATIENCE, "an honest sender is still refused");
            std::thread::sleep(Duration::from_millis(50));
            connection = connect(&listening.addresses[0]);
        }
        listening.wait_for("is closed: it was idle, and other connections wait");
        let run = listening.interrupt();
        assert!(run.stderr.contains("idle while others waited"), "{}", run.stderr);
        drop(idle);
        std::fs::remove_file(folder.path("0000000000000007.tel")).unwrap();
    }
}

/// Links that others make in a shared directory are not followed, and their targets stay as they
/// were.
#[test]
fn planted_links_are_not_followed() {
    let folder = Folder::new().with("victim", "precious");
    let victim = || std::fs::read_to_string(folder.path("victim")).unwrap();
    let link = |name: &str| std::os::unix::fs::symlink(folder.path("victim"), folder.path(name)).unwrap();
    // The names that a process might use depend on its number. This process waits until links for
    // its number exist, and then becomes the command.
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_telemetry");
    let script = format!("read go; exec '{program}' listen tcp:127.0.0.1:0 -d . --for 100ms");
    command.args(["-c", &script]).current_dir(folder.path("."));
    let mut waiting = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    link(&format!(".telemetry-listen.{}.tmp", waiting.id()));
    waiting.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(waiting.wait().unwrap().success());
    assert_eq!(victim(), "precious");
    // The file of a session is a link of either type, or a pipe.
    link(&format!("{:016x}.tel", 1));
    std::fs::hard_link(folder.path("victim"), folder.path(&format!("{:016x}.tel", 2))).unwrap();
    let pipe = folder.path(&format!("{:016x}.tel", 3));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink(folder.path("nowhere"), folder.path(&format!("{:016x}.tel", 4))).unwrap();
    let mut listening = Listening::new(&folder, "tcp:127.0.0.1:0");
    let expected = [(1, "regular file"), (2, "has 2 names"), (3, "regular file"), (4, "regular file")];
    for (id, expected) in expected {
        listening.send(&session(id));
        let line = listening.wait_for(&format!("{id:016x}.tel`: it "));
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!(listening.interrupt().code, Some(1));
    assert_eq!(victim(), "precious");
    assert!(!folder.path("nowhere").exists());
}

#[test]
fn disk_and_sessions_are_limited() {
    let folder = Folder::new();
    let count = || std::fs::read_dir(folder.path("")).unwrap().count();
    let bytes = || {
        let entries = std::fs::read_dir(folder.path("")).unwrap();
        entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    let run_with = |args: &str, sent: &[u8]| {
        let listening = Listening::new(&folder, &format!("tcp:127.0.0.1:0 --once {args}"));
        listening.send(sent);
        let run = listening.end();
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        run.stderr
    };
    let many: Vec<_> = (1..=40).map(session).collect();
    let said = run_with("--max-sessions 3", &many.concat());
    assert_eq!(count(), 3);
    assert_eq!(file(&folder, 3), many[2]);
    assert_eq!(said.matches("a session is refused, beyond --max-sessions 3").count(), 1, "{said}");

    // Existing files count.
    let there = bytes();
    let said = run_with(&format!("--max-disk {}", there + 10_000), &block(7, 500).repeat(100));
    assert_eq!(
        said.matches("a block of 644 bytes is refused: the files have --max-disk").count(),
        1,
        "{said}"
    );
    assert!(said.contains("85 blocks beyond --max-disk"), "{said}");
    assert_eq!(bytes(), there + 15 * 644);
    let said = run_with("--max-disk 1k", &session(3));
    assert!(said.contains("received 0 sessions"), "{said}");
    assert_eq!(file(&folder, 3), many[2]);
}

/// A disk that takes half a block.
#[test]
fn a_full_disk_leaves_whole_blocks() {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    let listen = format!("{} listen tcp:127.0.0.1:0 --once", env!("CARGO_BIN_EXE_telemetry"));
    // The shell's unit is 512 bytes or 1 KiB.
    command.args(["-c", &format!("trap '' XFSZ; ulimit -f 8; exec {listen}")]).current_dir(folder.path(""));
    let listening = Listening::start(&mut command, "tcp:127.0.0.1:0");
    listening.send(&block(8, 1_000).repeat(20));
    let run = listening.end();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("0000000000000008.tel`: File too large"), "{}", run.stderr);
    let whole = file(&folder, 8);
    assert!(whole.len() > 3_000 && whole.len().is_multiple_of(1_144), "{}", whole.len());
    assert!(blocks(&whole).len() < 20);
}

/// More files than may be open at a time, each written twice.
#[test]
fn many_sessions_share_few_open_files() {
    let folder = Folder::new();
    let listening = Listening::new(&folder, "tcp:127.0.0.1:0 --once");
    let streams: Vec<_> = (1..=150).map(session).collect();
    let cut: Vec<_> = streams.iter().map(|stream| blocks(stream)[..8].concat().len()).collect();
    let first = streams.iter().zip(&cut).flat_map(|(stream, cut)| &stream[..*cut]);
    let second = streams.iter().zip(&cut).flat_map(|(stream, cut)| &stream[*cut..]);
    listening.send(&first.chain(second).copied().collect::<Vec<_>>());
    let run = listening.end();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for (index, stream) in streams.iter().enumerate() {
        assert_eq!(file(&folder, index as u64 + 1), *stream, "{index}");
    }
}

#[test]
fn the_rate_is_limited() {
    let folder = Folder::new();
    let mut listening = Listening::new(&folder, "tcp:127.0.0.1:0 udp:127.0.0.1:0 --max-rate 300k");
    let many = block(11, 10_000).repeat(90);
    let since = Instant::now();
    listening.send(&many);
    wait_for_file(&folder, 11, &many);
    assert!(since.elapsed() > Duration::from_millis(700), "{:?}", since.elapsed());
    // A sender of datagrams cannot be made to wait.
    let udp = listening.addresses[1].clone();
    let sent = std::thread::spawn(move || {
        for _ in 0..100 {
            send(&udp, &block(12, 40_000));
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    listening.wait_for("a datagram is refused, beyond --max-rate");
    sent.join().unwrap();
    let run = listening.interrupt();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let got = blocks(&file(&folder, 12)).len();
    assert!((5..100).contains(&got), "{got}");
}

#[test]
fn damaged_datagrams_are_refused() {
    let folder = Folder::new();
    let mut listening = Listening::new(&folder, "udp:127.0.0.1:0");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let peer = listening.addresses[0].strip_prefix("udp:").unwrap().to_owned();
    let good = block(13, 100);
    for (bytes, expected) in [
        (&b"hello"[..], "are damaged"),
        (&good[..200], "are damaged: "),
        (&promise(16 << 20), "beyond --max-block"),
        (&good, "session 000000000000000d goes to"),
    ] {
        socket.send_to(bytes, &peer).unwrap();
        listening.wait_for(expected);
    }
    // Two blocks in one datagram, and an empty one.
    socket.send_to(&[], &peer).unwrap();
    socket.send_to(&good.repeat(2), &peer).unwrap();
    wait_for_file(&folder, 13, &good.repeat(3));
    assert_eq!(listening.interrupt().code, Some(1));
}
