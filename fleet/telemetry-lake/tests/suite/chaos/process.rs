//! Processes of a schedule, and how each is started.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Nothing that a schedule waits for takes longer. One that hangs must tell its story.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// By command and point: the processes that were to end there, and those that did. Commands share
/// names of points, and one must not stand for another.
static POINTS: Mutex<BTreeMap<String, [u64; 2]>> = Mutex::new(BTreeMap::new());

/// The signal by which a process ends at a point.
const ABORT: i32 = 6;

fn count(point: &str, which: usize) {
    POINTS.lock().unwrap().entry(point.to_owned()).or_default()[which] += 1;
}

/// Says at which points processes ended. Returns those of `all` at which none of them did.
pub(crate) fn tell_points(all: impl IntoIterator<Item = String>) -> Vec<String> {
    let points = POINTS.lock().unwrap();
    let of = |(name, [armed, hit]): (&String, &[u64; 2])| format!("{name} {hit} of {armed}");
    println!("ended at points: {}", points.iter().map(of).collect::<Vec<_>>().join(", "));
    all.into_iter().filter(|name| points.get(name).is_none_or(|[_, hit]| *hit == 0)).collect()
}

/// A process that is killed when dropped. If it is to end at a point: its command and the point.
pub(crate) struct Process(Child, Option<String>);

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let signal = self.0.wait().ok().and_then(|status| status.signal());
        if let Some(point) = self.1.as_ref().filter(|_| signal == Some(ABORT)) {
            count(point, 1);
        }
    }
}

impl Process {
    /// Starts a command, which ends at a point. What it says is in the log.
    pub(crate) fn start(command: &mut Command, point: Option<&String>, log: &Path) -> Process {
        let log = File::options().create(true).append(true).open(log).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let point = point.map(|point| {
            command.env("FAILPOINT", point);
            let name = command.get_args().next().expect("the command is the first argument");
            let point = point.split_once(':').map_or(&**point, |(point, _)| point);
            format!("{}:{point}", name.display())
        });
        point.iter().for_each(|point| count(point, 0));
        Process(command.spawn().unwrap(), point)
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Waits for its end. Returns the exit code; `None` if it was killed.
    pub(crate) fn wait(&mut self, what: &str) -> Option<i32> {
        let patience = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < patience, "{what} does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn stop(&mut self, what: &str) -> Option<i32> {
        if self.is_alive() {
            let pid = self.0.id().to_string();
            assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        }
        self.wait(what)
    }
}

/// Returns the path of another program of this workspace, beside the one of this package.
pub(crate) fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_telemetry-lake")).parent().unwrap().join(name)
}
