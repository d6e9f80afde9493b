//! A folder with files, and programs run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder for one test.
pub(crate) struct Folder(TempDir);

/// The output of a program, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
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

    /// Runs `telemetry-query` with a query, and further arguments that spaces separate.
    pub(crate) fn query(&self, sql: &str, args: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-query"));
        command.arg(sql).args(args.split_whitespace());
        self.run(command, Stdio::null())
    }

    /// Runs `telemetry-query` with a file on standard input, as a pipe.
    pub(crate) fn query_on(&self, sql: &str, args: &str, file: &str) -> Run {
        let mut cat = Command::new("cat").arg(self.path(file)).stdout(Stdio::piped()).spawn().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-query"));
        command.arg(sql).args(args.split_whitespace());
        let run = self.run(command, cat.stdout.take().unwrap().into());
        cat.wait().unwrap();
        run
    }

    /// Runs `telemetry` with arguments that spaces separate.
    pub(crate) fn telemetry(&self, args: &str) -> Run {
        let mut command = Command::new(telemetry());
        command.args(args.split_whitespace());
        self.run(command, Stdio::null())
    }

    fn run(&self, mut command: Command, stdin: Stdio) -> Run {
        command.current_dir(self.0.path()).stdin(stdin);
        command.env_remove("TELEMETRY_FILENAME").env_remove("TELEMETRY_DATABASE");
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Run {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }
}

/// Returns the command `telemetry`.
fn telemetry() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/telemetry");
    let command = std::env::var_os("TELEMETRY_COMMAND").map_or(built, PathBuf::from);
    assert!(command.is_file(), "{} is missing: run `cargo build -p telemetry-cli`", command.display());
    command
}
