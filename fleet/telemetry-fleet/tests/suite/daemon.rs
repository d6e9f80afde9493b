//! `telemetry-fleet ship` that runs until it is stopped.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use telemetry_fleet::spool::Spool;
use telemetry_testing::made::{Plan, make, registry};
use telemetry_testing::wait;

use crate::collect::{Collector, Fleet, Log, with};
use crate::disk::SmallDisk;
use crate::metrics;
use crate::rows::{Row, rows, shed_of};
use crate::segments::{cut, with_priorities};
use crate::ship::{files_in, renumber};
use crate::texts::with_texts;

/// A shipper that runs, killed when dropped.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) log: Log,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    pub(crate) fn start(command: &mut Command) -> Daemon {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::of(child.stderr.take().unwrap());
        let daemon = Daemon { child, log };
        daemon.log.wait_for("shipping host `h7` to ");
        daemon
    }

    /// Returns what follows a text in the log.
    pub(crate) fn said(&self, text: &str) -> String {
        self.log.wait_for(text).split_once(text).unwrap().1.trim_end_matches('`').to_owned()
    }

    /// Stops it, and returns its log.
    pub(crate) fn stop(mut self) -> Vec<String> {
        signal(&self.child, "-TERM");
        assert!(self.child.wait().unwrap().success(), "{:?}", self.log.lines());
        self.log.lines()
    }

    /// The value of a metric.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let page = metrics::page(&self.log.wait_for("metrics at http://"));
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_else(|| panic!("{name} in {page}"));
        line.trim().parse().unwrap()
    }

    /// The number of bytes that have come.
    fn received(&self) -> u64 {
        self.metric("telemetry_ship_received_bytes_total ")
    }

    /// Waits until all bytes of streams have come.
    fn wait_for_bytes(&self, streams: &[&[u8]]) {
        let bytes: usize = streams.iter().map(|stream| stream.len()).sum();
        wait::until("all bytes have come", || self.received() == bytes as u64);
    }
}

pub(crate) fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// The command, without the files of the host.
pub(crate) fn command(fleet: &Fleet, port: u16, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
    command.args(["ship", "--host=h7", "--segment-size=1", "--metrics=127.0.0.1:0"]);
    command.arg(format!("--to=tls://{}:{port}", fleet.address)).arg("--spool").arg(fleet.host.path("spool"));
    command.arg("--ca").arg(&fleet.authority.file).args(options);
    with(command, &fleet.client)
}

fn stored(fleet: &Fleet) -> Vec<u8> {
    fleet.host.objects().concat()
}

#[test]
fn programs_are_shipped_and_a_stop_sends_all() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let socket = fleet.host.path("socket");
    let unix = format!("--listen=unix:{}", socket.display());
    let daemon = Daemon::start(&mut command(&fleet, collector.port, &["--listen=tcp:127.0.0.1:0", &unix]));
    let address = daemon.said("listening on `tcp:");
    let streams: Vec<_> = fleet.host.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    // Side by side, and the second in two connections.
    let mut tcp = TcpStream::connect(address).unwrap();
    tcp.write_all(&streams[0]).unwrap();
    let cut = boundary(&streams[1]);
    UnixStream::connect(&socket).unwrap().write_all(&streams[1][..cut]).unwrap();
    UnixStream::connect(&socket).unwrap().write_all(&streams[1][cut..]).unwrap();
    daemon.wait_for_bytes(&[&streams[0], &streams[1]]);
    daemon.stop();
    fleet.host.check(&fleet.host.objects());
    assert!(!socket.exists());
}

/// Programs connect and send while the shipper stops.
#[test]
fn a_stop_reads_what_was_sent_on_connections_that_wait() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let socket = fleet.host.path("socket");
    let unix = format!("--listen=unix:{}", socket.display());
    // On a slow machine, hundreds of segments take longer than the default.
    let options = [&*unix, "--stop-timeout=120"];
    let daemon = Daemon::start(&mut command(&fleet, collector.port, &options));
    let stream = make(&with_priorities(), &Plan { events: 20, ..Plan::default() }).stream;
    // A shipper refuses more than 256 programs at a time. So a slow one gets no more than 100 that
    // wait, and then 40 of each thread while it stops.
    let (begun, received, stops) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let is_stopping = || stops.load(Ordering::SeqCst);
    let may_begin = || begun.load(Ordering::SeqCst) < received.load(Ordering::SeqCst) + 100;
    let program = |number: u64| {
        let (mut sent, mut last) = (Vec::new(), 0..40);
        for turn in 0.. {
            wait::until("a stream may begin", || may_begin() || is_stopping());
            begun.fetch_add(1, Ordering::SeqCst);
            if is_stopping() && last.next().is_none() {
                return sent;
            }
            let mut stream = stream.clone();
            renumber(&mut stream, 100_000 * number + turn);
            let write = |mut connection: UnixStream| connection.write_all(&stream);
            if UnixStream::connect(&socket).and_then(write).is_err() {
                return sent;
            }
            sent.push(stream);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        sent
    };
    let sent = std::thread::scope(|scope| {
        let program = &program;
        let programs = [1, 2, 3].map(|number| scope.spawn(move || program(number)));
        wait::until("20 streams have come", || {
            received.store(daemon.received() / stream.len() as u64, Ordering::SeqCst);
            received.load(Ordering::SeqCst) > 20
        });
        stops.store(true, Ordering::SeqCst);
        daemon.stop();
        programs.map(|program| program.join().unwrap()).concat()
    });
    let mut found: BTreeSet<Row> = rows(&stored(&fleet)).into_iter().collect();
    // On a very slow machine, some stay in the spool all the same.
    for left in files_in(&fleet.host.path("spool/ready")) {
        found.extend(rows(&std::fs::read(left).unwrap()));
    }
    let is_lost = |stream: &&Vec<u8>| rows(stream).iter().any(|row| !found.contains(row));
    let lost = sent.iter().filter(is_lost).count();
    assert!(sent.len() >= 20 && lost == 0, "{lost} of {} streams are lost", sent.len());
}

/// The end of the first block in the second half.
fn boundary(stream: &[u8]) -> usize {
    let mut at = 0;
    while at < stream.len() / 2 {
        at += telemetry_format::Header::decode(&stream[at..], crc32c::crc32c).unwrap().block_len() as usize;
    }
    at
}

#[test]
fn what_programs_sent_outlives_a_kill() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let daemon = Daemon::start(&mut command(
        &fleet,
        collector.port,
        &["--listen=tcp:127.0.0.1:0", "--segment-age=9999"],
    ));
    let address = daemon.said("listening on `tcp:");
    let streams: Vec<_> = fleet.host.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    for stream in &streams {
        TcpStream::connect(&address).unwrap().write_all(stream).unwrap();
    }
    daemon.wait_for_bytes(&[&streams[0], &streams[1]]);
    assert!(files_in(&fleet.host.path("spool/live")).len() > 1);
    drop(daemon);
    let daemon = Daemon::start(&mut command(&fleet, collector.port, &["--listen=tcp:127.0.0.1:0"]));
    assert!(daemon.stop().iter().all(|line| !line.contains("stay in the spool")));
    fleet.host.check(&fleet.host.objects());
    assert_eq!(files_in(&fleet.host.path("spool/live")), [] as [PathBuf; 0]);
}

/// Writes a file as if it had been closed some time ago. It is open in the caller.
pub(crate) fn write_closed(path: &Path, bytes: &[u8]) -> File {
    let file = File::create(path).unwrap();
    (&file).write_all(bytes).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
    file
}

#[test]
fn closed_files_are_shipped_and_removed() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let (watched, other) = (fleet.host.path("watched"), fleet.host.path("watched/notes.txt"));
    std::fs::create_dir(&watched).unwrap();
    std::fs::write(&other, "not a stream").unwrap();
    let write = |name: &str, bytes: &[u8]| write_closed(&watched.join(name), bytes);
    let streams: Vec<_> = fleet.host.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    let open = write("app.2.tel", &streams[1]);
    open.lock().unwrap();
    drop(write("app.1.tel", &streams[0]));
    drop(write("text.tel", b"a text"));
    let option = format!("--watch={}", watched.display());
    let daemon = Daemon::start(&mut command(&fleet, collector.port, &[&option]));
    daemon.log.wait_for("text.tel: 6 damaged bytes at offset 0");
    let is_gone = |name: &str| !watched.join(name).exists();
    wait::until("closed files are removed", || is_gone("app.1.tel") && is_gone("text.tel"));
    assert!(watched.join("app.2.tel").exists(), "a program writes to it");
    drop(open);
    wait::until("the file that was open is removed", || is_gone("app.2.tel"));
    daemon.stop();
    fleet.host.check(&fleet.host.objects());
    assert_eq!(files_in(&watched), [other, watched.join("text.tel.damaged")]);
}

/// The oldest file cannot get its new name.
#[test]
fn a_file_that_stays_does_not_hinder_others() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let watched = fleet.host.path("watched");
    std::fs::create_dir_all(watched.join("a.tel.damaged")).unwrap();
    drop(write_closed(&watched.join("a.tel"), b"a text"));
    let watch = format!("--watch={}", watched.display());
    let daemon = Daemon::start(&mut command(&fleet, collector.port, &[&watch]));
    daemon.log.wait_for("a.tel: Is a directory (os error 21); tried again");
    // One after the other, so that the first is tried again meanwhile.
    for (file, name) in fleet.host.files.iter().zip(["b.tel", "c.tel"]) {
        let path = watched.join(name);
        drop(write_closed(&path, &std::fs::read(file).unwrap()));
        wait::until("the file is removed", || !path.exists());
    }
    assert_eq!(daemon.metric("telemetry_ship_errors_total "), 1, "once, and not for each try");
    let log = daemon.stop();
    let said: Vec<_> = log.iter().filter(|line| line.contains("a.tel: ")).collect();
    assert_eq!(said.len(), 2, "its damage, and that it stays, once each: {said:?}");
    fleet.host.check(&fleet.host.objects());
}

/// Labels count, too, that were in an open segment before it was known that they stay.
#[test]
fn events_that_stay_are_counted() {
    let (fleet, watched) = (Fleet::new(), tempfile::tempdir().unwrap());
    drop(write_closed(&watched.path().join("shop.tel"), &with_texts(100)));
    let watch = format!("--watch={}", watched.path().display());
    let daemon = Daemon::start(&mut command(&fleet, 1, &[&watch]));
    wait::until("the file is removed", || files_in(watched.path()).is_empty());
    assert_eq!(daemon.metric("telemetry_ship_cut_events_total "), 400);
    assert_eq!(daemon.metric("telemetry_ship_withheld_events_total "), 500);
}

#[test]
fn a_full_spool_sheds_the_lowest_priority_and_tells() {
    let fleet = Fleet::new();
    let mut collector = fleet.collector();
    let port = collector.port;
    collector.kill();
    let registry = with_priorities();
    let plan = Plan { events: 60_000, block_size: 4096, ..Plan::default() };
    let stream = make(&registry, &plan).stream;
    let daemon = Daemon::start(&mut command(&fleet, port, &["--listen=tcp:127.0.0.1:0", "--spool-limit=3"]));
    let address = daemon.said("listening on `tcp:");
    let mut program = TcpStream::connect(address).unwrap();
    program.write_all(&stream).unwrap();
    drop(program);
    daemon.wait_for_bytes(&[&stream]);
    daemon.log.wait_for("warning: the spool is full: shed ");
    daemon.log.wait_for("; segments stay in the spool");
    let shed = daemon.metric("telemetry_ship_shed_events_total ");
    assert!(daemon.metric("telemetry_ship_spool_bytes ") <= 3 << 20);
    assert!(shed > 0);
    // An hour later the collector is back, at the same address.
    let mut arguments = fleet.arguments();
    arguments[0] = format!("--listen={}:{port}", fleet.address);
    let collector = Collector::start(&arguments);
    daemon.log.wait_for("sending again");
    let log = daemon.stop();
    assert!(
        log.iter().all(|line| !line.contains("stay in the spool")) || log.last().unwrap() == "stopping",
        "{log:?}"
    );
    let all = stored(&fleet);
    let (wanted, found): (BTreeSet<Row>, BTreeSet<Row>) =
        (rows(&stream).into_iter().collect(), rows(&all).into_iter().collect());
    let intervals = shed_of(&all);
    let missing: Vec<_> = wanted.difference(&found).collect();
    for row in &missing {
        let is_told =
            intervals.iter().any(|(lane, range)| *lane == (row.0, row.1, row.2) && range.contains(&row.3));
        assert!(is_told, "{row:?} is neither stored nor shed");
    }
    assert!(!missing.is_empty() && missing.len() as u64 <= shed);
    assert!(found.is_subset(&wanted));
    // The kinds of the lowest priority go first.
    let least = registry.kinds.iter().min_by_key(|kind| kind.priority).unwrap().bit;
    let most = registry.kinds.iter().max_by_key(|kind| kind.priority).unwrap().bit;
    assert!(missing.iter().any(|row| row.2 == least));
    assert!(missing.iter().all(|row| row.2 != most), "the highest priority is kept");
    drop(collector);
}

/// The limit holds for open segments, too: those that are longer than the spool may be.
#[test]
fn open_segments_are_within_the_limit_of_the_spool() {
    let fleet = Fleet::new();
    let mut collector = fleet.collector();
    let port = collector.port;
    collector.kill();
    let options = ["--listen=tcp:127.0.0.1:0", "--spool-limit=1", "--segment-size=64"];
    let daemon = Daemon::start(&mut command(&fleet, port, &options));
    let mut program = TcpStream::connect(daemon.said("listening on `tcp:")).unwrap();
    let stream =
        make(&with_priorities(), &Plan { events: 60_000, block_size: 4096, ..Plan::default() }).stream;
    for (part, sent) in stream.chunks(stream.len() / 8).zip(1..) {
        program.write_all(part).unwrap();
        let len = (sent * part.len()).min(stream.len()) as u64;
        wait::until("all but a part of a block has come", || daemon.received() + 8192 > len);
        // A file that is renamed meanwhile may count twice.
        let spooled = (0..5).map(|_| bytes_in(&fleet.host.path("spool"))).min().unwrap();
        // A segment that is shed and its account are there at the same time.
        assert!(spooled < (1 << 20) + (1 << 17), "{spooled} bytes");
    }
    assert!(daemon.metric("telemetry_ship_shed_events_total ") > 0);
}

/// Returns the bytes of all files below a directory. Some may vanish meanwhile.
fn bytes_in(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let len = |path: PathBuf| match path.symlink_metadata() {
        Ok(found) if found.is_dir() => bytes_in(&path),
        found => found.map_or(0, |found| found.len()),
    };
    entries.map(|entry| len(entry.path())).sum()
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_of_the_spool_loses_nothing() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let spool = fleet.host.path("spool");
    let Some(disk) = SmallDisk::mount(&spool, "1m") else { return };
    let daemon = Daemon::start(&mut command(
        &fleet,
        collector.port,
        &["--listen=tcp:127.0.0.1:0", "--segment-size=64"],
    ));
    let address = daemon.said("listening on `tcp:");
    let streams: Vec<_> = fleet.host.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    let sent = streams.concat();
    let program = std::thread::spawn(move || TcpStream::connect(address).unwrap().write_all(&sent).unwrap());
    daemon.log.wait_for("No space left on device (os error 28); nothing is read until it has space");
    assert!(daemon.metric("telemetry_ship_errors_total ") > 0);
    disk.grow("64m");
    program.join().unwrap();
    daemon.wait_for_bytes(&[&streams[0], &streams[1]]);
    daemon.stop();
    fleet.host.check(&fleet.host.objects());
}

#[test]
fn settings_are_read_again() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let config = fleet.host.path("ship.toml");
    let (empty, full) = (fleet.host.path("empty"), fleet.host.path("full"));
    for dir in [&empty, &full] {
        std::fs::create_dir(dir).unwrap();
    }
    for file in &fleet.host.files {
        std::fs::rename(file, full.join(file.file_name().unwrap())).unwrap();
    }
    let options = |host, dir: &Path| format!("host = \"{host}\"\nwatch = [\"{}\"]\n", dir.display());
    std::fs::write(&config, options("h7", &empty)).unwrap();
    // An option of the command line would win.
    let given = command(&fleet, collector.port, &[]);
    let mut command = Command::new(given.get_program());
    command.args(given.get_args().filter(|argument| *argument != "--host=h7"));
    let daemon = Daemon::start(command.arg("--config").arg(&config));
    std::fs::write(&config, "watch = 1.5").unwrap();
    signal(&daemon.child, "-HUP");
    daemon.log.wait_for("not reloaded: ");
    std::fs::write(&config, options("h8", &full)).unwrap();
    signal(&daemon.child, "-HUP");
    daemon.log.wait_for("--host: not changed while running; restart to change it");
    wait::until("the files are removed", || files_in(&full).is_empty());
    daemon.stop();
    fleet.host.check(&fleet.host.objects());
}

/// A program is connected, and its segment is open.
#[test]
fn a_new_size_applies_to_open_segments() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let config = fleet.host.path("ship.toml");
    let write = |size| std::fs::write(&config, format!("segment-size = {size}\n")).unwrap();
    write(64);
    // An option of the command line would win.
    let given = command(&fleet, collector.port, &["--listen=tcp:127.0.0.1:0", "--segment-age=9999"]);
    let mut command = Command::new(given.get_program());
    command.args(given.get_args().filter(|argument| *argument != "--segment-size=1"));
    let daemon = Daemon::start(command.arg("--config").arg(&config));
    let mut program = TcpStream::connect(daemon.said("listening on `tcp:")).unwrap();
    let stream = make(&registry(), &Plan { events: 60_000, block_size: 4096, ..Plan::default() }).stream;
    let (first, rest) = stream.split_at(stream.len() / 2);
    assert!(first.len() > 1 << 20);
    program.write_all(first).unwrap();
    wait::until("all but a part of a block has come", || daemon.received() + 8192 > first.len() as u64);
    let cut = || daemon.metric("telemetry_ship_cut_segments_total ");
    assert_eq!(cut(), 0);
    write(1);
    signal(&daemon.child, "-HUP");
    daemon.log.wait_for("reloaded");
    program.write_all(rest).unwrap();
    daemon.wait_for_bytes(&[&stream]);
    assert!(cut() > 0, "the segment is still open");
    daemon.stop();
    assert_eq!(rows(&stored(&fleet)).len(), 60_000);
}

/// The collector does not answer.
#[test]
fn a_new_stop_timeout_applies() {
    let fleet = Fleet::new();
    let config = fleet.host.path("ship.toml");
    std::fs::write(&config, "stop-timeout = 9999\n").unwrap();
    let mut command = command(&fleet, 1, &["--listen=tcp:127.0.0.1:0"]);
    let mut daemon = Daemon::start(command.arg("--config").arg(&config));
    let stream = std::fs::read(&fleet.host.files[0]).unwrap();
    TcpStream::connect(daemon.said("listening on `tcp:")).unwrap().write_all(&stream).unwrap();
    daemon.wait_for_bytes(&[&stream]);
    std::fs::write(&config, "stop-timeout = 0\n").unwrap();
    signal(&daemon.child, "-HUP");
    daemon.log.wait_for("reloaded");
    signal(&daemon.child, "-TERM");
    wait::until("the shipper ends", || daemon.child.try_wait().unwrap().is_some());
    daemon.log.wait_for(" bytes stay in the spool");
}

/// A host that was renamed has segments under its old name in the spool.
#[test]
fn segments_of_another_host_are_refused_and_the_others_sent() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    let mut stream = make(&with_priorities(), &Plan::default()).stream;
    renumber(&mut stream, 1000);
    let spool = Spool::open(fleet.host.path("spool")).unwrap();
    for segment in cut(&spool.open_dir(), "h6", &stream, 1 << 20) {
        spool.add(&segment).unwrap();
    }
    drop(spool);
    let left = files_in(&fleet.host.path("spool/ready"));
    assert!(!left.is_empty());
    let bytes = bytes_in(&fleet.host.path("spool/ready"));

    let watched = fleet.host.path("watched");
    std::fs::create_dir(&watched).unwrap();
    for file in &fleet.host.files {
        std::fs::rename(file, watched.join(file.file_name().unwrap())).unwrap();
    }
    let watch = format!("--watch={}", watched.display());
    let daemon = Daemon::start(&mut command(&fleet, collector.port, &[&watch]));
    wait::until("the files are removed", || files_in(&watched).is_empty());
    wait::until("all are refused", || daemon.metric("telemetry_ship_refused_bytes ") == bytes);
    let log = daemon.stop();
    let why = "it is of the host `h6`, and this shipper is `h7`; help: ship its file with `--host h6`";
    assert!(log.iter().any(|line| line.contains(why)), "{log:?}");
    fleet.host.check(&fleet.host.objects());
    assert_eq!(files_in(&fleet.host.path("spool/refused")).len(), left.len());
}
