//! Tests in processes of their own: a process has one runtime, and some processes end badly.
#![allow(clippy::print_stdout)]

use std::cell::Cell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::stream::Stream;
use crate::support::system;

/// The variable that names the test for a child process.
const CHILD: &str = "TELEMETRY_TEST_CHILD";
/// The mark before a number that a child reports.
const NUMBER: &str = "\nnumber ";
/// The mark after everything that a child reports.
const DONE: &str = "\nthe child is done";
/// A child that takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A process to run, with its own directory.
pub(crate) struct Process {
    command: Command,
    own_stderr: bool,
    /// A process that takes longer hangs.
    longest: Duration,
    dir: tempfile::TempDir,
}

/// How it ended, and what it printed.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    dir: tempfile::TempDir,
}

impl Process {
    /// A program with everything recorded, and its stream in the process's directory.
    pub(crate) fn new(program: impl Into<PathBuf>) -> Process {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new(program.into());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TELEMETRY_"))
        {
            command.env_remove(name);
        }
        command
            .env("TELEMETRY_FILENAME", dir.path().join("stream.tel"))
            .env("TELEMETRY_CONTROL", "all")
            // Tests that lose events on purpose look at the other lines.
            .env("TELEMETRY_SUMMARY", "off")
            .env("RUST_BACKTRACE", "0")
            .current_dir(dir.path());
        Process { command, own_stderr: false, longest: TIMEOUT, dir }
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, text: &str) -> Process {
        self.command.arg(text);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Process {
        self.command.env(name, value);
        self
    }

    /// Unsets an environment variable.
    pub(crate) fn without(mut self, name: &str) -> Process {
        self.command.env_remove(name);
        self
    }

    /// Runs it as another user, who then owns its directory.
    pub(crate) fn of_user(mut self, user: u32) -> Process {
        system::be_user(&mut self.command, user);
        if system::is_root() {
            std::os::unix::fs::chown(self.dir(), Some(user), Some(user)).expect("our own directory");
        }
        self
    }

    /// Sets the destination of standard error; the default is [`Outcome::stderr`].
    pub(crate) fn stderr(mut self, to: impl Into<Stdio>) -> Process {
        self.own_stderr = true;
        self.command.stderr(to);
        self
    }

    /// The process's directory.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Runs it to its end, however that comes.
    pub(crate) fn run(self) -> Outcome {
        let longest = self.longest;
        self.run_until(longest, true, |_| false)
    }

    /// Lets it take this much longer.
    pub(crate) fn longer(mut self, time: Duration) -> Process {
        self.longest += time;
        self
    }

    /// Runs it for a while, then kills it.
    pub(crate) fn killed_after(self, time: Duration) -> Outcome {
        self.run_until(time, false, |_| false)
    }

    /// Runs it until a condition holds in its directory, and for a while after that, then kills it:
    /// on a busy machine it may start slowly.
    pub(crate) fn killed_after_that(self, has_begun: impl Fn(&Path) -> bool, time: Duration) -> Outcome {
        let begun = Cell::new(None);
        self.run_until(TIMEOUT, true, |stdout| {
            if begun.get().is_none() && stdout.parent().is_some_and(&has_begun) {
                begun.set(Some(Instant::now()));
            }
            begun.get().is_some_and(|begun| begun.elapsed() >= time)
        })
    }

    /// Runs it until it has printed this, then kills it.
    pub(crate) fn killed_when(self, printed: &str) -> Outcome {
        self.run_until(TIMEOUT, true, |stdout| {
            std::fs::read_to_string(stdout).is_ok_and(|text| text.contains(printed))
        })
    }

    fn run_until(mut self, longest: Duration, must_end: bool, is_enough: impl Fn(&Path) -> bool) -> Outcome {
        let file = |name| {
            let path = self.dir.path().join(name);
            (File::create(&path).expect("a file in the temporary directory"), path)
        };
        let ((out, stdout), (err, stderr)) = (file("stdout"), file("stderr"));
        self.command.stdin(Stdio::null()).stdout(out);
        if !self.own_stderr {
            self.command.stderr(err);
        }
        let mut child = self.command.spawn().expect("a process");
        let since = Instant::now();
        let status = loop {
            match child.try_wait().expect("a child of ours") {
                Some(status) => break status,
                None if is_enough(&stdout) => {
                    let _ = child.kill();
                    break child.wait().expect("a child of ours");
                }
                None if since.elapsed() > longest => {
                    let _ = child.kill();
                    assert!(!must_end, "{:?} hangs", self.command);
                    break child.wait().expect("a child of ours");
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        Outcome { status, stdout: text(stdout), stderr: text(stderr), dir: self.dir }
    }
}

/// Runs `body` in its own process, which runs the calling test, `test`, again. There, `child` runs
/// the body, reports the numbers that it returns, and exits. The parent runs all code after
/// `child`.
pub(crate) fn child(test: &str, setup: impl Fn(Process) -> Process, body: impl Fn() -> Numbers) -> Outcome {
    let outcome = ending(test, setup, body).succeeded();
    assert!(outcome.stdout.contains(DONE), "no test {test}, or it ends early\n{}", outcome.stdout);
    outcome
}

/// Does the same for a body that may end the process in any way.
pub(crate) fn ending(test: &str, setup: impl Fn(Process) -> Process, body: impl Fn() -> Numbers) -> Outcome {
    if std::env::var(CHILD).is_ok_and(|child| child == test) {
        for (name, value) in body() {
            println!("{NUMBER}{name}={value}");
        }
        println!("{DONE}");
        std::process::exit(0);
    }
    let mut process = Process::new(std::env::current_exe().expect("the path of this test"));
    process.command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    setup(process).env(CHILD, test).run()
}

/// Sets a flag, also if the test fails meanwhile: another thread waits for it.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The report of a child.
pub(crate) type Numbers = Vec<(&'static str, u64)>;

/// If a test fails, the files of the process are kept.
impl Drop for Outcome {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.dir.disable_cleanup(true);
            eprintln!("what the process left is in {}", self.dir().display());
        }
    }
}

impl Outcome {
    /// Asserts that it exited with 0.
    pub(crate) fn succeeded(self) -> Outcome {
        assert!(self.status.success(), "{}\n{}\n{}", self.status, self.stdout, self.stderr);
        self
    }

    /// A number that the child reported.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let start = format!("{NUMBER}{name}=");
        let found = self.stdout.split_once(&start).and_then(|(_, rest)| rest.split_once('\n'));
        let Some((number, _)) = found else { panic!("no number {name}\n{}\n{}", self.stdout, self.stderr) };
        number.parse().expect("a number")
    }

    /// The process's directory.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The file of the stream.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("stream.tel")
    }

    /// The file of the stream of its only forked child.
    pub(crate) fn path_of_child(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.dir()).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let ours = |name: &String| name.starts_with("stream.") && name != "stream.tel";
        let found: Vec<_> = names.filter(ours).collect();
        let [name] = &found[..] else { panic!("{found:?} instead of one child's stream\n{}", self.stderr) };
        self.dir().join(name)
    }

    /// The stream, decoded.
    pub(crate) fn stream(&self) -> Stream {
        Stream::read(self.path())
    }
}
