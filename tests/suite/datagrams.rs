//! Streams as datagrams, some of which are lost, duplicated or reordered.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::{Completeness, Order, Reader};
use telemetry_format::BlockType;

use crate::support::process::{Numbers, child};
use crate::work;

const THREADS: u64 = 3;
const EVENTS: u64 = 400;

/// Emits slowly, and has each event sent at once.
fn emit() -> Numbers {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in 0..EVENTS {
                    work::alloc!(number, thread, number, 1);
                    work::fix!(number, thread, number, 1);
                    if number % 7 == thread {
                        telemetry::flush();
                    }
                }
            });
        }
    });
    vec![("emitted", 2 * THREADS * EVENTS)]
}

/// The datagrams of a program, in order of arrival. On a busy machine the system may lose some:
/// then another program runs.
fn datagrams(test: &str) -> Vec<Vec<u8>> {
    let is_whole = |datagrams: &Vec<Vec<u8>>| {
        let (events, completeness) = read(datagrams, Order::Time);
        events == 2 * THREADS * EVENTS && completeness.is_complete()
    };
    let sent = (0..20).map(|_| send(test)).find(is_whole);
    sent.expect("a program all of whose datagrams come")
}

fn send(test: &str) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket with a time limit");
    let address = format!("udp:{}", socket.local_addr().expect("an address"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut datagrams, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
            loop {
                // The program's end is known before the last look.
                let was_over = is_over.load(Ordering::Acquire);
                match socket.recv(&mut buffer) {
                    Ok(len) => datagrams.push(buffer[..len].to_vec()),
                    Err(_) if was_over => return datagrams,
                    Err(_) => {}
                }
            }
        });
        child(test, |process| process.env("TELEMETRY_FILENAME", &address), emit);
        is_over.store(true, Ordering::Release);
        receiver.join().expect("datagrams")
    })
}

/// Pseudorandom numbers, always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Reads the datagrams, and checks what the reader reports about the missing ones. Returns how many
/// of the program's events were read.
fn read(datagrams: &[Vec<u8>], order: Order) -> (u64, Completeness) {
    let stream = datagrams.concat();
    let mut events = Reader::from_slice(&stream).order(order).events().expect("a stream");
    let (mut count, mut last) = (0, 0);
    while let Some(event) = events.next().expect("a readable stream") {
        assert!(order == Order::Stream || last <= event.time_ns(), "{} ns after {last} ns", event.time_ns());
        last = event.time_ns();
        count += u64::from(event.registry().name == "work");
    }
    let completeness = events.completeness();
    check(&completeness);
    (count, completeness)
}

/// No gap ends before it begins.
fn check(completeness: &Completeness) {
    for lane in &completeness.lanes {
        let absent: u64 = lane.gaps.iter().map(|gap| gap.absent).sum();
        assert_eq!(absent, lane.missing, "{lane:?}");
        let mut from = 0;
        for gap in &lane.gaps {
            assert!(from <= gap.from_ticks && gap.from_ticks <= gap.until_ticks, "{lane:#?}");
            from = gap.from_ticks;
        }
    }
}

/// The program's events in the datagrams, each counted once.
fn arrived(datagrams: &[Vec<u8>]) -> usize {
    let mut numbers = BTreeSet::new();
    for datagram in datagrams {
        let mut blocks = Blocks::new(&**datagram);
        let Ok(Some(Piece::Block(block))) = blocks.next() else { panic!("no block") };
        let header = block.header;
        if header.block_type == BlockType::Events {
            let lane = (header.thread, header.registry, header.kind);
            numbers.extend((0..u64::from(header.events)).map(|number| (lane, header.before + number)));
        }
    }
    numbers.len()
}

/// Some datagrams are missing: `info` knows exactly which events are missing, and when. Readers
/// return the events that do not depend on missing ones, and count the rest.
#[test]
fn some_are_lost() {
    let all = datagrams("datagrams::some_are_lost");
    let total = arrived(&all) as u64;
    for seed in 0..20 {
        let mut random = Random(seed);
        let kept: Vec<_> = all.iter().filter(|_| random.below(8) > 0).cloned().collect();
        let index = Reader::from_slice(&kept.concat()).index().expect("a stream").completeness;
        check(&index);
        let unaccounted = |completeness: &Completeness| {
            completeness.unaccounted.iter().map(|(_, events)| events).sum::<u64>()
        };
        let is_told = kept.last() == all.last();
        let arrived = arrived(&kept) as u64;
        assert_eq!(index.events, arrived, "seed {seed}");
        if is_told {
            assert_eq!(index.missing(), total - arrived, "seed {seed}, {} unaccounted", unaccounted(&index));
        }
        for order in [Order::Time, Order::Stream] {
            let (_, completeness) = read(&kept, order);
            assert!(completeness.events <= arrived, "seed {seed}, {order:?}");
            if is_told {
                assert_eq!(completeness.events + completeness.missing(), total, "seed {seed}, {order:?}");
            }
        }
    }
}

/// In another order, and some twice: all events are read by time.
#[test]
fn some_come_late_and_twice() {
    let all = datagrams("datagrams::some_come_late_and_twice");
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut places: Vec<(usize, &Vec<u8>)> = all.iter().enumerate().collect();
        let twice: Vec<_> = places.iter().filter(|_| random.below(8) == 0).copied().collect();
        places.extend(twice);
        places.sort_by_cached_key(|(place, _)| *place as u64 + random.below(20));
        let mixed: Vec<Vec<u8>> = places.into_iter().map(|(_, datagram)| datagram.clone()).collect();
        let (events, completeness) = read(&mixed, Order::Time);
        assert_eq!(events, 2 * THREADS * EVENTS, "seed {seed}");
        assert!(completeness.is_complete(), "seed {seed}: {completeness}");
        let (events, completeness) = read(&mixed, Order::Stream);
        assert_eq!(events + completeness.missing(), 2 * THREADS * EVENTS, "seed {seed}: {completeness}");
    }
}
