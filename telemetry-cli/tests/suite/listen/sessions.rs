//! Each session is written to its own file.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use telemetry_format::Header;

use super::{Listening, PATIENCE, connect, file, send, session, wait_for_file};
use crate::run::Folder;
use crate::streams::{blocks, lossy};

#[test]
fn each_session_has_its_file() {
    let folder = Folder::new();
    let socket = folder.path("socket");
    let mut listening = Listening::new(
        &folder,
        &format!("tcp:127.0.0.1:0 unix:{} udp:127.0.0.1:0 -d streams/deep", socket.display()),
    );
    let (tcp, unix, both, udp) = (session(1), session(2), [session(3), lossy()].concat(), session(4));
    send(&listening.addresses[0], &tcp);
    send(&listening.addresses[1], &unix);
    // Blocks of two sessions, in turn.
    let mut mixed = blocks(&both);
    mixed.sort_by_key(|block| Header::decode(block, crc32c::crc32c).unwrap().seq);
    send(&listening.addresses[0], &mixed.concat());
    send(&listening.addresses[2], &udp);
    let dir = |name: &str| format!("streams/deep/{name:0>16}.tel");
    let read = |name: &str| std::fs::read(folder.path(&dir(name))).unwrap_or_default();
    let since = Instant::now();
    for (name, expected) in [("1", &tcp), ("2", &unix), ("4", &udp)] {
        while read(name) != *expected {
            assert!(since.elapsed() < PATIENCE, "session {name}: {} bytes", read(name).len());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    listening.wait_for("session 0000000000000003 goes to `streams/deep/0000000000000003.tel`");
    let run = listening.interrupt();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("received 5 sessions in 3 connections: "), "{}", run.stderr);
    assert!(run.stderr.contains("refused nothing"), "{}", run.stderr);
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("0000000000000001  in good order"), "{text}");
    assert!(text.contains("0000000000000077  not in good order"), "{text}");
    // Losses of a program are reported when its stream arrives, like by readers of the file.
    let lost =
        |text: &str| text.split(", ").find(|part| part.ends_with("lost in the program")).map(str::to_owned);
    let stats = folder.run(&format!("stats {}", dir("77")));
    assert!(lost(&stats.stderr).is_some(), "{}", stats.stderr);
    assert_eq!(lost(&run.stderr), lost(&stats.stderr));
    assert_eq!(read("3").len() + read("77").len(), both.len());
    assert!(!socket.exists());
    let print = folder.run(&format!("print {}", dir("3")));
    assert_eq!(print.code, Some(0), "{}", print.stderr);
}

/// Facts that are sent again are in the file once, even by another connection or run.
#[test]
fn a_session_goes_on_in_its_file() {
    let folder = Folder::new();
    let whole = session(5);
    let parts = blocks(&whole);
    let listening = Listening::new(&folder, "tcp:127.0.0.1:0");
    listening.send(&parts[..6].concat());
    wait_for_file(&folder, 5, &parts[..6].concat());
    // The first five are facts.
    listening.send(&[&parts[..5], &parts[6..9]].concat().concat());
    wait_for_file(&folder, 5, &parts[..9].concat());
    // A killed run leaves whole blocks, and the next run appends to them.
    listening.signal("-KILL");
    assert_eq!(listening.end().code, None);
    let listening = Listening::new(&folder, "tcp:127.0.0.1:0 --json --once");
    listening.send(&parts[9..].concat());
    let run = listening.end();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    wait_for_file(&folder, 5, &whole);
    let received: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(received["version"], 1);
    assert_eq!(received["sessions"][0]["blocks"], parts.len() as u64 - 9);
    assert_eq!(received["refused"]["damaged_bytes"], 0);
}

/// Blocks that a sender repeats after its connection broke are in the file once, and count once.
#[test]
fn blocks_that_are_sent_again_count_once() {
    let folder = Folder::new();
    let whole = session(5);
    let parts = blocks(&whole);
    let listening = Listening::new(&folder, "tcp:127.0.0.1:0 --json");
    listening.send(&parts[..9].concat());
    wait_for_file(&folder, 5, &parts[..9].concat());
    listening.send(&parts[5..].concat());
    wait_for_file(&folder, 5, &whole);
    // The whole stream once more.
    listening.send(&whole);
    let marker = session(6);
    listening.send(&marker);
    wait_for_file(&folder, 6, &marker);
    let run = listening.interrupt();
    let received: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let session = &received["sessions"][0];
    assert_eq!(session["events"], received["sessions"][1]["events"]);
    assert_eq!(session["blocks"], parts.len());
    assert_eq!(session["bytes"], whole.len());
    assert_eq!(file(&folder, 5), whole);
}

#[test]
fn it_stops_when_told() {
    let folder = Folder::new();
    let check = |args: &str, act: &dyn Fn(&Listening)| {
        let listening = Listening::new(&folder, args);
        act(&listening);
        let run = listening.end();
        assert_eq!(run.code, Some(0), "{args}: {}", run.stderr);
        run.stderr
    };
    let said = check("tcp:127.0.0.1:0 --for 0.2s", &|_| {});
    assert!(said.contains("received 0 sessions"), "{said}");
    let said = check("tcp:127.0.0.1:0 udp:127.0.0.1:0 --once", &|own| send(&own.addresses[0], &session(1)));
    assert!(said.contains("received 1 session in 1 connection"), "{said}");
    let said = check("udp:127.0.0.1:0 --once", &|own| send(&own.addresses[0], &session(2)));
    assert!(said.contains("received 1 session in 0 connections"), "{said}");
    // A silent connection does not delay the end, and its incomplete block is not reported as a
    // fault.
    let stream = session(3);
    let connection = std::cell::RefCell::new(None);
    let said = check("tcp:127.0.0.1:0", &|own| {
        let mut open = connect(&own.addresses[0]);
        open.write_all(&stream[..stream.len() - 10]).unwrap();
        connection.replace(Some(open));
        let all_but_one = stream.len() - blocks(&stream).last().unwrap().len();
        wait_for_file(&folder, 3, &stream[..all_but_one]);
        own.signal("-INT");
    });
    assert!(said.contains("refused nothing"), "{said}");
}

#[test]
fn a_unix_socket_is_taken_over_only_from_the_dead() {
    let folder = Folder::new().with("file", "text");
    let path = folder.path("socket");
    let address = format!("unix:{}", path.display());
    drop(UnixListener::bind(&path).unwrap());
    let listening = Listening::new(&folder, &address);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let second = folder.run(&format!("listen {address}"));
    assert_eq!(second.code, Some(2));
    assert!(second.stderr.contains("another program listens there"), "{}", second.stderr);
    listening.send(&session(1));
    wait_for_file(&folder, 1, &session(1));
    assert_eq!(listening.interrupt().code, Some(0));
    let other = folder.run(&format!("listen unix:{}", folder.path("file").display()));
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert_eq!(std::fs::read_to_string(folder.path("file")).unwrap(), "text");
}

#[test]
fn wrong_usage() {
    let folder = Folder::new().with("file", "");
    folder.check(
        "listen_wrong_usage",
        &[
            "listen",
            "listen 127.0.0.1:9000",
            "listen tcp:9000",
            "listen udp:127.0.0.1:99999",
            "listen unix:",
            "listen tcp:127.0.0.1:0 --max-block 17M",
            "listen tcp:127.0.0.1:0 --max-disk lots",
            "listen tcp:127.0.0.1:0 --max-rate 0",
            "listen tcp:127.0.0.1:0 --for 1",
            "listen tcp:127.0.0.1:0 --timeout 0s",
            "listen tcp:127.0.0.1:0 -d file",
            "listen unix:missing/socket",
            "listen tcp:192.0.2.1:9000",
        ],
    );
}
