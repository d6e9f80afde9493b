//! Each side ends at each named point, twice, and goes on: the store has each event, and readers
//! find it once.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use telemetry_testing::wait;

use crate::collect::{Collector, Fleet, Log};
use crate::daemon::{Daemon, command, signal, write_closed};
use crate::ship::files_in;

/// The points of the source, each with the file or folder that has it.
fn points() -> BTreeSet<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut points = BTreeSet::new();
    for path in files_in(&source) {
        let name = path.strip_prefix(&source).unwrap().to_str().unwrap();
        // It defines what the others call.
        if name == "failpoint.rs" {
            continue;
        }
        let (text, part) = (std::fs::read_to_string(&path).unwrap(), name.split('/').next().unwrap());
        for call in text.split("failpoint(").skip(1) {
            let point = call.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let Some((point, _)) = point else { panic!("{name}: a point without a name") };
            points.insert((part.to_owned(), point.to_owned()));
        }
    }
    points
}

/// Says whether a process ended at a point.
fn is_aborted(status: ExitStatus) -> bool {
    const SIGABRT: i32 = 6;
    status.signal() == Some(SIGABRT)
}

/// A host whose shippers and collectors end at a point.
struct World {
    fleet: Fleet,
    socket: PathBuf,
    watched: PathBuf,
    streams: Vec<Vec<u8>>,
}

impl World {
    fn new() -> World {
        let fleet = Fleet::new();
        let (socket, watched) = (fleet.host.path("socket"), fleet.host.path("watched"));
        std::fs::create_dir(&watched).unwrap();
        let streams = fleet.host.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
        World { fleet, socket, watched, streams }
    }

    /// Checks that the store has each event once. Then empties it.
    fn check(&self) {
        self.fleet.host.check(&self.fleet.host.objects());
        assert!(files_in(&self.fleet.host.path("spool/refused")).is_empty());
        std::fs::remove_dir_all(self.fleet.host.path("store/segments")).unwrap();
    }

    /// A shipper of files ends at a point, and then another one. Later ones ship all.
    fn shipper_of_files(&self, point: &str) {
        let host = &self.fleet.host;
        for _ in 0..2 {
            let output = host.command("spool", &host.store()).env("FAILPOINT", point).output().unwrap();
            assert!(is_aborted(output.status), "ship FILE: {point}: {output:?}");
        }
        let run = host.ship(&host.store());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{point}");
        self.check();
    }

    /// A collector ends at a point, and then another one. Later ones get all.
    fn collector(&self, point: &str) {
        for _ in 0..2 {
            let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
            command.arg("collect").args(self.fleet.arguments()).env("FAILPOINT", point);
            let mut collector = Collector::of(&mut command);
            let run = self.fleet.ship(collector.port);
            assert_eq!(run.code, Some(2), "collect: {point}: the shipper ends as if all was well");
            let status = collector.child.wait().unwrap();
            assert!(is_aborted(status), "collect: {point}: {status}");
        }
        let collector = self.fleet.collector();
        let run = self.fleet.ship(collector.port);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{point}");
        self.check();
    }

    /// A shipper that runs ends at a point, and then another one. Later ones ship all.
    fn service(&self, point: &str) {
        let collector = self.fleet.collector();
        let watch = format!("--watch={}", self.watched.display());
        let sends = [&*watch, "--stop-timeout=120"];
        // Its collector is down, and its spool is soon full. The first segment that is shed is
        // still there at each point.
        let sheds = ["--spool-limit=1", "--stop-timeout=0"];
        let mut way = (collector.port, sends);
        if !self.ends_at(point, way.0, &way.1) {
            self.check();
            way = (1, sheds);
            assert!(self.ends_at(point, way.0, &way.1), "ship: {point}: no shipper ended");
        }
        assert!(self.ends_at(point, way.0, &way.1), "ship: {point}: the second did not end");
        assert!(!self.ends_at("none", collector.port, &sends));
        self.check();
    }

    /// Runs a shipper that a program sends to, with the streams of the host. If it watches a
    /// directory, they are files there, too. Returns true if it ended at the point. Otherwise it
    /// has done what it could, and then was stopped.
    fn ends_at(&self, point: &str, port: u16, options: &[&str]) -> bool {
        let watches = options.iter().any(|option| option.starts_with("--watch="));
        for (stream, number) in self.streams.iter().zip(1..).filter(|_| watches) {
            drop(write_closed(&self.watched.join(format!("{number}.tel")), stream));
        }
        let mut command = command(&self.fleet, port, options);
        command.arg(format!("--listen=unix:{}", self.socket.display())).env("FAILPOINT", point);
        // It may end before it says that it has started.
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::of(child.stderr.take().unwrap());
        let mut daemon = Daemon { child, log };
        let mut program = None;
        wait::until("a program is connected, or the shipper has ended", || {
            program = UnixStream::connect(&self.socket).ok();
            program.is_some() || daemon.child.try_wait().unwrap().is_some()
        });
        for stream in &self.streams {
            // If the shipper ends, the program sends all again to the next one.
            let _ = program.as_mut().map(|program| program.write_all(stream));
        }
        drop(program);
        wait::until("all files are taken, or the shipper has ended", || {
            let are_taken = !watches || files_in(&self.watched).is_empty();
            are_taken || daemon.child.try_wait().unwrap().is_some()
        });
        // A process that has ended is there until it is waited for.
        if daemon.child.try_wait().unwrap().is_none() {
            signal(&daemon.child, "-TERM");
        }
        let status = daemon.child.wait().unwrap();
        assert!(is_aborted(status) || status.success(), "{point}: {status}: {:?}", daemon.log.lines());
        is_aborted(status)
    }
}

#[test]
fn killed_at_each_point() {
    let (world, points) = (World::new(), points());
    for (part, point) in &points {
        match part.as_str() {
            "ship.rs" => world.shipper_of_files(point),
            "daemon" => world.service(point),
            "collect" => world.collector(point),
            _ => panic!("{part}: {point}: a point that no test reaches"),
        }
    }
    let parts: BTreeSet<_> = points.iter().map(|(part, _)| part.as_str()).collect();
    assert_eq!(parts, BTreeSet::from(["collect", "daemon", "ship.rs"]), "{points:?}");
}
