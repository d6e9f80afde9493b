//! Random schedules of faults, with hosts, a collector and a store as processes.
//!
//! After each, every event of every host is in the store, or shed and told. `TELEMETRY_SCHEDULES`
//! is their number, and `TELEMETRY_SEED` the first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use telemetry_fleet::segment::SegmentName;
use telemetry_testing::fake_s3::FakeS3;
use telemetry_testing::made::{Plan, make, turn_clock};

use crate::authority::{Authority, Validity, own_address};
use crate::rows::{Lane, rows, shed_of};
use crate::s3::credentials;
use crate::segments::with_priorities;
use crate::ship::{files_in, renumber};

/// Points at which a process ends.
const SHIPPER: [&str; 6] = [
    "ship-live-cut",
    "ship-spooled",
    "ship-before-remove",
    "ship-before-file-removed",
    "ship-shed",
    "ship-shed-kept",
];
const COLLECTOR: [&str; 4] =
    ["collect-received", "collect-before-put", "collect-after-put", "collect-answer"];

/// Nothing that a schedule waits for takes longer. One that hangs must tell its story.
const PATIENCE: Duration = Duration::from_secs(120);

/// The numbers of a schedule.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// One of the points, at its first to third time, or none.
    fn point(&mut self, points: &[&str]) -> Option<String> {
        let point = points[self.below(points.len())];
        let time = 1 + self.below(3);
        (self.below(3) > 0).then(|| format!("{point}:{time}"))
    }
}

/// A process that is killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn start(command: &mut Command, point: Option<String>, log: &Path) -> Process {
        let log = File::options().create(true).append(true).open(log).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        if let Some(point) = point {
            command.env("FAILPOINT", point);
        }
        Process(command.spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

/// A host with its streams.
struct Host {
    name: String,
    /// Streams that it has not recorded yet.
    future: Vec<Vec<u8>>,
    recorded: Vec<Vec<u8>>,
    shipper: Option<Process>,
    /// Bytes that programs sent to this shipper.
    sent: usize,
}

/// Everything of one schedule.
struct World {
    dir: tempfile::TempDir,
    random: Random,
    authority: Authority,
    hosts: Vec<Host>,
    s3: Option<FakeS3>,
    collector: Option<Process>,
    address: String,
    steps: Vec<String>,
}

impl World {
    fn new(seed: u64) -> World {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::new(dir.path(), "authority");
        let address = own_address();
        let (cert, key) = authority.sign(&address, 1, Validity::Good);
        std::fs::rename(cert, dir.path().join("collector.pem")).unwrap();
        std::fs::rename(key, dir.path().join("collector.key")).unwrap();
        let mut random = Random(seed);
        for _ in 0..4 {
            random.below(2);
        }
        let s3 = (random.below(2) == 0).then(|| FakeS3::start(seed, 6));
        // The port is free again when the listener is dropped.
        let port = std::net::TcpListener::bind((&*address, 0)).unwrap().local_addr().unwrap().port();
        let hosts = (0..2).map(|number| Host::new(seed, number)).collect();
        let mut world = World {
            dir,
            random,
            authority,
            hosts,
            s3,
            collector: None,
            address: format!("{address}:{port}"),
            steps: vec![format!("seed {seed}")],
        };
        for host in 0..2 {
            std::fs::create_dir(world.path(host, "watched")).unwrap();
            world.certificate(host, Validity::Good);
        }
        world
    }

    fn path(&self, host: usize, name: &str) -> PathBuf {
        self.dir.path().join(format!("{}-{name}", self.hosts[host].name))
    }

    /// Gives a host a certificate.
    fn certificate(&mut self, host: usize, validity: Validity) {
        let serial = 100 + self.random.below(1000) as u64;
        let (cert, key) = self.authority.sign(&self.hosts[host].name, serial, validity);
        std::fs::rename(cert, self.path(host, "cert.pem")).unwrap();
        std::fs::rename(key, self.path(host, "cert.key")).unwrap();
    }

    fn start_collector(&mut self, point: Option<String>) {
        let file = |name: &str| self.dir.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
        command.arg("collect").arg(format!("--listen={}", self.address));
        command.arg("--cert").arg(file("collector.pem")).arg("--key").arg(file("collector.key"));
        command.arg("--client-ca").arg(&self.authority.file).arg("--spool").arg(file("collector-spool"));
        match &self.s3 {
            Some(s3) => {
                credentials(&mut command, &s3.endpoint);
                command.arg("--store=s3://fleet/prod");
            }
            None => {
                command.arg(format!("--store=file://{}", file("store").display()));
            }
        }
        self.collector = None;
        self.collector = Some(Process::start(&mut command, point, &file("collector.log")));
    }

    fn start_shipper(&mut self, host: usize, point: Option<String>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
        command.args([
            "ship",
            "--segment-size=1",
            "--spool-limit=1",
            "--segment-age=1",
            "--metrics=127.0.0.1:0",
        ]);
        command.args(["--host", &self.hosts[host].name]).arg(format!("--to=tls://{}", self.address));
        command.arg(format!("--listen=unix:{}", self.path(host, "socket").display()));
        command.arg("--watch").arg(self.path(host, "watched")).arg("--spool").arg(self.path(host, "spool"));
        command.arg("--ca").arg(&self.authority.file);
        command.arg("--cert").arg(self.path(host, "cert.pem")).arg("--key").arg(self.path(host, "cert.key"));
        let log = self.path(host, "log");
        (self.hosts[host].shipper, self.hosts[host].sent) = (None, 0);
        self.hosts[host].shipper = Some(Process::start(&mut command, point, &log));
    }

    /// Does one thing of the schedule.
    fn step(&mut self) {
        let host = self.random.below(self.hosts.len());
        let step = match self.random.below(9) {
            0 | 1 => self.record_file(host),
            2 | 3 => self.record_live(host),
            4 => {
                let point = self.random.point(&SHIPPER);
                let text = format!("kill shipper {host}, then {point:?}");
                self.start_shipper(host, point);
                text
            }
            5 => {
                let point = self.random.point(&COLLECTOR);
                let text = format!("kill collector, then {point:?}");
                self.start_collector(point);
                text
            }
            6 => {
                self.collector = None;
                "collector offline".to_owned()
            }
            7 => {
                let validity = [Validity::Good, Validity::Expired][self.random.below(2)];
                self.certificate(host, validity);
                format!("certificate of {host}: {validity:?}")
            }
            _ => self.repeat(host),
        };
        self.steps.push(step);
    }

    fn record_file(&mut self, host: usize) -> String {
        let Some(stream) = self.hosts[host].future.pop() else { return "nothing to record".to_owned() };
        let number = self.hosts[host].recorded.len();
        self.write(host, &format!("app.{number}.tel"), &stream);
        self.hosts[host].recorded.push(stream);
        format!("host {host} closes file {number}")
    }

    /// Writes a closed file.
    fn write(&self, host: usize, name: &str, stream: &[u8]) {
        let (new, path) = (self.path(host, "new"), self.path(host, "watched").join(name));
        let file = File::create(&new).unwrap();
        (&file).write_all(stream).unwrap();
        // The clock of the host may have been set back since.
        let minute = Duration::from_secs(60);
        let times = [SystemTime::now() - minute, SystemTime::now() + 60 * minute];
        file.set_modified(times[usize::from(stream.len().is_multiple_of(2))]).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    /// Closes a file again that was shipped before, as after a restored backup.
    fn repeat(&mut self, host: usize) -> String {
        let count = self.hosts[host].recorded.len();
        if count == 0 {
            return "nothing to repeat".to_owned();
        }
        let number = self.random.below(count);
        self.write(host, &format!("again.{number}.tel"), &self.hosts[host].recorded[number]);
        format!("host {host} closes file {number} again")
    }

    /// Sends a stream as a program, and again if the shipper ends meanwhile.
    fn record_live(&mut self, host: usize) -> String {
        let Some(stream) = self.hosts[host].future.pop() else { return "nothing to record".to_owned() };
        let number = self.hosts[host].recorded.len();
        let patience = Instant::now() + PATIENCE;
        while !self.send(host, &stream, patience) {
            assert!(Instant::now() < patience, "a stream is not taken\n{}", self.story());
            let shipper = self.hosts[host].shipper.as_mut();
            if !shipper.is_some_and(Process::is_alive) {
                self.start_shipper(host, None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.hosts[host].recorded.push(stream);
        format!("a program of host {host} sends stream {number}")
    }

    /// Sends a stream as a program. Says whether the shipper has it in a file.
    fn send(&mut self, host: usize, stream: &[u8], patience: Instant) -> bool {
        let Ok(mut socket) = UnixStream::connect(self.path(host, "socket")) else { return false };
        self.hosts[host].sent += stream.len();
        let end = socket.try_clone().unwrap();
        std::thread::scope(|scope| {
            // A shipper whose spool is full reads no more.
            scope.spawn(|| socket.write_all(stream));
            for turn in 1.. {
                match self.received(host) {
                    Some(received) if received == self.hosts[host].sent => return true,
                    Some(_) => std::thread::sleep(Duration::from_millis(5)),
                    None => return false,
                }
                if Instant::now() > patience {
                    // The other thread may wait for a shipper that does not read.
                    let _ = end.shutdown(Shutdown::Both);
                    return false;
                }
                if turn % 200 == 0 {
                    self.certificate(host, Validity::Good);
                    self.start_collector(None);
                    self.steps.push("collector, because a spool is full".to_owned());
                }
            }
            false
        })
    }

    /// Returns the bytes that the shipper has read, or `None` if it has ended.
    fn received(&self, host: usize) -> Option<usize> {
        let log = std::fs::read_to_string(self.path(host, "log")).ok()?;
        let address = log.lines().rev().find_map(|line| line.strip_prefix("metrics at http://"))?;
        let mut page = String::new();
        let mut stream = TcpStream::connect(address.trim_end_matches("/metrics")).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
        stream.read_to_string(&mut page).ok()?;
        let line = page.lines().find_map(|line| line.strip_prefix("telemetry_ship_received_bytes_total "))?;
        line.parse().ok()
    }

    /// Makes everything work, and waits until all is sent.
    fn heal(&mut self) {
        if let Some(s3) = &self.s3 {
            s3.set_faults(0);
        }
        self.start_collector(None);
        for host in 0..self.hosts.len() {
            self.certificate(host, Validity::Good);
            self.start_shipper(host, None);
        }
        let is_left = |world: &World, host: usize| {
            ["watched", "spool/ready", "spool/live"].iter().any(|folder| {
                files_in(&world.path(host, folder))
                    .iter()
                    .any(|file| file.extension().is_some_and(|end| end != "context"))
            })
        };
        let patience = Instant::now() + PATIENCE;
        for host in 0..self.hosts.len() {
            while is_left(self, host) {
                assert!(Instant::now() < patience, "segments are left\n{}", self.story());
                let shipper = self.hosts[host].shipper.as_mut().unwrap();
                assert!(shipper.is_alive(), "{}", self.story());
                assert!(self.collector.as_mut().unwrap().is_alive(), "{}", self.story());
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// The objects of a host.
    fn objects(&self, host: &str) -> Vec<Vec<u8>> {
        let all: Vec<_> = match &self.s3 {
            Some(s3) => {
                s3.objects().into_iter().map(|(key, bytes)| (key.replace("prod/", ""), bytes)).collect()
            }
            None => {
                let store = self.dir.path().join("store");
                let name = |path: &Path| path.strip_prefix(&store).unwrap().to_str().unwrap().to_owned();
                files_in(&store).iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
            }
        };
        let of_host = |name: &str| name.parse::<SegmentName>().is_ok_and(|name| name.host.as_str() == host);
        all.into_iter().filter(|(name, _)| of_host(name)).map(|(_, bytes)| bytes).collect()
    }

    /// Checks that each lane's recorded events are stored or shed, and that no key has two values.
    fn check(&self) -> u64 {
        let mut shed_events = 0;
        for host in &self.hosts {
            let wanted: BTreeSet<_> = host.recorded.iter().flat_map(|stream| rows(stream)).collect();
            let objects = self.objects(&host.name);
            let mut found = BTreeMap::new();
            for row in objects.iter().flat_map(|object| rows(object)) {
                let (session, thread, kind, position, text) = row;
                let before = found.insert((session, thread, kind, position), text.clone());
                assert!(before.is_none_or(|before| before == text), "{}", self.story());
            }
            let mut shed: BTreeMap<Lane, Vec<_>> = BTreeMap::new();
            for (lane, range) in objects.iter().flat_map(|object| shed_of(object)) {
                shed.entry(lane).or_default().push(range);
            }
            for (session, thread, kind, position, text) in &wanted {
                let is_found =
                    found.remove(&(*session, *thread, *kind, *position)).is_some_and(|found| found == *text);
                let ranges = shed.get(&(*session, *thread, *kind)).into_iter().flatten();
                let is_shed = ranges.clone().any(|range| range.contains(position));
                shed_events += u64::from(!is_found);
                let key = (session, thread, kind, position);
                assert!(
                    is_found || is_shed,
                    "{}: {key:?} is neither stored nor shed\n{}",
                    host.name,
                    self.story()
                );
            }
            assert!(found.is_empty(), "{}: events of no stream\n{}", host.name, self.story());
        }
        shed_events
    }

    /// What happened, for a schedule that fails.
    fn story(&self) -> String {
        let mut story = self.steps.join("\n  ");
        for name in ["collector.log", "h0-log", "h1-log"] {
            let log = std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
            story += &format!("\n{name}:\n{log}");
        }
        story
    }
}

impl Host {
    fn new(seed: u64, number: u64) -> Host {
        let registry = with_priorities();
        let future = (0..4).map(|part| {
            let plan = Plan {
                seed: seed * 100 + number * 10 + part,
                events: 6000,
                block_size: 2048,
                flush: 40,
                ..Plan::default()
            };
            let mut stream = make(&registry, &plan).stream;
            renumber(&mut stream, 1000 * number + 10 * part);
            turn_clock(&mut stream, seed + number + part);
            stream
        });
        Host {
            name: format!("h{number}"),
            future: future.collect(),
            recorded: Vec::new(),
            shipper: None,
            sent: 0,
        }
    }
}

fn run(seed: u64) -> (u64, bool) {
    let mut world = World::new(seed);
    world.start_collector(None);
    for host in 0..world.hosts.len() {
        world.start_shipper(host, None);
    }
    for _ in 0..14 {
        world.step();
    }
    for host in 0..world.hosts.len() {
        while !world.hosts[host].future.is_empty() {
            let step = world.record_file(host);
            world.steps.push(step);
        }
    }
    world.heal();
    (world.check(), world.s3.is_some())
}

#[test]
fn every_schedule_keeps_the_account() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap());
    let (first, count) = (number("TELEMETRY_SEED", 1), number("TELEMETRY_SCHEDULES", 20));
    // Most of the time is spent waiting.
    let part = |number: u64| {
        std::thread::spawn(move || {
            let seeds = (first..first + count).filter(|seed| seed % 4 == number);
            seeds.map(run).fold((0, 0), |sum, (shed, is_s3)| (sum.0 + shed, sum.1 + u64::from(is_s3)))
        })
    };
    let parts = [part(0), part(1), part(2), part(3)].map(|part| part.join().unwrap());
    let (shed, in_s3) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    println!("{count} schedules, {in_s3} of them with S3; {shed} events shed");
}
