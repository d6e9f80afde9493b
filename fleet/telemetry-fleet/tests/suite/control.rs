//! Requests of an operator to a program of a host, through the collector. All are processes.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use telemetry_testing::wait;

use crate::authority::{Authority, Validity};
use crate::collect::{Collector, Fleet};
use crate::daemon::{Daemon, command};
use crate::rows::rows;
use crate::ship::{Said, said};

#[telemetry::telemetry_event("tests/worker.toml", at = "control::events")]
pub(crate) mod events {}

/// The program, in a process of its own: emits an event of each kind for each line of its input. If
/// it is busy, emits all the time until its input ends.
#[test]
fn worker() {
    let Some(how) = std::env::var_os("TELEMETRY_TEST_WORKER") else { return };
    if how == "busy" {
        let end = std::thread::spawn(|| std::io::stdin().lines().count());
        for n in 1_u64.. {
            events::worked!(n);
            if n.is_multiple_of(1000) {
                eprintln!("{n}");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            if end.is_finished() {
                break;
            }
        }
        return;
    }
    for (n, _) in (1_u64..).zip(std::io::stdin().lines()) {
        events::worked!(n);
        events::detailed!(n);
        events::kept!(n);
        eprintln!("{n}");
    }
}

/// The command `telemetry`, if it is built.
fn telemetry() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/telemetry");
    let path = std::env::var_os("TELEMETRY_COMMAND").map_or(built, PathBuf::from);
    if !path.exists() {
        eprintln!("SKIPPED: no command `telemetry` at {}; TELEMETRY_COMMAND may name it", path.display());
        return None;
    }
    Some(path)
}

/// The program that runs, killed when dropped.
struct Worker {
    child: Child,
    lines: BufReader<std::process::ChildStderr>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A collector with operators, and a program.
struct World {
    fleet: Fleet,
    telemetry: PathBuf,
    collector: Collector,
}

impl World {
    fn new() -> Option<World> {
        let (telemetry, fleet) = (telemetry()?, Fleet::new());
        let sockets = fleet.host.path("sockets");
        std::fs::create_dir(&sockets).unwrap();
        std::fs::set_permissions(sockets, PermissionsExt::from_mode(0o700)).unwrap();
        let mut arguments = fleet.arguments();
        arguments.push(format!("--admin={}", fleet.host.path("admin").display()));
        let collector = Collector::start(&arguments);
        Some(World { fleet, telemetry, collector })
    }

    fn sockets(&self) -> String {
        format!("{}/", self.fleet.host.path("sockets").display())
    }

    fn shipper(&self, options: &[&str]) -> Command {
        let mut command = command(&self.fleet, self.collector.port, options);
        command.arg(format!("--listen=unix:{}", self.fleet.host.path("socket").display()));
        command.arg("--control-command").arg(&self.telemetry).arg("--segment-age=1");
        command.env("TELEMETRY_SOCKET", self.sockets());
        command
    }

    fn worker(&self) -> Worker {
        self.worker_that("works")
    }

    fn worker_that(&self, how: &str) -> Worker {
        let path = self.fleet.host.path("worker");
        telemetry_testing::program::copy(std::env::current_exe().unwrap(), &path);
        let mut command = Command::new(path);
        command.args(["--exact", "control::worker", "--nocapture"]).env("TELEMETRY_TEST_WORKER", how);
        command.env("TELEMETRY_FILENAME", format!("unix:{}", self.fleet.host.path("socket").display()));
        command.env("TELEMETRY_CONTROL", "Work").env("TELEMETRY_RECORD", "Secret");
        command.env("TELEMETRY_SOCKET", self.sockets());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        Worker { child, lines }
    }

    fn control(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
        command.arg("control").arg("--admin").arg(self.fleet.host.path("admin")).args(arguments);
        said(&command.output().unwrap())
    }

    /// Checks that a request is done. The host may have to connect first.
    fn done(&self, arguments: &[&str]) -> String {
        let mut stdout = None;
        wait::until("the host is connected", || {
            let said = self.control(arguments);
            let is_done = said.code == Some(0);
            assert!(is_done || said.stderr.contains("is not connected, or takes no requests"), "{said:?}");
            stdout = is_done.then_some(said.stdout);
            is_done
        });
        stdout.unwrap()
    }

    fn refused(&self, arguments: &[&str], why: &str) {
        let said = self.control(arguments);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.stderr.contains(why), "{} does not contain `{why}`", said.stderr);
    }

    /// Waits until the store has an event, given as its name and value.
    fn wait_for(&self, event: &str) {
        let is_it = |object: &Vec<u8>| rows(object).iter().any(|row| row.4.ends_with(event));
        wait::until(&format!("`{event}` is stored"), || self.fleet.host.objects().iter().any(is_it));
    }

    fn has(&self, event: &str) -> bool {
        self.fleet.host.objects().iter().flat_map(|object| rows(object)).any(|row| row.4.contains(event))
    }
}

impl Worker {
    /// Sends a line, and waits until its events are emitted.
    fn work(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(line.trim().parse::<u64>().is_ok(), "{line}");
    }
}

#[test]
fn an_operator_controls_a_program_that_its_host_allows() {
    let Some(world) = World::new() else { return };
    let daemon =
        Daemon::start(&mut world.shipper(&["--allow=worker=Detail,flush,snapshot", "--allow=gone=flush"]));
    let mut worker = world.worker();
    worker.work();
    world.done(&["--flush", "h7", "worker"]);
    world.wait_for("Worked n=1");
    assert!(!world.has("Kept") && !world.has("Detailed"));
    let told = world.done(&["--snapshot", "h7", "worker"]);
    assert!(told.contains(" events are on the way"), "{told}");
    world.wait_for("Kept n=1");
    let told = world.done(&["h7", "worker", "Detail"]);
    assert!(told.contains("Detail"), "{told}");
    worker.work();
    world.done(&["h7", "worker", "--reset", "Detail"]);
    worker.work();
    world.done(&["--flush", "h7", "worker"]);
    world.wait_for("Worked n=3");
    world.wait_for("Detailed n=2");
    assert!(!world.has("Detailed n=3"));

    world.refused(&["h7", "worker", "Secret"], "`worker` does not take `Secret` of collectors");
    world.refused(
        &["h7", "worker", "--", "--reset", "Detail"],
        "`worker` does not take `-reset` of collectors",
    );
    world.refused(&["--flush", "h7", "other"], "the program `other` takes no requests of collectors");
    world.refused(&["--snapshot", "h7", "gone"], "`gone` does not take `snapshot` of collectors");
    world.refused(&["--flush", "h7", "gone"], "no running process is called `gone`");
    world.refused(&["--flush", "h8", "worker"], "host `h8` is not connected, or takes no requests");
    drop(worker);
    world.refused(&["--flush", "h7", "worker"], "no running process is called `worker`");
    let log = daemon.stop();
    assert!(log.contains(&"the collector asked for flush  of `worker`: done".to_owned()), "{log:#?}");
    world.collector.wait_for("an operator asked `worker` of host `h7`: set Secret: not done: ");
    // It is gone with its connection, once the collector has noticed that.
    let ended = "the connection of host `h7` ended";
    wait::until("the connection is gone", || {
        !world.control(&["--flush", "h7", "worker"]).stderr.contains(ended)
    });
    world.refused(&["--flush", "h7", "worker"], "is not connected, or takes no requests");
    assert!(crate::ship::files_in(&world.fleet.host.path("spool/open")).is_empty());
}

/// A shipper that stops has everything that programs sent to its Unix socket. They count what they
/// could not send, so each event is stored or counted.
#[test]
fn a_stop_misses_nothing_of_busy_programs() {
    let Some(world) = World::new() else { return };
    let mut worker: Option<Worker> = None;
    for _ in 0..3 {
        let daemon = Daemon::start(&mut world.shipper(&[]));
        let worker = worker.get_or_insert_with(|| world.worker_that("busy"));
        // A program connects again after some time.
        let before = world.fleet.host.objects().len();
        let mut line = String::new();
        wait::until("two segments are stored", || {
            worker.lines.read_line(&mut line).unwrap();
            world.fleet.host.objects().len() >= before + 2
        });
        daemon.stop();
    }
    let daemon = Daemon::start(&mut world.shipper(&[]));
    let mut worker = worker.unwrap();
    drop(worker.child.stdin.take());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut worker.lines, &mut rest).unwrap();
    assert!(worker.child.wait().unwrap().success());
    daemon.stop();
    let stream = world.fleet.host.objects().concat();
    let mut events = telemetry_decode::Reader::from_slice(&stream).events().unwrap();
    let mut found = 0;
    while events.next().unwrap().is_some() {
        found += 1;
    }
    let completeness = events.completeness();
    assert!(found > 10_000 && completeness.missing() == 0, "{found} events; {completeness}");
}

#[test]
fn hosts_that_allow_nothing_are_not_asked() {
    let Some(world) = World::new() else { return };
    let other = Authority::new(world.fleet.host.dir.path(), "other-authority");
    let (cert, key) = other.sign("h7", 72, Validity::Good);
    let (cert, key) = (format!("--cert={}", cert.display()), format!("--key={}", key.display()));
    let allow = "--allow=worker=flush";
    // Nothing allowed, an older version, and a certificate that the collector does not know.
    for (options, is_connected) in
        [(vec![], true), (vec![allow, "--protocol=1.1"], true), (vec![allow, &cert, &key], false)]
    {
        let daemon = Daemon::start(world.shipper(&[]).args(&options));
        let mut worker = world.worker();
        worker.work();
        if is_connected {
            world.wait_for("Worked n=1");
        } else {
            daemon.log.wait_for("; no requests come");
        }
        world.refused(&["--flush", "h7", "worker"], "host `h7` is not connected, or takes no requests");
        std::fs::remove_dir_all(world.fleet.host.path("store/segments")).unwrap_or_default();
    }
}

#[test]
fn only_the_user_may_ask() {
    let Some(mut world) = World::new() else { return };
    let admin = world.fleet.host.path("admin");
    let metadata = std::fs::metadata(&admin).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    for (line, answer) in [
        ("flush\th7\n", "not done\ta request of 2 fields, expected 4\n"),
        ("stop\th7\tworker\t\n", "not done\tunknown request `stop`\n"),
        ("flush\tH7\tworker\t\n", "not done\t`H7` cannot be the name of a host; "),
        (
            &format!("set\th7\tworker\t{}\n", "a".repeat(2000)),
            "not done\ta program or words of more than 1024 bytes\n",
        ),
        (&"a".repeat(9000), "not done\ta request of 1 fields, expected 4\n"),
    ] {
        let mut socket = std::os::unix::net::UnixStream::connect(&admin).unwrap();
        socket.write_all(line.as_bytes()).unwrap();
        let mut found = String::new();
        BufReader::new(socket).read_line(&mut found).unwrap();
        assert!(found.starts_with(answer), "{found} is not {answer}");
    }
    let wrong = world.control(&["h7", "worker", "a\tb"]);
    assert_eq!((wrong.code, wrong.stderr.contains("has a tab or a line feed")), (Some(2), true));
    // The socket of a killed collector is replaced.
    world.collector.kill();
    assert!(admin.exists());
    let mut arguments = world.fleet.arguments();
    arguments.push(format!("--admin={}", admin.display()));
    world.collector = Collector::start(&arguments);
    world.refused(&["--flush", "h7", "worker"], "is not connected");
}
