//! The pages of metrics: what they say, and what the documentation says of them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::RangeInclusive;
use std::process::Command;

use telemetry_fleet::spool::Spool;
use telemetry_format::Loss;
use telemetry_testing::fake_s3::FakeS3;
use telemetry_testing::made::{Plan, START, make, registry};
use telemetry_testing::wait;

use crate::collect::Fleet;
use crate::daemon::{Daemon, command, write_closed};
use crate::segments::cut;
use crate::ship::{renumber, said};
use crate::silent_store::collector;

/// The answer to a request for the page that a line of a log names.
pub(crate) fn page(line: &str) -> String {
    let (_, url) = line.split_once("metrics at http://").unwrap();
    let mut stream = TcpStream::connect(url.trim_end_matches("/metrics")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The values of a page, by name and label.
pub(crate) fn values(page: &str) -> BTreeMap<String, u64> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("telemetry_"));
    let value = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse::<u64>().unwrap())
    };
    lines.map(value).collect()
}

/// What each value of a page must be.
type Wanted = BTreeMap<&'static str, RangeInclusive<u64>>;

fn is(value: u64) -> RangeInclusive<u64> {
    value..=value
}

/// Any value but 0.
const SOME: RangeInclusive<u64> = 1..=u64::MAX;

/// Waits until a page has these values, and no others.
fn check(line: &str, wanted: &Wanted) {
    let mut told: Vec<String> = Vec::new();
    wait::until("the page has the values", || {
        let found = values(&page(line));
        let is_wrong = |name: &&str| match (found.get(*name), wanted.get(*name)) {
            (Some(value), Some(range)) => !range.contains(value),
            _ => true,
        };
        let names = found.keys().map(String::as_str).chain(wanted.keys().copied());
        let tell = |name: &str| format!("{name}: {:?}, expected {:?}", found.get(name), wanted.get(name));
        let wrong: Vec<_> = names.filter(is_wrong).map(tell).collect();
        if wrong != told {
            eprintln!("{wrong:#?}");
            told.clone_from(&wrong);
        }
        wrong.is_empty()
    });
}

/// A metric as a page or the documentation has it: name, type, label, and text.
type Metric = [String; 4];

fn of_page(page: &str) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    for line in page.lines() {
        let of = |start: &str| line.strip_prefix(start).and_then(|rest| rest.split_once(' '));
        if let Some((name, text)) = of("# HELP ") {
            metrics.push([name, "", "", text].map(str::to_owned));
        } else if let Some((name, kind)) = of("# TYPE ") {
            let last = metrics.last_mut().unwrap();
            assert_eq!(last[0], name);
            last[1] = kind.to_owned();
        } else if line.starts_with("telemetry_") {
            let (name, _) = line.rsplit_once(' ').unwrap();
            let (name, labels) = name.split_once('{').unwrap_or((name, ""));
            let last = metrics.last_mut().unwrap();
            assert_eq!(last[0], name);
            last[2] = labels.split('=').next().unwrap().to_owned();
        }
    }
    metrics
}

fn of_documentation() -> Vec<Metric> {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fleet.md")).unwrap();
    let metric = |row: &str| {
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
        let [_, name, kind, label, text, _] = &cells[..] else { panic!("{row}") };
        [name, kind, label, text].map(String::clone)
    };
    guide.lines().filter(|line| line.starts_with("| `telemetry_")).map(metric).collect()
}

/// A host has two sessions in a file, and a program that is connected. Its collector is down, then
/// has a store that does not answer, then one that does, and then gets the same again.
#[test]
fn pages_say_what_happens_and_are_documented() {
    let (fleet, bucket) = (Fleet::new(), FakeS3::start(1, 0));
    let plan = Plan { sessions: 2, events: 900, lose: 30, ..Plan::default() };
    let [file, mut program] = [1, 2].map(|seed| make(&registry(), &Plan { seed, ..plan.clone() }));
    renumber(&mut program.stream, 100);
    let cut_in = tempfile::tempdir().unwrap();
    let segments = cut(cut_in.path(), "h7", &file.stream, 1 << 20);
    assert_eq!(segments.len(), 2);
    let bytes: u64 = segments.iter().map(|segment| segment.len).sum();
    let lost = |cause: fn(&Loss) -> u64| {
        let all = file.lost.values().chain(program.lost.values());
        let lost: u64 = all.map(|(loss, _)| cause(loss)).sum();
        assert!(lost > 0);
        is(lost)
    };

    // A segment of another host is refused at once.
    let spool = Spool::open(fleet.host.path("spool")).unwrap();
    let others = cut(&spool.open_dir(), "h6", &make(&registry(), &Plan::default()).stream, 1 << 20);
    assert_eq!(others.len(), 1);
    spool.add(&others[0]).unwrap();
    drop(spool);
    let watched = fleet.host.path("watched");
    std::fs::create_dir(&watched).unwrap();
    drop(write_closed(&watched.join("text.tel"), b"a text"));
    drop(write_closed(&watched.join("app.tel"), &file.stream));

    let mut down = fleet.collector();
    let port = down.port;
    down.kill();
    let watch = format!("--watch={}", watched.display());
    let options = [&*watch, "--listen=tcp:127.0.0.1:0", "--segment-age=9999"];
    let daemon = Daemon::start(&mut command(&fleet, port, &options));
    let at_host = daemon.log.wait_for("metrics at http://");
    let mut connection = TcpStream::connect(daemon.said("listening on `tcp:")).unwrap();
    connection.write_all(&program.stream).unwrap();
    let mut ship = Wanted::from([
        ("ship_connections", is(1)),
        ("ship_received_bytes_total", is(program.stream.len() as u64)),
        ("ship_cut_segments_total", is(2)),
        ("ship_cut_events_total", is(900)),
        ("ship_withheld_events_total", is(0)),
        ("ship_lost_events_total{cause=\"pool-full\"}", lost(|loss| loss.pool)),
        ("ship_lost_events_total{cause=\"reentrant\"}", lost(|loss| loss.reentrant)),
        ("ship_lost_events_total{cause=\"sink\"}", lost(|loss| loss.sink)),
        ("ship_segments_total{outcome=\"stored\"}", is(0)),
        ("ship_segments_total{outcome=\"were_there\"}", is(0)),
        ("ship_segments_total{outcome=\"refused\"}", is(1)),
        ("ship_bytes_total", is(0)),
        ("ship_errors_total", SOME),
        ("ship_damaged_bytes_total", is(6)),
        ("ship_shed_segments_total", is(0)),
        ("ship_shed_events_total", is(0)),
        ("ship_spool_bytes", is(bytes)),
        ("ship_refused_bytes", is(others[0].len)),
        ("ship_spool_age_seconds", SOME),
    ]);
    check(&at_host, &ship);

    bucket.hold_all("segments/");
    let collector = collector(&fleet, &bucket, port);
    let at_collector = collector.wait_for("metrics at http://");
    let mut plain = TcpStream::connect((&*fleet.address, port)).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let oldest = START / 1_000_000_000;
    let mut collect = Wanted::from([
        ("collect_connections", is(1)),
        ("collect_refused_connections_total", is(1)),
        ("collect_segments_total{outcome=\"stored\"}", is(0)),
        ("collect_segments_total{outcome=\"were_there\"}", is(0)),
        ("collect_segments_total{outcome=\"refused\"}", is(0)),
        ("collect_bytes_total", is(0)),
        ("collect_events_total", is(0)),
        ("collect_store_errors_total", is(0)),
        ("collect_pending_bytes", is(bytes)),
        ("collect_host_spool_bytes{host=\"h7\"}", is(bytes)),
        ("collect_host_oldest_seconds{host=\"h7\"}", is(oldest)),
        ("collect_host_shed_events_total{host=\"h7\"}", is(0)),
    ]);
    check(&at_collector, &collect);
    check(&at_host, &ship);

    bucket.release();
    ship.extend([
        ("ship_segments_total{outcome=\"stored\"}", is(2)),
        ("ship_bytes_total", is(bytes)),
        ("ship_spool_bytes", is(0)),
        ("ship_spool_age_seconds", is(0)),
    ]);
    check(&at_host, &ship);
    collect.extend([
        ("collect_segments_total{outcome=\"stored\"}", is(2)),
        ("collect_bytes_total", is(bytes)),
        ("collect_events_total", is(900)),
        ("collect_pending_bytes", is(0)),
        // A host tells them with the next sign of life, or the next segment.
        ("collect_host_spool_bytes{host=\"h7\"}", 0..=bytes),
        ("collect_host_oldest_seconds{host=\"h7\"}", 0..=oldest),
    ]);
    check(&at_collector, &collect);

    // Its losses are stated again, and count once.
    // The shipper takes it at once.
    drop(write_closed(&watched.join("new"), &file.stream));
    std::fs::rename(watched.join("new"), watched.join("app.tel")).unwrap();
    ship.extend([
        ("ship_cut_segments_total", is(4)),
        ("ship_cut_events_total", is(1800)),
        ("ship_segments_total{outcome=\"were_there\"}", is(2)),
    ]);
    check(&at_host, &ship);
    collect.insert("collect_segments_total{outcome=\"were_there\"}", is(2));
    check(&at_collector, &collect);

    let found: Vec<_> = [at_host, at_collector].iter().flat_map(|line| of_page(&page(line))).collect();
    assert_eq!(found, of_documentation());
    drop(connection);
}

/// A page has no access control.
#[test]
fn metrics_are_on_loopback_only() {
    let (fleet, watched) = (Fleet::new(), tempfile::tempdir().unwrap());
    let mut collect = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
    collect.arg("collect").args(fleet.arguments());
    let watch = format!("--watch={}", watched.path().display());
    let mut ship = command(&fleet, 1, &[&watch]);
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9100"] {
        for command in [&mut collect, &mut ship] {
            let run = said(&command.arg(format!("--metrics={address}")).output().unwrap());
            let error = format!(
                "error: {address}: metrics are served on loopback only, such as 127.0.0.1:9100; found {address}\n"
            );
            assert_eq!((run.code, run.stderr), (Some(2), error), "{command:?}");
        }
    }
}
