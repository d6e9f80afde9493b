//! The processes of a schedule, and what happens to them.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::authority::{Authority, Validity, own_address};
use crate::chaos::check;
use crate::chaos::hosts::{Host, Recorded, Started};
use crate::chaos::plan::{HOSTS, Point, Program, Schedule, Step};
use crate::chaos::process::{PATIENCE, Process, program};
use crate::chaos::store::Store;
use crate::lakes::{TestLake, files_of};

/// Everything of one schedule.
pub(crate) struct World {
    dir: tempfile::TempDir,
    seed: u64,
    authority: Authority,
    pub(crate) hosts: Vec<Host>,
    pub(crate) store: Store,
    /// The lake, if it is in a directory; or else one with the same settings.
    pub(crate) lake: TestLake,
    collector: Option<Process>,
    committers: Vec<Process>,
    address: String,
    certificates: u64,
    waits: u64,
    pub(crate) story: Vec<String>,
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
        // The port is free again when the listener is dropped.
        let port = TcpListener::bind((&*address, 0)).unwrap().local_addr().unwrap().port();
        let mut world = World {
            dir,
            seed: schedule.seed,
            authority,
            hosts: (0..HOSTS).map(|number| Host::new(schedule.seed, number)).collect(),
            store: Store::new(schedule.store, schedule.seed),
            lake: TestLake::new(schedule.form),
            collector: None,
            committers: Vec::new(),
            address: format!("{address}:{port}"),
            certificates: 100,
            waits: 0,
            story: vec![format!("seed {}: {:?}, {:?}", schedule.seed, schedule.store, schedule.form)],
        };
        let mut init = world.lake_command("init");
        init.args(&schedule.form.init()[1..]);
        assert_eq!(world.run(&mut init), Some(0));
        for host in 0..HOSTS {
            std::fs::create_dir(world.path(host, "watched")).unwrap();
            world.give_access(host, true);
            world.start_shipper(host, None);
        }
        world.start_collector(None);
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
            Step::OtherCut { host, number } => self.cut_otherwise(*host, *number),
            Step::Shipper { host, point } => self.start_shipper(*host, point.as_ref()),
            Step::Collector { point } => self.start_collector(point.as_ref()),
            Step::Offline => self.collector = None,
            Step::Access { host, is_good } => self.give_access(*host, *is_good),
            Step::Commit { points } => points.iter().for_each(|point| self.start_committer("commit", point)),
            Step::Compact { point } => self.start_committer("compact", point),
            Step::Faults { one_in } => self.store.set_faults(*one_in, self.seed + number as u64),
            Step::Audit => self.audit(),
        }
        // Some of it happens while the next step does.
        std::thread::sleep(Duration::from_millis(10 * (number as u64 % 5)));
    }

    pub(crate) fn path(&self, host: usize, name: &str) -> PathBuf {
        self.dir.path().join(format!("{}-{name}", self.hosts[host].name))
    }

    fn file(&self, name: &str) -> PathBuf {
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

    fn start_collector(&mut self, point: Option<&String>) {
        let mut command = Command::new(program("telemetry-fleet"));
        command.arg("collect").arg(format!("--listen={}", self.address));
        command.arg("--cert").arg(self.file("collector.pem")).arg("--key").arg(self.file("collector.key"));
        command.arg("--client-ca").arg(&self.authority.file).arg("--tokens").arg(self.file("tokens.toml"));
        command.arg("--spool").arg(self.file("collector-spool"));
        command.arg("--store").arg(self.store.address(&self.lake));
        self.store.settings(&mut command);
        self.collector = None;
        self.collector = Some(Process::start(&mut command, point, &self.file("collector.log")));
    }

    fn start_shipper(&mut self, host: usize, point: Option<&String>) {
        let mut command = Command::new(program("telemetry-fleet"));
        command.args(["ship", "--segment-size=1", "--spool-limit=1", "--segment-age=1"]);
        command.args(["--stop-timeout=1", "--metrics=127.0.0.1:0"]);
        command.args(["--host", &self.hosts[host].name]).arg(format!("--to=tls://{}", self.address));
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

    fn lake_command(&self, what: &str) -> Command {
        let mut command = Command::new(program("telemetry-lake"));
        command.arg(what).arg(self.store.address(&self.lake));
        self.store.settings(&mut command);
        command
    }

    fn start_committer(&mut self, what: &str, point: &Point) {
        let mut command = self.lake_command(what);
        command.arg("--lease=0");
        if what == "commit" {
            command.args(["--max-segments=6", "--checkpoint=1"]);
        }
        let log = self.file("committers.log");
        self.committers.push(Process::start(&mut command, point.as_ref(), &log));
    }

    /// Runs a command to its end.
    fn run(&self, command: &mut Command) -> Option<i32> {
        Process::start(command, None, &self.file("committers.log")).wait("a command")
    }

    fn record_file(&mut self, host: usize, cut: Option<u64>) {
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

    fn cut_otherwise(&self, host: usize, number: u64) {
        let Some(recorded) = self.hosts[host].recorded.get(number as usize) else { return };
        let (other, lake) = (TestLake::new(self.lake.form), &self.lake);
        let cutting = if matches!(self.store, Store::Directory) { lake } else { &other };
        for segment in cutting.ship_cut(&self.hosts[host].name, &recorded.stream, 50_000) {
            let name = segment.strip_prefix(cutting.path()).unwrap().to_str().unwrap();
            self.store.put(name, &std::fs::read(&segment).unwrap());
        }
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
            if !self.hosts[host].shipper.as_mut().is_some_and(Process::is_alive) {
                self.start_shipper(host, None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for all programs, and kills those that are to be.
    fn end_programs(&mut self) {
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
            if !self.hosts[host].shipper.as_mut().is_some_and(Process::is_alive) {
                self.start_shipper(host, None);
            }
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
            self.store.set_faults(0, 0);
            for host in 0..HOSTS {
                self.give_access(host, true);
            }
            self.start_collector(None);
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

    /// Makes everything work, and waits until all is sent and committed.
    pub(crate) fn heal(&mut self) {
        for host in 0..HOSTS {
            while !self.hosts[host].future.is_empty() {
                self.record_file(host, None);
            }
        }
        self.end_programs();
        self.store.set_faults(0, 0);
        self.start_collector(None);
        for host in 0..HOSTS {
            self.give_access(host, true);
            // It reads what programs have sent, and closes their segments.
            if let Some(shipper) = &mut self.hosts[host].shipper {
                let is_whole = shipper.stop("a shipper") == Some(0);
                self.hosts[host].starts += u64::from(!is_whole);
            }
            let starts = self.hosts[host].starts;
            self.start_shipper(host, None);
            self.hosts[host].starts = starts;
        }
        let patience = Instant::now() + PATIENCE;
        for host in 0..HOSTS {
            while self.is_left(host) {
                assert!(Instant::now() < patience, "segments are left");
                let shipper = self.hosts[host].shipper.as_mut().unwrap();
                assert!(shipper.is_alive(), "a shipper has ended");
                assert!(self.collector.as_mut().unwrap().is_alive(), "the collector has ended");
                std::thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(files_of(&self.path(host, "spool/refused")), [] as [PathBuf; 0], "refused");
        }
        self.commit();
    }

    /// Says whether a host has something that the store does not have.
    fn is_left(&self, host: usize) -> bool {
        !self.on_the_way(host).is_empty()
    }

    /// The files of a host with events that the store may not have.
    fn on_the_way(&self, host: usize) -> Vec<PathBuf> {
        let folders = ["watched", "spool/ready", "spool/live"];
        let mut files: Vec<_> =
            folders.iter().flat_map(|folder| files_of(&self.path(host, folder))).collect();
        // The facts of sessions are in files of their own, and damaged files are kept.
        files.retain(|file| file.extension().is_some_and(|end| end == "tel" || end == "open"));
        files
    }

    /// Commits everything that is in the store, and has the lake in its directory.
    fn commit(&mut self) {
        for mut committer in std::mem::take(&mut self.committers) {
            // It has ended by itself, or at its point.
            committer.wait("a committer");
        }
        let log = || std::fs::read_to_string(self.file("committers.log")).unwrap_or_default();
        let mut tries = 0;
        while self.run(self.lake_command("commit").arg("--lease=0")) != Some(0) {
            // The store may still do what it was asked by a process that is gone.
            let last = log().lines().last().unwrap_or_default().to_owned();
            tries += 1;
            assert!(tries < 4 && last.starts_with("error: another process"), "the last commit: {last}");
        }
        self.store.fetch(&self.lake);
    }

    /// Kills everything, and checks that nothing is gone. Then it goes on.
    fn audit(&mut self) {
        self.end_programs();
        self.collector = None;
        self.store.set_faults(0, 0);
        self.hosts.iter_mut().for_each(|host| host.shipper = None);
        self.commit();
        let lanes = self.lake.lanes();
        for host in 0..HOSTS {
            let left: Vec<_> =
                self.on_the_way(host).iter().map(|path| std::fs::read(path).unwrap()).collect();
            check::none_is_gone(self, &self.hosts[host], &lanes, &left);
        }
        self.start_collector(None);
        for host in 0..HOSTS {
            self.start_shipper(host, None);
        }
    }

    /// Checks the accounts of all lanes, and the verdict. Returns the sums of what is not there.
    pub(crate) fn check(&mut self) -> check::Sums {
        let sums = check::check(self);
        for (name, log) in self.logs() {
            assert!(!log.contains("panicked at"), "a panic in {name}");
        }
        let code = self.run(&mut self.lake_command("complete"));
        let is_complete = sums.missing == 0;
        assert_eq!(code, Some(i32::from(!is_complete)), "the verdict");
        sums
    }

    /// What happened, for a schedule that fails.
    pub(crate) fn tell(&self) -> String {
        let mut text = self.story.join("\n  ");
        for (name, log) in self.logs() {
            text += &format!("\n{name}:\n{log}");
        }
        text
    }

    /// The logs of all processes, with their names.
    fn logs(&self) -> Vec<(String, String)> {
        let mut files = files_of(self.dir.path());
        files.retain(|path| path.to_str().is_some_and(|path| path.ends_with("log")));
        let name = |path: &PathBuf| path.strip_prefix(self.dir.path()).unwrap_or(path).display().to_string();
        files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap_or_default())).collect()
    }
}
