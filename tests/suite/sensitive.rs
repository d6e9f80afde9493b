//! Kinds with sensitive parameters do not leave the host, unless that is allowed. How many events
//! a reader does not get is exact.

use std::io::{ErrorKind, Read};
use std::net::{TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telemetry_decode::{Completeness, Reader};

use crate::support::ledger::Ledger;
use crate::support::process::{Numbers, Outcome, Process, SetOnDrop, child};
use crate::{private, shop};

/// A text that only a sensitive parameter of a kind that stays has.
const SECRET: &str = "Lovelace-Quux";
/// A text of a kind that may leave the host.
const SHARED: &str = "Shared-Quux";
/// A label that no sensitive parameter refers to.
const LABEL: &str = "Label-Quux";
const THREADS: u64 = 3;
const ROUNDS: u64 = 2_000;
/// Nothing here takes longer, unless it hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Emits on threads, and returns what the counters say after a flush.
fn emit() -> Numbers {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let label = telemetry::intern(LABEL);
                for number in 0..ROUNDS {
                    private::login!(number, SECRET);
                    private::logout!(number);
                    private::tick!(number, label);
                    private::comment!(SHARED);
                    if number % 512 == 0 {
                        telemetry::flush();
                    }
                }
            });
        }
    });
    numbers()
}

fn numbers() -> Numbers {
    telemetry::flush();
    let total = telemetry::counters::total();
    vec![
        ("emitted", total.emitted()),
        ("written", total.written),
        ("retained", total.retained),
        ("evicted", total.evicted),
        ("pool", total.lost_pool),
        ("sink", total.lost_sink),
    ]
}

/// What a test found at the other end.
struct Received {
    run: Outcome,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Received {
    fn has(&self, text: &str) -> bool {
        self.bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }

    fn ledger(&self) -> Ledger {
        Ledger::of(&self.path)
    }

    fn completeness(&self) -> Completeness {
        let mut events =
            Reader::open(&self.path).expect("a stream").show_sensitive(true).events().expect("a stream");
        while events.next().expect("a readable stream").is_some() {}
        events.completeness()
    }

    /// Checks that what is not here is exactly what stays on the host.
    fn check_withheld(&self) {
        assert!(!self.has(SECRET));
        assert!(self.has(SHARED) && self.has(LABEL));
        let events = THREADS * ROUNDS;
        let ledger = self.ledger();
        assert_eq!((ledger.covered, ledger.excluded), (2 * events, 2 * events), "{ledger:?}");
        assert_eq!(ledger.lost.events(), 0);
        assert_eq!(ledger.given, ledger.covered + ledger.own, "{ledger:?}");
        let completeness = self.completeness();
        assert!(completeness.is_complete(), "{completeness}");
        assert_eq!(completeness.excluded(), 2 * events);
        // By lane: all events of one kind, and none of the others.
        let excluded = completeness.lanes.iter().filter(|lane| lane.excluded > 0);
        assert!(excluded.map(|lane| (lane.kind, lane.excluded)).eq([(0, 2 * ROUNDS); THREADS as usize]));
    }

    /// Checks that nothing is missing.
    fn check_whole(&self) {
        assert!(self.has(SECRET) && self.has(SHARED));
        let ledger = self.ledger();
        assert_eq!((ledger.covered, ledger.excluded), (4 * THREADS * ROUNDS, 0), "{ledger:?}");
    }
}

/// Runs a program, and returns what it sends to a TCP socket.
fn by_tcp(test: &str, setup: impl Fn(Process) -> Process, body: impl Fn() -> Numbers) -> Received {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("tcp:{}", listener.local_addr().expect("an address"));
    let over = AtomicBool::new(false);
    let (run, bytes) = std::thread::scope(|scope| {
        let bytes = scope.spawn(|| accepted(&listener, &over));
        let run = child(test, |process| setup(process.env("TELEMETRY_FILENAME", &address)), body);
        over.store(true, Ordering::Release);
        (run, bytes.join().expect("a stream"))
    });
    received(run, bytes)
}

fn received(run: Outcome, bytes: Vec<u8>) -> Received {
    let path = run.dir().join("received.tel");
    std::fs::write(&path, &bytes).expect("a file in the temporary directory");
    Received { run, path, bytes }
}

/// Reads the only connection to its end. Gives up when the program is over without one.
fn accepted(listener: &TcpListener, over: &AtomicBool) -> Vec<u8> {
    listener.set_nonblocking(true).expect("a socket");
    let since = Instant::now();
    let mut stream = loop {
        let was_over = over.load(Ordering::Acquire);
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock && !was_over => {
                assert!(since.elapsed() < TIMEOUT, "no connection");
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("no connection: {error}"),
        }
    };
    stream.set_nonblocking(false).expect("a connection");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a connection");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("a stream that ends");
    bytes
}

/// Runs a program, and returns the datagrams that it sends.
fn by_udp(test: &str) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = format!("udp:{}", socket.local_addr().expect("an address"));
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let bytes = scope.spawn(|| {
            let (mut bytes, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
            loop {
                let was_over = over.load(Ordering::Acquire);
                match socket.recv(&mut buffer) {
                    Ok(len) => bytes.extend_from_slice(&buffer[..len]),
                    Err(_) if was_over => return bytes,
                    Err(_) => {}
                }
            }
        });
        let is_over = SetOnDrop(&over);
        child(test, |process| process.env("TELEMETRY_FILENAME", &address), emit);
        drop(is_over);
        bytes.join().expect("datagrams")
    })
}

#[test]
fn a_connection_does_not_get_what_is_personal() {
    let test = "sensitive::a_connection_does_not_get_what_is_personal";
    let received = by_tcp(test, |process| process, emit);
    received.check_withheld();
    let events = THREADS * ROUNDS;
    let number = |name| received.run.number(name);
    assert_eq!((number("emitted"), number("written")), (4 * events, 2 * events));
    // The last ones are in open blocks.
    assert_eq!(number("evicted") + number("retained"), 2 * events);
    assert_eq!((number("pool"), number("sink")), (0, 0));
}

#[test]
fn datagrams_do_not_have_what_is_personal() {
    let bytes = by_udp("sensitive::datagrams_do_not_have_what_is_personal");
    let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!has(SECRET) && has(SHARED));
}

#[test]
fn the_user_allows_it() {
    let test = "sensitive::the_user_allows_it";
    let allow = |process: Process| process.env("TELEMETRY_SENSITIVE", "allow");
    by_tcp(test, allow, emit).check_whole();
}

#[test]
fn the_program_allows_it() {
    let body = || {
        telemetry::Config::new().send_sensitive(true).start().expect("the first call");
        emit()
    };
    by_tcp("sensitive::the_program_allows_it", |process| process, body).check_whole();
}

#[test]
fn the_user_overrides_the_program() {
    let test = "sensitive::the_user_overrides_the_program";
    let refuse = |process: Process| process.env("TELEMETRY_SENSITIVE", "refuse");
    let body = || {
        telemetry::Config::new().send_sensitive(true).start().expect("the first call");
        emit()
    };
    by_tcp(test, refuse, body).check_withheld();
}

/// What does not go to one sink goes to the other.
#[test]
fn a_file_beside_the_connection_gets_everything() {
    let body = || {
        telemetry::sinks::add(telemetry::sinks::File::new("stream.tel")).expect("a sink");
        emit()
    };
    let test = "sensitive::a_file_beside_the_connection_gets_everything";
    let both = by_tcp(test, |process| process, body);
    both.check_withheld();
    let events = 4 * THREADS * ROUNDS;
    assert_eq!((both.run.number("written"), both.run.number("evicted")), (events, 0));
    let file =
        Received { bytes: std::fs::read(both.run.path()).expect("a file"), path: both.run.path(), ..both };
    file.check_whole();
}

/// Losses of a lane that is withheld are stated beside what is excluded.
#[test]
fn losses_stay_exact_in_a_pool_far_too_small() {
    let test = "sensitive::losses_stay_exact_in_a_pool_far_too_small";
    let small = |process: Process| process.env("TELEMETRY_BUFFER", "64k");
    let received = by_tcp(test, small, || {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..20 * ROUNDS).for_each(|number| private::login!(number, SECRET)));
            }
        });
        numbers()
    });
    assert!(!received.has(SECRET));
    let ledger = received.ledger();
    let number = |name| received.run.number(name);
    assert!(number("pool") > 0, "a pool that is too small loses something");
    assert_eq!((ledger.covered, ledger.lost.pool), (0, number("pool")), "{ledger:?}");
    assert_eq!(ledger.emitted(), 20 * THREADS * ROUNDS, "{ledger:?}");
    assert_eq!(number("emitted"), 20 * THREADS * ROUNDS);
}

/// Where sensitive parameters stand for labels, no string of a label leaves the host.
#[test]
fn labels_stay_with_the_kinds_that_refer_to_them() {
    const LABELS: u64 = 500;
    let test = "sensitive::labels_stay_with_the_kinds_that_refer_to_them";
    let body = || {
        for number in 0..LABELS {
            let town = telemetry::intern(&format!("Town-Quux-{number}"));
            shop::visit_start!(number as u32, SECRET, town, town, shop::Plan::Gold);
            private::tick!(number, town);
            if number % 100 == 0 {
                telemetry::flush();
            }
        }
        numbers()
    };
    let received = by_tcp(test, |process| process, body);
    assert!(!received.has(SECRET) && !received.has("Town-Quux"));
    let ledger = received.ledger();
    assert_eq!((ledger.covered, ledger.excluded), (LABELS, LABELS), "{ledger:?}");
    let completeness = received.completeness();
    assert!(completeness.is_complete(), "{completeness}");
    // The events that give labels their strings count, too.
    assert_eq!(completeness.excluded(), 2 * LABELS, "{completeness}");
}

/// Each connection is a stream of its own, whose reader learns what it does not get.
#[test]
fn a_second_connection_states_what_is_withheld() {
    let test = "sensitive::a_second_connection_states_what_is_withheld";
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("tcp:{}", listener.local_addr().expect("an address"));
    let over = AtomicBool::new(false);
    let (run, bytes) = std::thread::scope(|scope| {
        let bytes = scope.spawn(|| {
            // The first connection breaks after its first bytes.
            listener.set_nonblocking(true).expect("a socket");
            let since = Instant::now();
            let first = loop {
                match listener.accept() {
                    Ok((stream, _)) => break stream,
                    Err(_) => assert!(since.elapsed() < TIMEOUT, "no connection"),
                }
                std::thread::sleep(Duration::from_millis(2));
            };
            first.set_nonblocking(false).expect("a connection");
            first.set_read_timeout(Some(TIMEOUT)).expect("a connection");
            (&first).read_exact(&mut [0; 64]).expect("a stream");
            drop(first);
            accepted(&listener, &over)
        });
        let body = || {
            private::login!(1, SECRET);
            private::logout!(1);
            telemetry::flush();
            // The lane above is quiet from now on. This one notices that the connection is gone.
            let since = Instant::now();
            let mut number = 0;
            // On a busy machine, the first failure is that there is no connection yet.
            let is_lost = || {
                let failure = telemetry::counters::by_sink().swap_remove(0).failure;
                failure.is_some_and(|text| !text.starts_with("not connected yet"))
            };
            while !is_lost() && since.elapsed() < TIMEOUT {
                private::tick!(number, telemetry::intern(LABEL));
                telemetry::flush();
                number += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            std::thread::sleep(Duration::from_millis(300));
            private::tick!(number, telemetry::intern(LABEL));
            numbers()
        };
        let run = child(test, |process| process.env("TELEMETRY_FILENAME", &address), body);
        over.store(true, Ordering::Release);
        (run, bytes.join().expect("a stream"))
    });
    let received = received(run, bytes);
    assert!(!received.has(SECRET));
    // The first connection may have got the first events of the other lane.
    assert_eq!(received.completeness().excluded(), 2);
}
