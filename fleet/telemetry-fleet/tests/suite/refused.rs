//! Hosts and segments that a collector refuses: both logs say why, and others are served.

use std::path::Path;
use std::process::Command;

use telemetry_decode::writer::{Compress, Lane, Writer};
use telemetry_decode::{EnumValue, Facts, Value};
use telemetry_testing::made::{Plan, START, make, registry};
use telemetry_testing::wait;

use crate::authority::{Authority, Validity};
use crate::collect::{Collector, Fleet, with};
#[cfg(unix)]
use crate::daemon::{self, Daemon};
use crate::hostile::Peer;
use crate::rows::rows;
use crate::ship::{files_in, renumber, said};
use crate::texts::text;

/// Checks that a shipper is refused, that both logs say why, and that others are served: one that
/// is connected meanwhile, and one that comes later.
fn check_refused(
    fleet: &Fleet,
    collector: Collector,
    mut command: Command,
    at_host: &str,
    at_collector: &str,
) {
    let mut beside = Peer::greet(fleet, collector.port);
    let run = said(&command.output().unwrap());
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains(at_host), "{} does not contain `{at_host}`", run.stderr);
    beside.check(fleet);
    fleet.check(&collector);
    let log = collector.log();
    assert!(log.len() == 1 && log[0].contains(at_collector), "{log:?} does not contain `{at_collector}`");
    std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
}

#[test]
fn wrong_certificates_are_refused() {
    let fleet = Fleet::new();
    let dir = fleet.host.dir.path();
    let other = Authority::new(dir, "other-authority");
    for (client, at_host, at_collector) in [
        (fleet.authority.sign("h7", 70, Validity::Expired), "it has expired", "its certificate has expired"),
        (fleet.authority.sign("h7", 71, Validity::Good), "it is revoked", "its certificate is revoked"),
        (
            other.sign("h7", 72, Validity::Good),
            "of an unknown authority",
            "its certificate is of an unknown authority",
        ),
        (
            fleet.authority.sign("h8", 73, Validity::Good),
            "the collector refuses this host: host `h7`: its certificate is that of `h8`",
            "refused: host `h7`: its certificate is that of `h8`",
        ),
        (
            fleet.authority.sign("*", 74, Validity::Good),
            "the collector refuses this host: host `h7`: its certificate",
            "refused: host `h7`: its certificate",
        ),
    ] {
        fleet.authority.revoke(&[71]);
        let collector = fleet.collector();
        let command = with(fleet.shipper("spool2", collector.port), &client);
        check_refused(&fleet, collector, command, at_host, at_collector);
    }
    // The shipper does not trust a collector of another authority.
    let collector = fleet.collector();
    let mut command = with(fleet.shipper("spool2", collector.port), &fleet.client);
    command.arg("--ca").arg(&other.file);
    check_refused(
        &fleet,
        collector,
        command,
        "this host does not trust the certificate of the collector: UnknownIssuer",
        "refused: received fatal alert: UnknownCA",
    );
}

#[test]
fn wrong_tokens_are_refused() {
    let fleet = Fleet::new();
    let (expired, other) = (fleet.token("h7", "0"), fleet.token("h8", "1"));
    let unknown = fleet.host.path("unknown.token");
    std::fs::write(&unknown, "0123\n").unwrap();
    for (token, why) in [
        (Some(expired), "host `h7`: its token has expired, at "),
        (Some(other), "host `h7`: its token is that of another host, `h8`"),
        (Some(unknown), "host `h7`: its token is unknown or revoked"),
        (None, "host `h7`: it showed neither a certificate nor a token"),
    ] {
        let collector = fleet.collector();
        let mut command = fleet.shipper("spool2", collector.port);
        if let Some(token) = token {
            command.arg("--token-file").arg(token);
        }
        check_refused(&fleet, collector, command, why, why);
    }
    let mut arguments = fleet.arguments();
    arguments.retain(|argument| !argument.starts_with("--tokens"));
    let collector = Collector::start(&arguments);
    let command = fleet.shipper("spool2", collector.port);
    check_refused(
        &fleet,
        collector,
        command,
        "expects a certificate of this host",
        "it showed no certificate",
    );
}

#[test]
fn files_that_change_are_read_again() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    fleet.check(&collector);
    fleet.authority.revoke(&[7]);
    assert!(fleet.ship(collector.port).stderr.contains("it is revoked"));
    // Half a file is not used, and is no reason to stop.
    std::fs::write(fleet.host.path("tokens.toml"), "[[token]]\nhost =").unwrap();
    assert!(fleet.ship(collector.port).stderr.contains("it is revoked"));
    collector.wait_for("warning: files for TLS have changed and are not used: ");
    std::fs::write(fleet.host.path("tokens.toml"), "").unwrap();
    fleet.authority.revoke(&[]);
    fleet.check(&collector);
    // The collector gets a certificate of another authority.
    let other = Authority::new(fleet.host.dir.path(), "other-authority");
    let (cert, key) = other.sign(&fleet.address, 2, Validity::Good);
    std::fs::copy(key, &fleet.server.1).unwrap();
    std::fs::copy(cert, &fleet.server.0).unwrap();
    let why = "this host does not trust the certificate of the collector: UnknownIssuer";
    assert!(fleet.ship(collector.port).stderr.contains(why));
    collector.wait_for("refused: received fatal alert: UnknownCA");
}

/// A token is taken out of the file of the collector while its host is connected. Both sides read
/// their files again.
#[test]
#[cfg(unix)]
fn a_token_that_is_revoked_is_refused() {
    let fleet = Fleet::new();
    let (token, watched) = (fleet.token("h7", "1"), fleet.host.path("watched"));
    std::fs::create_dir(&watched).unwrap();
    let collector = fleet.collector();
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
    command.args(["ship", "--host=h7", "--segment-size=1"]).arg("--token-file").arg(&token);
    command.arg(format!("--to=tls://{}:{}", fleet.address, collector.port));
    command.arg("--spool").arg(fleet.host.path("spool")).arg("--ca").arg(&fleet.authority.file);
    let daemon = Daemon::start(command.arg("--watch").arg(&watched));
    let mut beside = Peer::greet(&fleet, collector.port);
    let close = |file: &Path| std::fs::rename(file, watched.join(file.file_name().unwrap())).unwrap();
    close(&fleet.host.files[0]);
    wait_for_spool(&fleet, &watched);

    std::fs::write(fleet.host.path("tokens.toml"), "").unwrap();
    close(&fleet.host.files[1]);
    let why = "host `h7`: its token is unknown or revoked";
    daemon.log.wait_for(&format!("the collector refuses this host: {why}; segments stay in the spool"));
    collector.wait_for(&format!("refused: {why}"));
    beside.check(&fleet);

    std::fs::rename(fleet.token("h7", "2"), &token).unwrap();
    daemon.log.wait_for("sending again");
    wait_for_spool(&fleet, &watched);
    daemon.stop();
    fleet.host.check(&fleet.host.objects());
}

/// Waits until all files are cut, and all segments sent or refused.
#[cfg(unix)]
fn wait_for_spool(fleet: &Fleet, watched: &Path) {
    let is_empty = |dir: &Path| files_in(dir).is_empty();
    wait::until("all files are cut", || is_empty(watched));
    wait::until("the spool is empty", || is_empty(&fleet.host.path("spool/ready")));
}

/// The bytes of [`long`] when they are decompressed are more than a MiB.
const LONG_EVENTS: u64 = 30_000;

/// A stream of one segment, with compressed blocks.
fn long() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).compress(Compress::All);
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry()).unwrap() };
    let (name, one) = ("n".repeat(40), Value::Named(EnumValue::new(1)));
    let values = [text(&name), one, one, Value::Bytes(&[7; 20]), Value::Addr(8)];
    (0..LONG_EVENTS).for_each(|ticks| writer.event(lane, 0x101, ticks, &values).unwrap());
    writer.end(1, LONG_EVENTS).unwrap();
    let stream = writer.finish().unwrap();
    assert!(stream.len() < 1 << 20, "{} bytes are more than a segment", stream.len());
    stream
}

/// A collector that refuses segments which become longer than a MiB. Its host has the files of such
/// a stream, and of another one.
fn with_long() -> (Fleet, Collector) {
    let mut fleet = Fleet::new();
    let mut other = make(&registry(), &Plan::default()).stream;
    renumber(&mut other, 100);
    let files = [("long.tel", long()), ("other.tel", other)];
    fleet.host.files = files.iter().map(|(name, _)| fleet.host.path(name)).collect();
    for (path, (_, stream)) in fleet.host.files.iter().zip(&files) {
        std::fs::write(path, stream).unwrap();
    }
    let mut arguments = fleet.arguments();
    arguments.push("--max-unpacked=1".to_owned());
    let collector = Collector::start(&arguments);
    (fleet, collector)
}

/// Checks that the long segment is kept, that both logs say which it is and why, and that the other
/// one is stored.
fn check_kept(fleet: &Fleet, collector: &Collector, at_host: &[String]) {
    let refused = fleet.host.path("spool/refused");
    let kept = files_in(&refused);
    let [path] = &kept[..] else { panic!("{kept:?}, expected one segment") };
    let name = path.strip_prefix(&refused).unwrap().to_str().unwrap();
    assert_eq!(rows(&std::fs::read(path).unwrap()).len() as u64, LONG_EVENTS);
    assert_eq!(rows(&fleet.host.objects().concat()).len(), Plan::default().events);
    assert!(files_in(&fleet.host.path("spool/ready")).is_empty());

    let why = "it grows beyond 1048576 bytes when it is decompressed";
    let line = collector.wait_for(&format!("host `h7`: refused segment {name}: block at offset "));
    assert!(line.ends_with(why), "{line}");
    let begin = format!("error: segment {name} is refused: block at offset ");
    let end = format!(": {why}; it is kept as {}", path.display());
    let is_told = |line: &String| line.starts_with(&begin) && line.ends_with(&end);
    assert_eq!(at_host.iter().filter(|line| is_told(line)).count(), 1, "{at_host:#?}");
}

#[test]
fn a_segment_that_is_refused_is_kept() {
    let (fleet, collector) = with_long();
    let run = fleet.ship(collector.port);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.ends_with("; 1 refused\n"), "{}", run.stdout);
    let lines: Vec<_> = run.stderr.lines().map(str::to_owned).collect();
    check_kept(&fleet, &collector, &lines);
    let place = fleet.host.path("spool/refused");
    let help = format!("error: refused 1 segment; help: they are kept in {}", place.display());
    assert_eq!(lines.last(), Some(&help));
}

#[test]
#[cfg(unix)]
fn a_service_keeps_a_segment_that_is_refused() {
    let (fleet, collector) = with_long();
    let watched = fleet.host.path("watched");
    std::fs::create_dir(&watched).unwrap();
    for file in &fleet.host.files {
        std::fs::rename(file, watched.join(file.file_name().unwrap())).unwrap();
    }
    let watch = format!("--watch={}", watched.display());
    let daemon = Daemon::start(&mut daemon::command(&fleet, collector.port, &[&watch]));
    wait_for_spool(&fleet, &watched);
    check_kept(&fleet, &collector, &daemon.stop());
}
