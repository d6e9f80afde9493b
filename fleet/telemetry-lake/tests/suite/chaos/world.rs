//! The processes of a schedule, and what happens to them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use telemetry_fleet::segment::SegmentName;

use crate::authority::{Authority, Validity, own_address};
use crate::chaos::disks::Disks;
use crate::chaos::end::COMMITTERS;
use crate::chaos::gone::{Gone, cut};
use crate::chaos::hosts::{Host, Recorded, Started};
use crate::chaos::plan::{COLLECTORS, GONE, HOSTS, Point, Program, Schedule, Step};
use crate::chaos::process::{PATIENCE, Process, program};
use crate::chaos::store::Store;
use crate::lakes::TestLake;

/// Everything of one schedule.
pub(crate) struct World {
    seed: u64,
    authority: Authority,
    pub(crate) hosts: Vec<Host>,
    pub(crate) store: Store,
    /// The lake, if it is in a directory; or else one with the same settings.
    pub(crate) lake: TestLake,
    pub(super) collectors: [Option<Process>; COLLECTORS],
    pub(super) committers: Vec<Process>,
    /// Those of the collectors.
    addresses: [String; COLLECTORS],
    disks: Disks,
    pub(super) gone: Gone,
    /// Segments in the store that are cut off.
    pub(super) halves: BTreeSet<String>,
    certificates: u64,
    waits: u64,
    pub(crate) story: Vec<String>,
    /// The last, because disks are mounted in it.
    pub(super) dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new(schedule: &Schedule) -> World {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::new(dir.path(), "authority");
        let address = own_address();
        let (cert, key) = authority.sign(&address, 1, Validity::Good);
        std::fs::rename(cert, dir.path().join("collector.pem")).unwrap();
        std::fs::rename(key, dir.path().join("collector.key")).unwrap();
        std::fs::write(dir.path().join("tokens.toml"), "").unwrap();
        // The ports are free again when the listeners are dropped.
        let listeners = [(); COLLECTORS].map(|()| TcpListener::bind((&*address, 0)).unwrap());
        let addresses = listeners.map(|listener| listener.local_addr().unwrap().to_string());
        let mut world = World {
            dir,
            seed: schedule.seed,
            authority,
            hosts: (0..HOSTS).map(|number| Host::new(schedule.seed, number)).collect(),
            store: Store::new(schedule.store, schedule.seed),
            lake: TestLake::new(schedule.form),
            collectors: [const { None }; COLLECTORS],
            committers: Vec::new(),
            addresses,
            disks: Disks::default(),
            gone: Gone::new(schedule.seed),
            halves: BTreeSet::new(),
            certificates: 100,
            waits: 0,
            story: vec![format!("seed {}: {:?}, {:?}", schedule.seed, schedule.store, schedule.form)],
        };
        let mut init = world.lake_command("init");
        init.args(&schedule.form.init()[1..]);
        assert_eq!(world.run(&mut init), Some(0));
        for host in 0..HOSTS {
            std::fs::create_dir(world.path(host, "watched")).unwrap();
            world.disks.add(&world.path(host, "spool"));
            world.give_access(host, true);
            world.start_shipper(host, None);
        }
        for which in 0..COLLECTORS {
            world.disks.add(&world.collector_spool(which));
            world.start_collector(which, None);
        }
        world
    }

    /// Does one thing of the schedule.
    pub(crate) fn step(&mut self, step: &Step) {
        let number = self.story.len();
        self.story.push(format!("{step:?}"));
        self.hosts.iter_mut().flat_map(|host| &mut host.programs).for_each(Started::kill_if_due);
        match step {
            Step::File { host, cut } => self.record_file(*host, *cut),
            Step::Live { host } => self.record_live(*host),
            Step::Program(program) => self.start_program(program),
            Step::Again { host, number } => self.repeat(*host, *number),
            Step::OtherCut { host, number, is_half } => self.cut_otherwise(*host, *number, *is_half),
            Step::Shipper { host, to, point } => {
                self.hosts[*host].to = *to;
                self.start_shipper(*host, point.as_ref());
            }
            Step::Collector { which, point } => self.start_collector(*which, point.as_ref()),
            Step::Offline { busy } => {
                self.end_collectors();
                busy.iter().for_each(|program| self.start_program(program));
            }
            Step::Disk { whose, is_full } => self.disks.fill(*whose, *is_full),
            Step::OfGone => {
                let segments = self.gone.next(self.lake.form);
                self.put_all(&segments);
            }
            Step::Delete { point, beside } => self.start_beside(*beside, "delete", point),
            Step::Vacuum => self.start_committer("vacuum", &None),
            Step::Access { host, is_good } => self.give_access(*host, *is_good),
            Step::Commit { points } => points.iter().for_each(|point| self.start_committer("commit", point)),
            Step::Compact { point, beside } => self.start_beside(*beside, "compact", point),
            Step::Faults { one_in } => self.store.set_faults(*one_in, self.seed + number as u64),
            Step::Audit => self.audit(),
        }
        // Some of it happens while the next step does.
        std::thread::sleep(Duration::from_millis(10 * (number as u64 % 5)));
    }

    pub(crate) fn path(&self, host: usize, name: &str) -> PathBuf {
        self.dir.path().join(format!("{}-{name}", self.hosts[host].name))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Gives a host another certificate or token.
    fn give_access(&mut self, host: usize, is_good: bool) {
        self.certificates += 1;
        let name = self.hosts[host].name.clone();
        if host == 0 {
            let validity = if is_good { Validity::Good } else { Validity::Expired };
            let (cert, key) = self.authority.sign(&name, self.certificates, validity);
            std::fs::rename(cert, self.path(host, "cert.pem")).unwrap();
            std::fs::rename(key, self.path(host, "cert.key")).unwrap();
            return;
        }
        let mut command = Command::new(program("telemetry-fleet"));
        command.args(["token", &name, "--days", if is_good { "90" } else { "0" }, "--tokens"]);
        let token = command.arg(self.file("tokens.toml")).output().unwrap();
        assert!(token.status.success(), "{token:?}");
        let new = self.path(host, "token.new");
        std::fs::write(&new, token.stdout).unwrap();
        std::fs::rename(new, self.path(host, "token")).unwrap();
    }

    fn collector_spool(&self, which: usize) -> PathBuf {
        self.file(&format!("collector-{which}"))
    }

    pub(super) fn end_collectors(&mut self) {
        self.collectors.iter_mut().for_each(|collector| *collector = None);
    }

    pub(super) fn start_collector(&mut self, which: usize, point: Option<&String>) {
        let mut command = Command::new(program("telemetry-fleet"));
        command.arg("collect").arg(format!("--listen={}", self.addresses[which]));
        command.arg("--cert").arg(self.file("collector.pem")).arg("--key").arg(self.file("collector.key"));
        command.arg("--client-ca").arg(&self.authority.file).arg("--tokens").arg(self.file("tokens.toml"));
        command.arg("--spool").arg(self.collector_spool(which));
        command.arg("--store").arg(self.store.address(&self.lake));
        self.store.settings(&mut command);
        let log = self.file(&format!("collector-{which}.log"));
        self.collectors[which] = None;
        self.collectors[which] = Some(Process::start(&mut command, point, &log));
    }

    pub(super) fn start_shipper(&mut self, host: usize, point: Option<&String>) {
        let mut command = Command::new(program("telemetry-fleet"));
        command.args(["ship", "--segment-size=1", "--spool-limit=1", "--segment-age=1"]);
        command.args(["--stop-timeout=1", "--metrics=127.0.0.1:0"]);
        let to = self.hosts[host].to;
        command.args(["--host", &self.hosts[host].name]).arg(format!("--to=tls://{}", self.addresses[to]));
        command.arg(format!("--listen=unix:{}", self.path(host, "socket").display()));
        command.arg("--watch").arg(self.path(host, "watched")).arg("--spool").arg(self.path(host, "spool"));
        command.arg("--ca").arg(&self.authority.file);
        match host {
            0 => {
                let (cert, key) = (self.path(host, "cert.pem"), self.path(host, "cert.key"));
                command.arg("--cert").arg(cert).arg("--key").arg(key)
            }
            _ => command.arg("--token-file").arg(self.path(host, "token")),
        };
        let log = self.path(host, "log");
        let own = &mut self.hosts[host];
        own.shipper = None;
        own.starts += 1;
        own.shipper = Some(Process::start(&mut command, point, &log));
    }

    pub(super) fn lake_command(&self, what: &str) -> Command {
        let mut command = Command::new(program("telemetry-lake"));
        command.arg(what).arg(self.store.address(&self.lake));
        self.store.settings(&mut command);
        command
    }

    pub(super) fn start_committer(&mut self, what: &str, point: &Point) {
        let mut command = self.lake_command(what);
        match what {
            "commit" => command.args(["--lease=0", "--max-segments=6", "--checkpoint=1"]),
            "delete" => command.args(["--lease=0", "--host", GONE]),
            // It needs no lease.
            "vacuum" => command.arg(format!("--older-than={}", Gone::days_ago())),
            _ => command.arg("--lease=0"),
        };
        let log = self.file(COMMITTERS);
        self.committers.push(Process::start(&mut command, point.as_ref(), &log));
    }

    /// Runs a command to its end.
    pub(super) fn run(&self, command: &mut Command) -> Option<i32> {
        Process::start(command, None, &self.file(COMMITTERS)).wait("a command")
    }

    pub(super) fn record_file(&mut self, host: usize, cut: Option<u64>) {
        let Some(made) = self.hosts[host].future.pop() else { return };
        let recorded = Recorded::of(made, cut);
        let number = self.hosts[host].recorded.len();
        self.write(host, &format!("app.{number}.tel"), &recorded.stream);
        self.hosts[host].recorded.push(recorded);
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

    fn repeat(&self, host: usize, number: u64) {
        if let Some(recorded) = self.hosts[host].recorded.get(number as usize) {
            self.write(host, &format!("again.{number}.tel"), &recorded.stream);
        }
    }

    fn cut_otherwise(&mut self, host: usize, number: u64, is_half: bool) {
        let Some(recorded) = self.hosts[host].recorded.get(number as usize) else { return };
        let mut segments = cut(self.lake.form, &self.hosts[host].name, &recorded.stream, 50_000);
        if is_half && let Some((name, bytes)) = segments.last_mut() {
            // The whole one may come under its own name.
            let mut half: SegmentName = name.parse().unwrap();
            half.intervals ^= 1;
            *name = half.to_string();
            bytes.truncate(bytes.len() - 40);
            self.halves.insert(name.clone());
        }
        self.put_all(&segments);
    }

    pub(super) fn put_all(&self, segments: &[(String, Vec<u8>)]) {
        segments.iter().for_each(|(name, bytes)| self.store.put(&self.lake, name, bytes));
    }

    fn start_program(&mut self, plan: &Program) {
        let host = plan.host;
        let number = self.hosts[host].programs.len();
        let mut command = Command::new(program("examples/emit"));
        command.args([plan.version, &plan.events.to_string(), &plan.rounds.to_string()]);
        if plan.is_late {
            command.arg("late");
        }
        let to = match plan.is_live {
            true => format!("unix:{}", self.path(host, "socket").display()),
            false => self.path(host, "watched").join(format!("emit.{number}.tel")).display().to_string(),
        };
        command.env("TELEMETRY_FILENAME", to).env("TELEMETRY_CONTROL", "all");
        command.env("TELEMETRY_SOCKET", "off").env("TELEMETRY_LATENCY", "0.05");
        command.env("TELEMETRY_FACTS", "env:EMIT").env("EMIT", number.to_string());
        command.env("TELEMETRY_BUFFER", if plan.is_short { "64k" } else { "16M" });
        if plan.is_live {
            self.wait_for_shipper(host);
        }
        let log = self.path(host, &format!("program.{number}.log"));
        let process = Process::start(&mut command, None, &log);
        let killed = plan.killed.map(|after| Instant::now() + Duration::from_millis(after));
        let starts = self.hosts[host].starts;
        self.hosts[host].programs.push(Started { plan: plan.clone(), process, log, killed, starts });
    }

    /// Waits until a shipper listens. A short program would end before it connects again.
    fn wait_for_shipper(&mut self, host: usize) {
        let patience = Instant::now() + PATIENCE;
        while self.metric(host, "connections").is_none() {
            assert!(Instant::now() < patience, "a shipper does not listen");
            self.keep_shipper(host);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a shipper if none runs. It may have ended because its disk is full.
    fn keep_shipper(&mut self, host: usize) {
        if !self.hosts[host].shipper.as_mut().is_some_and(Process::is_alive) {
            self.disks.fill(host, false);
            self.start_shipper(host, None);
        }
    }

    /// Waits for all programs, and kills those that are to be.
    pub(super) fn end_programs(&mut self) {
        for program in self.hosts.iter_mut().flat_map(|host| &mut host.programs) {
            program.end();
        }
    }

    /// Sends a stream as a program does, and again if the shipper ends meanwhile.
    fn record_live(&mut self, host: usize) {
        let Some(made) = self.hosts[host].future.pop() else { return };
        let recorded = Recorded::of(made, None);
        // What they send would be counted, too.
        self.end_programs();
        let patience = Instant::now() + PATIENCE;
        while !self.send(host, &recorded.stream, patience) {
            assert!(Instant::now() < patience, "a stream is not taken");
            self.keep_shipper(host);
            std::thread::sleep(Duration::from_millis(5));
        }
        self.hosts[host].recorded.push(recorded);
    }

    /// Sends a stream. Says whether the shipper has it in a file.
    fn send(&mut self, host: usize, stream: &[u8], patience: Instant) -> bool {
        // Other programs have ended, and what they sent is read before the stream.
        let before = loop {
            match self.metric(host, "connections") {
                Some(0) => break self.metric(host, "received_bytes_total"),
                Some(_) => self.wait_for_space(patience),
                None => break None,
            }
        };
        let Some(before) = before else { return false };
        let Ok(mut socket) = UnixStream::connect(self.path(host, "socket")) else { return false };
        let end = socket.try_clone().unwrap();
        std::thread::scope(|scope| {
            // A shipper whose spool is full reads no more.
            scope.spawn(move || socket.write_all(stream));
            while Instant::now() < patience {
                match self.metric(host, "received_bytes_total") {
                    Some(received) if received == before + stream.len() as u64 => return true,
                    // A program that has ended was accepted only now. Send the stream again.
                    Some(received) if received > before + stream.len() as u64 => break,
                    Some(_) => self.wait_for_space(patience),
                    None => break,
                }
            }
            // The other thread may wait for a shipper that does not read.
            let _ = end.shutdown(Shutdown::Both);
            false
        })
    }

    /// Waits a moment. After a second of that, everything works that a full spool waits for.
    fn wait_for_space(&mut self, patience: Instant) {
        std::thread::sleep(Duration::from_millis(5));
        assert!(Instant::now() < patience, "a shipper does not read");
        self.waits += 1;
        if self.waits.is_multiple_of(200) {
            self.story.push("everything works, because a spool is full".to_owned());
            self.repair();
        }
    }

    /// Lets everything work that segments need on their way.
    pub(super) fn repair(&mut self) {
        self.store.set_faults(0, 0);
        self.disks.free();
        for host in 0..HOSTS {
            self.give_access(host, true);
        }
        for which in 0..COLLECTORS {
            self.start_collector(which, None);
        }
    }

    /// Returns a metric of a shipper, or `None` if it has ended.
    fn metric(&self, host: usize, name: &str) -> Option<u64> {
        let log = std::fs::read_to_string(self.path(host, "log")).ok()?;
        let address = log.lines().rev().find_map(|line| line.strip_prefix("metrics at http://"))?;
        let mut page = String::new();
        let mut stream = TcpStream::connect(address.trim_end_matches("/metrics")).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
        stream.read_to_string(&mut page).ok()?;
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("telemetry_ship_{name} ")))?;
        line.parse().ok()
    }
}
