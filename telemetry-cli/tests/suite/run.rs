//! A folder with files, and the command run in it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder for one test.
pub(crate) struct Folder(TempDir);

/// The output of a command, and its exit code.
pub(crate) struct Run {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Folder {
        std::fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the command in this folder. Spaces separate the arguments.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry"));
        command.args(args.split_whitespace()).current_dir(self.0.path());
        command.env_remove("TELEMETRY_FILENAME").env_remove("TELEMETRY_DATABASE").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &str) -> Run {
        run(&mut self.command(args), &[])
    }

    /// Runs it with something on standard input.
    pub(crate) fn run_on(&self, args: &str, input: &[u8]) -> Run {
        run(&mut self.command(args), input)
    }

    /// Runs command lines in turn and compares the transcript. `< FILE` gives a file as standard
    /// input.
    #[track_caller]
    pub(crate) fn check(&self, name: &str, lines: &[&str]) {
        let transcript: String = lines.iter().map(|line| self.transcript(line)).collect();
        snapshot(name, &transcript);
    }

    /// Runs a command line, and returns its transcript.
    pub(crate) fn transcript(&self, line: &str) -> String {
        let (args, input) = line.split_once('<').unwrap_or((line, ""));
        let input = match input.trim() {
            "" => Vec::new(),
            file => std::fs::read(self.path(file)).unwrap(),
        };
        let Run { stdout, stderr, code } = self.run_on(args, &input);
        let stdout = String::from_utf8_lossy(&stdout);
        let code = code.map_or("a signal".to_string(), |code| code.to_string());
        // Lines of `txt` end in a space, which a snapshot must show.
        let mut transcript = format!("$ telemetry {line}\n{}", stdout.replace(" \n", "·\n"));
        for line in stderr.lines() {
            writeln!(transcript, "! {line}").unwrap();
        }
        writeln!(transcript, "= {code}\n").unwrap();
        transcript
    }
}

/// Returns the commands that `telemetry --help` lists.
pub(crate) fn commands(folder: &Folder) -> Vec<String> {
    let help = String::from_utf8(folder.run("--help").stdout).unwrap();
    let listed = help.split_once("Options:\n").unwrap().0.lines().filter_map(|line| line.strip_prefix("  "));
    listed.filter_map(|line| line.split_whitespace().next()).map(str::to_string).collect()
}

/// Lets signals end a command, also if they are ignored here: below `nohup`, for instance.
#[cfg(unix)]
#[allow(unsafe_code)]
pub(crate) fn by_default(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;

    let reset = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            // SAFETY: `signal` may be called between fork and exec, and no handler is set.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: the function only makes calls that are safe in signal handlers.
    unsafe { command.pre_exec(reset) }
}

#[track_caller]
pub(crate) fn snapshot(name: &str, transcript: &str) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, transcript.trim_end());
    });
}

pub(crate) fn run(command: &mut Command, input: &[u8]) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A command that does not read its input closes it.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().unwrap()
    });
    Run {
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code(),
    }
}
