//! Many tiny segments at once, as after an hour without the store.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use telemetry_fleet::spool::Spool;
use telemetry_fleet::wire::{Done, Message, Outcome};
use telemetry_testing::fake_s3::FakeS3;
use telemetry_testing::wait;

use crate::collect::{Collector, Fleet};
use crate::daemon::{Daemon, command};
use crate::hostile::{Peer, segment_of};
use crate::s3::credentials;

/// A bucket that answers when requests wait side by side, and so late that too many would meet.
fn bucket() -> FakeS3 {
    let bucket = FakeS3::start(1, 0);
    bucket.hold("segments/", 2);
    bucket.set_delay(Duration::from_millis(30));
    bucket
}

/// Checks that there were several requests at a time, and not too many.
fn check_requests(bucket: &FakeS3) {
    let most = bucket.most_waiting();
    assert!((2..=64).contains(&most), "{most} requests at a time");
}

#[test]
fn a_shipper_needs_few_open_files() {
    let (fleet, bucket) = (Fleet::new(), bucket());
    drop(Spool::open(fleet.host.path("spool")).unwrap());
    let mut wanted = BTreeSet::new();
    for session in 1..=1500 {
        let (name, bytes) = segment_of(session, 1024);
        let path = fleet.host.path("spool/ready/p05").join(&name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        wanted.insert(format!("prod/{name}"));
    }
    let options = ["--to=s3://fleet/prod", "--listen=tcp:127.0.0.1:0"];
    let shipper = command(&fleet, 1, &options);
    let mut shell = Command::new("sh");
    // Fewer at first than it may have.
    shell.args(["-c", "ulimit -n 256 && ulimit -S -n 128 && exec \"$0\" \"$@\""]);
    shell.arg(shipper.get_program()).args(shipper.get_args());
    credentials(&mut shell, &bucket.endpoint);
    let daemon = Daemon::start(&mut shell);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", daemon.child.id())).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().collect::<Vec<_>>(), ["256", "256", "files"]);
    wait::until("all are sent", || daemon.metric("telemetry_ship_spool_bytes ") == 0);
    let log = daemon.stop();
    assert!(log.iter().all(|line| !line.contains("stay in the spool")), "{log:?}");
    let found: BTreeSet<_> = bucket.objects().into_iter().map(|(name, _)| name).collect();
    assert!(found == wanted, "{} of {} segments are stored", found.len(), wanted.len());
    check_requests(&bucket);
}

/// A host of an older version sends as many as fit into the window.
#[test]
fn a_collector_has_few_requests_at_a_time() {
    let (fleet, bucket) = (Fleet::new(), bucket());
    let mut collect = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
    credentials(collect.arg("collect").args(fleet.arguments()), &bucket.endpoint);
    collect.arg("--store=s3://fleet/prod").arg("--spool").arg(fleet.host.path("collector"));
    let collector = Collector::of(&mut collect);
    let mut peer = Peer::greet(&fleet, collector.port);
    let numbers = 1..=300;
    for session in numbers.clone() {
        let (name, bytes) = segment_of(session, 1024);
        peer.segment(&name, &bytes);
    }
    for session in numbers {
        // On a slow machine, there are signs of life.
        let mut answers = std::iter::repeat_with(|| peer.answer());
        let answer = answers.find(|answer| *answer != Some(Message::Alive)).flatten();
        let is_stored = matches!(&answer, Some(Message::Done(Done { outcome: Outcome::Stored, .. })));
        assert!(is_stored, "{session}: {answer:?}");
    }
    check_requests(&bucket);
}
