//! `control`, `list` and `tail` on processes: real programs, and a server with scripted answers.

mod attach;
mod doctor;
mod hostile;
pub(crate) mod programs;
mod rings;
mod rules;
mod sensitive;
mod talk;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::{Folder, Run, run};

/// Names the test that a child process runs.
const CHILD: &str = "TELEMETRY_TEST_CHILD";
/// A step that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a directory of sockets.
pub(crate) struct Sockets {
    folder: Folder,
}

impl Sockets {
    pub(crate) fn new() -> Sockets {
        let sockets = Sockets { folder: Folder::new() };
        std::fs::create_dir(sockets.dir()).unwrap();
        std::fs::set_permissions(sockets.dir(), Permissions::from_mode(0o700)).unwrap();
        sockets
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path("sockets")
    }

    /// Returns the path of a process's socket.
    pub(crate) fn socket(&self, pid: u32) -> PathBuf {
        self.dir().join(pid.to_string())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    /// Returns the command, which looks only into this directory.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = self.folder.command(args);
        command.env("TELEMETRY_SOCKET", self.dir());
        command
    }

    pub(crate) fn run(&self, args: &str) -> Run {
        run(&mut self.command(args), &[])
    }

    /// Returns the output of a command that succeeds.
    pub(crate) fn prints(&self, args: &str) -> String {
        let run = self.run(args);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{args}");
        String::from_utf8(run.stdout).unwrap()
    }

    /// Runs a command and checks its message and exit code. Standard output must be empty.
    #[track_caller]
    pub(crate) fn check(&self, args: &str, code: i32, stderr: &str) {
        let run = self.run(args);
        let stdout = String::from_utf8_lossy(&run.stdout);
        assert_eq!((run.code, run.stderr.trim_end(), &*stdout), (Some(code), stderr, ""), "{args}");
    }

    /// Answers requests from this process by a function.
    pub(crate) fn serve(&self, answer: impl Fn(&str, &mut UnixStream) + Send + 'static) -> u32 {
        let pid = std::process::id();
        let listener = UnixListener::bind(self.socket(pid)).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = String::new();
                BufReader::new(&stream).read_line(&mut request).unwrap();
                answer(&request, &mut stream);
            }
        });
        pid
    }
}

/// A process that emits events until it is asked to end.
pub(crate) struct Program {
    pub(crate) pid: u32,
    child: Child,
}

impl Program {
    /// Runs `body` repeatedly in a process of its own, which runs the calling test, `test`.
    pub(crate) fn start(
        sockets: &Sockets,
        test: &str,
        setup: &[(&str, &str)],
        body: impl FnMut(),
    ) -> Program {
        Program::start_by(&[], sockets, test, setup, body)
    }

    /// Does the same by another program: its command line ends before the text of a shell.
    pub(crate) fn start_by(
        before: &[&str],
        sockets: &Sockets,
        test: &str,
        setup: &[(&str, &str)],
        mut body: impl FnMut(),
    ) -> Program {
        if std::env::var(CHILD).is_ok_and(|child| child == test) {
            // If the parent ends in any way, its end of the pipe is closed.
            std::thread::spawn(|| {
                let _ = std::io::stdin().read_to_end(&mut Vec::new());
                std::process::exit(0);
            });
            loop {
                body();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let mut command = Program::command(before, test);
        command.env(CHILD, test);
        command.env("TELEMETRY_FILENAME", sockets.path("stream.tel")).env("TELEMETRY_SOCKET", sockets.dir());
        command.env("TELEMETRY_CONTROL", "all").env("TELEMETRY_LATENCY", "0.02");
        Program::spawn(command.envs(setup.iter().copied()))
    }

    /// Returns the command that runs the test.
    fn command(before: &[&str], test: &str) -> Command {
        let program = std::env::current_exe().unwrap();
        let args = [test, "--exact", "--nocapture", "--test-threads=1"];
        let [first, rest @ ..] = before else {
            let mut command = Command::new(program);
            command.args(args);
            return command;
        };
        let mut command = Command::new(first);
        // The program has a `/tmp` of its own. The file of the program may be in the other one.
        let script = "mount -t tmpfs tmpfs /mnt && : > /mnt/program && mount --bind \"$0\" /mnt/program \
                      && mount -t tmpfs tmpfs /tmp && exec /mnt/program \"$@\"";
        command.args(rest).arg(script).arg(program).args(args);
        command
    }

    pub(crate) fn spawn(command: &mut Command) -> Program {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        Program { pid: child.id(), child }
    }

    /// Starts a program, and waits until it answers.
    pub(crate) fn ready(
        sockets: &Sockets,
        test: &str,
        setup: &[(&str, &str)],
        body: impl FnMut(),
    ) -> Program {
        let program = Program::start(sockets, test, setup, body);
        wait("a socket", || sockets.socket(program.pid).exists());
        program
    }

    /// Ends it in good order.
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// For root only: the user that owns nothing.
pub(crate) const OTHER_USER: u32 = 65534;

/// Returns true if tests can act as other users; prints a notice if they cannot.
pub(crate) fn is_root(sockets: &Sockets) -> bool {
    let is_root = sockets.dir().metadata().unwrap().uid() == 0;
    if !is_root {
        eprintln!("SKIPPED: only root can act as another user");
    }
    is_root
}
