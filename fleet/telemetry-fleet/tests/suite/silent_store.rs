//! A store that does not answer: a collector stops reading, and drops nothing.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use telemetry_fleet::wire::{Done, Kind, Message, Outcome, Segment, WINDOW, header};
use telemetry_testing::fake_s3::FakeS3;
use telemetry_testing::wait;

use crate::collect::{Collector, Fleet};
use crate::hostile::{Peer, check_memory, segment_of};
use crate::metrics;
use crate::s3::credentials;
use crate::ship::files_in;

/// A collector of a bucket, with metrics. It waits for answers as long as a test holds them.
pub(crate) fn collector(fleet: &Fleet, bucket: &FakeS3, port: u16) -> Collector {
    let mut arguments = fleet.arguments();
    arguments[0] = format!("--listen={}:{port}", fleet.address);
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
    credentials(command.arg("collect").args(arguments), &bucket.endpoint);
    command.args(["--store=s3://fleet/prod", "--metrics=127.0.0.1:0"]).env("AWS_TIMEOUT", "600s");
    Collector::of(command.arg("--spool").arg(fleet.host.path("collector")))
}

/// Segments of the peer, and the bytes of each. Together they have 40 MiB.
const SEGMENTS: u32 = 40;
const LEN: usize = 1 << 20;

/// Sends all segments, and counts the bytes that the connection takes. Returns all answers.
fn send(mut peer: Peer, sent: &AtomicUsize) -> Vec<Option<Message>> {
    for number in 1..=SEGMENTS {
        let (name, bytes) = segment_of(number.into(), LEN);
        peer.send(&Message::Segment(Segment { number, len: LEN as u64, name }).frame());
        for part in bytes.chunks(16 << 10) {
            peer.send(&header(Kind::Data, part.len()));
            peer.send(part);
            sent.fetch_add(part.len(), Ordering::SeqCst);
        }
    }
    (0..SEGMENTS).map(|_| peer.answer()).collect()
}

#[test]
fn a_collector_stops_reading() {
    let (fleet, bucket) = (Fleet::new(), FakeS3::start(1, 0));
    let collector = collector(&fleet, &bucket, 0);
    let page = collector.wait_for("metrics at http://");
    bucket.hold_all("segments/");
    let (peer, sent) = (Peer::greet(&fleet, collector.port), Arc::new(AtomicUsize::new(0)));
    let count = sent.clone();
    // If this test fails, the collector ends, and so does the thread.
    let sending = std::thread::spawn(move || send(peer, &count));

    // The collector has a window of segments at the store. It answers all the time, and takes
    // nothing meanwhile.
    let held = WINDOW as usize / LEN;
    let (mut pending, mut last, mut times) = (0, 0, 0);
    wait::until("the peer is blocked", || {
        pending = metrics::values(&metrics::page(&page))["collect_pending_bytes"];
        let now = sent.load(Ordering::SeqCst);
        times = if bucket.waiting() >= held && now == last { times + 1 } else { 0 };
        last = now;
        times == 200
    });
    assert_eq!((pending, bucket.most_waiting()), (WINDOW, held));
    // The rest is in the buffers of the system, and at the peer.
    assert!(last < SEGMENTS as usize * LEN, "all {last} bytes are taken");
    let files = files_in(&fleet.host.path("collector"));
    let on_disk: u64 = files.iter().map(|path| path.metadata().unwrap().len()).sum();
    assert_eq!(on_disk, WINDOW);
    check_memory(&collector, 1);

    bucket.release();
    let mut numbers = Vec::new();
    for answer in sending.join().unwrap() {
        let Some(Message::Done(Done { number, outcome: Outcome::Stored, .. })) = answer else {
            panic!("{answer:?}")
        };
        numbers.push(number);
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=SEGMENTS), "each is acknowledged once");
    let segment = |number: u32| segment_of(number.into(), LEN);
    let wanted: BTreeMap<_, _> =
        (1..=SEGMENTS).map(segment).map(|(name, bytes)| (format!("prod/{name}"), bytes)).collect();
    let found: BTreeMap<_, _> = bucket.objects().into_iter().collect();
    assert!(found == wanted, "{:?}", found.keys());
    let values = metrics::values(&metrics::page(&page));
    let numbers = [
        ("collect_segments_total{outcome=\"stored\"}", u64::from(SEGMENTS)),
        ("collect_segments_total{outcome=\"were_there\"}", 0),
        ("collect_segments_total{outcome=\"refused\"}", 0),
        ("collect_store_errors_total", 0),
        ("collect_pending_bytes", 0),
    ];
    for (name, wanted) in numbers {
        assert_eq!(values[name], wanted, "{name}");
    }
    check_memory(&collector, 1);
}
