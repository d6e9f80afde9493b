//! Connections and datagrams.

use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use telemetry_format::Grouped;

use super::{BLOCK, TIMEOUT, block, seqs, wait_for, write, write_blocks};
use crate::sinks::sink::Sink;
use crate::sinks::{Datagram, Socket};

/// Reads this number of blocks.
fn read(from: &mut impl Read, blocks: usize) -> Vec<u32> {
    let mut bytes = vec![0; blocks * BLOCK];
    from.read_exact(&mut bytes).expect("a connection");
    seqs(&bytes)
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().expect("a connection");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a connection");
    stream
}

/// Connects, loses the connection, connects again: each connection starts over, at a whole block.
fn check_reconnects(mut sink: Socket, mut accept: impl FnMut() -> Box<dyn Read>) {
    for round in [10, 20, 30] {
        assert!(write(&mut sink, [round]).expect("room"), "{round}");
        wait_for("connection", || sink.flush().ok());
        let mut peer = accept();
        assert!(!write(&mut sink, [round + 1, round + 2]).expect("a connection"));
        wait_for("sending", || sink.flush().ok());
        assert_eq!(read(&mut peer, 3), [round, round + 1, round + 2]);
        drop(peer);
        // TCP reports only at the second write that a peer is gone.
        let error = wait_for("error", || write(&mut sink, [99]).err());
        let expected = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted];
        assert!(expected.contains(&error.kind()), "{error}");
    }
    assert!(!sink.is_closed());
}

#[test]
fn a_tcp_connection_is_made_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    check_reconnects(Socket::tcp(address.to_string()), || Box::new(accept(&listener)));
}

#[test]
fn a_unix_connection_is_made_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    check_reconnects(Socket::unix(&path), || Box::new(listener.accept().expect("a connection").0));
}

/// A peer that comes late gets what was kept for it, from the beginning, and nothing that was
/// refused.
#[test]
fn a_late_peer_gets_what_was_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("socket");
    let mut sink = Socket::unix(&path).backlog(3 * BLOCK);
    assert!(write(&mut sink, [1]).expect("room"));
    let error = sink.flush().expect_err("no listener");
    assert_eq!(error.kind(), ErrorKind::NotConnected);
    let [one, three] = [BLOCK, 3 * BLOCK].map(|bytes| Grouped::from(bytes as u64));
    let expected = format!("{one} bytes wait for a reader, at most {three}");
    assert!(error.to_string().ends_with(&expected), "{error}");
    assert!(!write(&mut sink, [2, 3]).expect("room"));
    assert_eq!(write(&mut sink, [4]).expect_err("no room").kind(), ErrorKind::NotConnected);
    let listener = UnixListener::bind(&path).expect("a socket");
    wait_for("connection", || sink.flush().ok());
    assert!(!write(&mut sink, [5]).expect("a connection"));
    assert_eq!(read(&mut listener.accept().expect("a connection").0, 4), [1, 2, 3, 5]);
    assert_eq!((sink.unsent(), sink.forgotten()), (0, 0));
}

/// A peer that comes at the very end gets it too, after ever rarer attempts.
#[test]
fn a_peer_of_the_last_moment() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("socket");
    let mut sink = Socket::unix(&path);
    write(&mut sink, [1]).expect("room");
    sink.flush().expect_err("no listener");
    let listener = UnixListener::bind(&path).expect("a socket");
    drop(sink);
    assert_eq!(read(&mut listener.accept().expect("a connection").0, 1), [1]);
}

/// If a connection breaks, the blocks that wait are counted, with the one that is half-sent.
#[test]
fn what_a_broken_connection_costs_is_counted() {
    let (ours, theirs) = UnixStream::pair().expect("a connection");
    let mut sink = Socket::from_unix(ours).expect("a connection");
    (0..40).for_each(|seq| _ = write_blocks(&mut sink, &[block(seq, 60_000)]).expect("room"));
    // The system's buffer has some.
    let unsent = sink.unsent();
    assert!((30..40).contains(&unsent), "{unsent}");
    drop(theirs);
    wait_for("error", || sink.flush().err().filter(|error| error.kind() != ErrorKind::WouldBlock));
    assert_eq!((sink.forgotten(), sink.forgotten(), sink.unsent()), (unsent, 0, 0));
}

/// A peer that takes nothing costs some milliseconds, and then blocks are refused. When it
/// continues, it gets whole blocks, and none of the refused ones.
#[test]
fn a_peer_that_takes_nothing_hinders_no_other() {
    let (ours, mut theirs) = UnixStream::pair().expect("a connection");
    let mut sink = Socket::from_unix(ours).expect("a connection");
    let (mut taken, mut refused) = (Vec::new(), 0);
    let since = Instant::now();
    for seq in 0..300 {
        match write_blocks(&mut sink, &[block(seq, 60_000)]) {
            Ok(_) => taken.push(seq),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                refused += 1;
            }
        }
    }
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert!(taken.len() > 60 && refused > 60, "{} {refused}", taken.len());
    assert!(!sink.is_closed());
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).expect("a connection");
        seqs(&bytes)
    });
    wait_for("room", || sink.flush().ok());
    drop(sink);
    assert_eq!(reader.join().expect("a reader"), taken);
}

/// The end waits for a peer that continues to read, and not for one that does not.
#[test]
fn the_end_is_bounded() {
    let (ours, theirs) = UnixStream::pair().expect("a connection");
    let mut sink = Socket::from_unix(ours).expect("a connection");
    write_blocks(&mut sink, &[block(0, 3 << 20)]).expect("room");
    let since = Instant::now();
    drop(sink);
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    drop(theirs);
}

#[test]
fn a_given_connection_is_gone_with_its_peer() {
    let (ours, theirs) = UnixStream::pair().expect("a connection");
    let mut sink = Socket::from_unix(ours).expect("a connection");
    assert!(write(&mut sink, [1]).expect("a peer"));
    assert!(!sink.is_closed());
    drop(theirs);
    assert!(sink.is_closed());
    assert_eq!(write(&mut sink, [2]).expect_err("no peer").kind(), ErrorKind::BrokenPipe);
    assert_eq!(write(&mut sink, [2]).expect_err("no peer").kind(), ErrorKind::NotConnected);
    assert!(sink.is_closed());
}

/// The parent sends what waits, and owns the connection.
#[test]
fn a_child_sends_nothing_of_its_parent() {
    let (ours, mut theirs) = UnixStream::pair().expect("a connection");
    let mut sink = Socket::from_unix(ours).expect("a connection");
    write_blocks(&mut sink, &[block(0, 3 << 20)]).expect("room");
    theirs.set_nonblocking(true).expect("a connection");
    let mut sent = 0;
    let mut buffer = vec![0; 1 << 20];
    let mut drain = || {
        while let Ok(n @ 1..) = theirs.read(&mut buffer) {
            sent += n;
        }
        sent
    };
    let before = drain();
    assert!(sink.after_fork() && sink.is_closed());
    assert_eq!(drain(), before);
    drop(sink);
    assert_eq!(drain(), before);
}

#[test]
fn each_datagram_is_a_block() {
    let listener = UdpSocket::bind("127.0.0.1:0").expect("a port");
    listener.set_read_timeout(Some(TIMEOUT)).expect("a socket");
    let mut sink = Datagram::udp(listener.local_addr().expect("an address").to_string());
    let mut buffer = vec![0; 1 << 16];
    let mut receive = || {
        let len = listener.recv(&mut buffer).expect("a datagram");
        seqs(&buffer[..len])
    };
    assert!(write(&mut sink, [1, 2, 3]).expect("a listener"));
    assert_eq!([receive(), receive(), receive()], [[1], [2], [3]]);
    let longest = sink.max_block() - telemetry_format::HEADER_LEN;
    write_blocks(&mut sink, &[block(4, longest)]).expect("a listener");
    assert_eq!(receive(), [4]);
    assert!(write_blocks(&mut sink, &[block(5, longest + 1)]).is_err());
    // Sent again, since datagrams get lost.
    assert!(!write(&mut sink, [6]).expect("a listener"));
    wait_for("reminder", || write(&mut sink, [7]).expect("a listener").then_some(()));
    assert!(!write(&mut sink, [8]).expect("a listener"));
}

#[test]
fn datagrams_without_a_receiver() {
    let address = UdpSocket::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("a port");
    let mut sink = Datagram::udp(address.to_string());
    let error = wait_for("error", || write(&mut sink, [1]).err());
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}
