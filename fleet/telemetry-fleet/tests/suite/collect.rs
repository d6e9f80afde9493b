//! `telemetry-fleet collect` and `ship` as processes, over TLS.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use telemetry_testing::wait;

use crate::authority::{Authority, Validity, own_address};
use crate::ship::{Host, Said, said};

/// The lines on a process's standard error so far.
pub(crate) struct Log {
    gathered: Arc<(Mutex<Gathered>, Condvar)>,
}

#[derive(Default)]
struct Gathered {
    lines: Vec<String>,
    is_ended: bool,
}

impl Log {
    pub(crate) fn of(stderr: ChildStderr) -> Log {
        let gathered = Arc::new((Mutex::<Gathered>::default(), Condvar::new()));
        let to = gathered.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                to.0.lock().unwrap().lines.push(line);
                to.1.notify_all();
            }
            to.0.lock().unwrap().is_ended = true;
            to.1.notify_all();
        });
        Log { gathered }
    }

    /// Waits for a line that contains a text.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let mut gathered = self.gathered.0.lock().unwrap();
        loop {
            if let Some(line) = gathered.lines.iter().find(|line| line.contains(text)) {
                return line.clone();
            }
            assert!(!gathered.is_ended, "no `{text}` in {:?}", gathered.lines);
            gathered = self.wait(gathered);
        }
    }

    /// Returns the lines so far.
    fn so_far(&self) -> Vec<String> {
        self.gathered.0.lock().unwrap().lines.clone()
    }

    /// Waits for its end, and returns all lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut gathered = self.gathered.0.lock().unwrap();
        while !gathered.is_ended {
            gathered = self.wait(gathered);
        }
        gathered.lines.clone()
    }

    /// Waits for another line.
    fn wait<'g>(&'g self, gathered: MutexGuard<'g, Gathered>) -> MutexGuard<'g, Gathered> {
        let (gathered, timed_out) = self.gathered.1.wait_timeout(gathered, Duration::from_secs(60)).unwrap();
        assert!(!timed_out.timed_out(), "nothing was logged for 60 s after {:?}", gathered.lines);
        gathered
    }
}

/// A collector that runs, killed when dropped.
pub(crate) struct Collector {
    pub(crate) child: Child,
    pub(crate) port: u16,
    log: Log,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Collector {
    /// Starts a collector with these arguments.
    pub(crate) fn start(arguments: &[String]) -> Collector {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
        Collector::of(command.arg("collect").args(arguments))
    }

    pub(crate) fn of(command: &mut Command) -> Collector {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::of(child.stderr.take().unwrap());
        let port = log.wait_for("collecting at tls://").rsplit_once(':').unwrap().1.parse().unwrap();
        Collector { child, port, log }
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills it, and returns the lines of its log after the first.
    pub(crate) fn log(mut self) -> Vec<String> {
        self.kill();
        self.log.lines().split_off(1)
    }

    /// Waits for a line that contains a text.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.log.wait_for(text)
    }

    /// Waits until it has begun to collect for the nth time. Returns the last port.
    #[cfg(unix)]
    fn wait_for_start(&self, times: usize) -> u16 {
        let mut ports = Vec::new();
        wait::until("the collector serves again", || {
            let lines = self.log.so_far();
            let addresses = lines.iter().filter(|line| line.contains("collecting at tls://"));
            ports = addresses.map(|line| line.rsplit_once(':').unwrap().1.parse().unwrap()).collect();
            ports.len() == times
        });
        ports[times - 1]
    }
}

/// A host, an authority, and the files of a collector.
pub(crate) struct Fleet {
    pub(crate) host: Host,
    pub(crate) authority: Authority,
    /// The certificate of its collectors, and the key.
    pub(crate) server: (PathBuf, PathBuf),
    /// Where its collectors listen.
    pub(crate) address: String,
    /// Those of the host `h7`.
    pub(crate) client: (PathBuf, PathBuf),
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

impl Fleet {
    pub(crate) fn new() -> Fleet {
        let host = Host::new();
        let authority = Authority::new(host.dir.path(), "authority");
        let address = own_address();
        let server = authority.sign(&address, 1, Validity::Good);
        let client = authority.sign("h7", 7, Validity::Good);
        authority.revoke(&[]);
        Fleet { host, authority, server, address, client }
    }

    /// The private key of the collector.
    pub(crate) fn key(&self) -> PathBuf {
        self.server.1.clone()
    }

    /// The arguments of a collector that accepts certificates and tokens.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let tokens = self.host.path("tokens.toml");
        if !tokens.exists() {
            std::fs::write(&tokens, "").unwrap();
        }
        let (cert, key) = &self.server;
        let mut arguments =
            vec![format!("--listen={}:0", self.address), format!("--store={}", self.host.store())];
        for (option, path) in [
            ("cert", cert),
            ("key", key),
            ("client-ca", &self.authority.file),
            ("revoked", &self.host.path("revoked.pem")),
            ("tokens", &tokens),
        ] {
            arguments.push(format!("--{option}={}", text(path)));
        }
        arguments
    }

    pub(crate) fn collector(&self) -> Collector {
        Collector::start(&self.arguments())
    }

    /// The shipper, without what it shows the collector.
    pub(crate) fn shipper(&self, spool: &str, port: u16) -> Command {
        let mut command = self.host.command(spool, &format!("tls://{}:{port}", self.address));
        command.arg("--ca").arg(&self.authority.file);
        command
    }

    /// Ships with the certificate of the host.
    pub(crate) fn ship(&self, port: u16) -> Said {
        said(&with(self.shipper("spool", port), &self.client).output().unwrap())
    }

    pub(crate) fn token(&self, host: &str, days: &str) -> PathBuf {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
        command.args(["token", host, "--days", days, "--tokens"]).arg(self.host.path("tokens.toml"));
        let file = self.host.path(&format!("{host}-{days}.token"));
        std::fs::write(&file, said(&command.output().unwrap()).stdout).unwrap();
        file
    }

    /// Ships, and checks that all is stored.
    pub(crate) fn check(&self, collector: &Collector) {
        let run = self.ship(collector.port);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
        self.host.check(&self.host.objects());
    }
}

pub(crate) fn with(mut command: Command, (cert, key): &(PathBuf, PathBuf)) -> Command {
    command.arg("--cert").arg(cert).arg("--key").arg(key);
    command
}

#[test]
fn every_event_is_stored_once() {
    let fleet = Fleet::new();
    let collector = fleet.collector();
    fleet.check(&collector);
    let again = fleet.ship(collector.port);
    assert!(again.stdout.starts_with("shipped 0 segments; "), "{}", again.stdout);
    // With a token, and two at once.
    std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
    let token = fleet.token("h7", "1");
    let two = ["spool", "other"].map(|spool| {
        let mut command = fleet.shipper(spool, collector.port);
        command.arg("--token-file").arg(&token).spawn().unwrap()
    });
    for child in two {
        let run = said(&child.wait_with_output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    }
    fleet.host.check(&fleet.host.objects());
    let log = collector.log();
    assert_eq!(log, [] as [&str; 0]);
}

#[test]
fn either_side_is_killed_at_any_moment() {
    let fleet = Fleet::new();
    let mut collector = fleet.collector();
    let mut ended = 0;
    for number in 0..16 {
        let mut child = with(fleet.shipper("spool", collector.port), &fleet.client).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(number * 9));
        if number % 2 == 0 {
            child.kill().unwrap();
        } else {
            collector.kill();
            collector = fleet.collector();
        }
        ended += u32::from(!child.wait().unwrap().success());
        if number % 4 == 3 {
            fleet.check(&collector);
            std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
        }
    }
    assert!(ended > 0, "all ended before they were killed");
    collector.kill();
    // What the killed collectors left is removed by the next.
    let last = fleet.collector();
    assert_eq!(std::fs::read_dir(fleet.host.path("store/incoming")).unwrap().count(), 2);
    drop(last);
}

/// Two collectors of one store, in any order: each segment is there once.
#[test]
fn hosts_change_their_collector() {
    let fleet = Fleet::new();
    let collectors = [fleet.collector(), fleet.collector()];
    // Both at once, each from a spool of its own.
    let shippers: Vec<_> = ["one", "other"]
        .into_iter()
        .zip(&collectors)
        .map(|(spool, collector)| {
            with(fleet.shipper(spool, collector.port), &fleet.client).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for shipper in shippers {
        let output = shipper.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    fleet.host.check(&fleet.host.objects());
    // And one after the other, when the first is gone.
    let [first, second] = collectors;
    std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
    fleet.check(&first);
    drop(first);
    fleet.check(&second);
}

#[test]
fn options_come_from_a_file() {
    let fleet = Fleet::new();
    let config = fleet.host.path("collect.toml");
    let lines: Vec<_> = fleet
        .arguments()
        .iter()
        .map(|argument| {
            let (key, value) = argument.trim_start_matches("--").split_once('=').unwrap();
            format!("{key} = \"{value}\"\n")
        })
        .collect();
    std::fs::write(&config, lines.concat() + "max-segment = 1\n").unwrap();
    let arguments = ["--config".to_owned(), text(&config), "--max-segment=2".to_owned()];
    let collector = Collector::start(&arguments);
    fleet.check(&collector);
    std::fs::write(&config, "listne = 1\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
    let run = said(&command.arg("collect").args(arguments).output().unwrap());
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("error: unexpected argument '--listne' found"), "{}", run.stderr);
}

#[test]
#[cfg(unix)]
fn a_stop_answers_what_has_come() {
    let fleet = Fleet::new();
    let mut collector = fleet.collector();
    fleet.check(&collector);
    let pid = collector.child.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    collector.wait_for("reloading");
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(collector.child.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(fleet.host.path("store/incoming")).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn a_reload_that_fails_changes_nothing() {
    let fleet = Fleet::new();
    let (config, cert) = (fleet.host.path("collect.toml"), fleet.host.path("cert.pem"));
    let arguments = fleet.arguments();
    let given = arguments.iter().find_map(|argument| argument.strip_prefix("--cert=")).unwrap();
    std::fs::copy(given, &cert).unwrap();
    // It takes these addresses again after each reload.
    let address = std::net::TcpListener::bind((&*fleet.address, 0)).unwrap().local_addr().unwrap();
    let admin = fleet.host.path("admin");
    let with = |cert: &str, metrics| {
        format!("cert = \"{cert}\"\nadmin = \"{}\"\nmetrics = \"{metrics}\"\n", admin.display())
    };
    let good = with(&text(&cert), address);
    std::fs::write(&config, &good).unwrap();
    let others = arguments.iter().filter(|argument| !argument.starts_with("--cert=")).cloned();
    let arguments: Vec<_> = [format!("--config={}", text(&config))].into_iter().chain(others).collect();
    let collector = Collector::start(&arguments);
    fleet.check(&collector);
    let pid = collector.child.id().to_string();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap();
    let reload = |lines: &str| {
        std::fs::write(&config, lines).unwrap();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    };
    for (lines, why) in [
        // Found while the collector goes on.
        (with("/no/certificate", address), "not reloaded: /no/certificate"),
        // Found when it has closed its addresses.
        (with(&text(&cert), taken), "not reloaded: 127.0.0.1"),
    ] {
        reload(&lines);
        collector.wait_for(why);
    }
    // It has another port now, as it was told to take any.
    let mut port = collector.wait_for_start(2);
    for times in 3..=8 {
        reload(&good);
        port = collector.wait_for_start(times);
    }
    let failed = collector.log.so_far().iter().filter(|line| line.contains("not reloaded")).count();
    assert_eq!(failed, 2, "{:?}", collector.log.so_far());
    std::net::TcpStream::connect(address).unwrap();
    std::os::unix::net::UnixStream::connect(&admin).unwrap();
    std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
    drop(other);
    let run = fleet.ship(port);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    fleet.host.check(&fleet.host.objects());
}
