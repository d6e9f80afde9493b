//! Processes of a schedule, and how each is started.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Nothing that a schedule waits for takes longer. One that hangs must tell its story.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A process that is killed when dropped.
pub(crate) struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    /// Starts a command, which ends at a point. What it says is in the log.
    pub(crate) fn start(command: &mut Command, point: Option<&String>, log: &Path) -> Process {
        let log = File::options().create(true).append(true).open(log).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        if let Some(point) = point {
            command.env("FAILPOINT", point);
        }
        Process(command.spawn().unwrap())
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
