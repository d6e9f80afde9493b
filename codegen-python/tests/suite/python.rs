//! Interpreters of Python, and modules run by them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use telemetry_schema::Registry;
use tempfile::TempDir;

/// The interpreters that there are, of 3.9 or later; loudly none.
pub(crate) fn interpreters() -> &'static [String] {
    static FOUND: OnceLock<Vec<String>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let named = std::env::var("TELEMETRY_PYTHON").unwrap_or("python3".to_string());
        let works = |name: &&str| {
            let check = "import sys; sys.exit(sys.version_info < (3, 9))";
            Command::new(name).args(["-c", check]).status().is_ok_and(|status| status.success())
        };
        let found: Vec<_> = named.split_whitespace().filter(works).map(str::to_string).collect();
        if found.is_empty() {
            eprintln!("SKIPPED: none of `{named}` is Python 3.9 or later; set TELEMETRY_PYTHON");
        }
        found
    })
}

/// The module of a registry in a folder of its own.
pub(crate) struct Module {
    folder: TempDir,
}

impl Module {
    pub(crate) fn new(registry: &Registry) -> Module {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("events.py"), telemetry_codegen_python::module(registry)).unwrap();
        Module { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file beside the module.
    pub(crate) fn with(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// Returns the lines that a script prints, by interpreter.
pub(crate) fn run(module: &Module, script: &str, args: &[&str]) -> Vec<Vec<String>> {
    module.with("script.py", script.as_bytes());
    let mut all = Vec::new();
    for interpreter in interpreters() {
        let mut command = Command::new(interpreter);
        command.args(["-B", "-X", "utf8", "script.py"]).args(args).current_dir(module.path(""));
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{interpreter}: {errors}");
        all.push(String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect());
    }
    all
}

/// A script run by an interpreter, which answers lines with lines.
pub(crate) struct Script {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Script {
    pub(crate) fn new(interpreter: &str, name: &str) -> Script {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
        let mut command = Command::new(interpreter);
        command.arg("-B").arg("-X").arg("utf8").arg(path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Script { child, input, output }
    }

    /// Asks, and reads up to the line `end`.
    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str) -> Vec<String> {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        let mut lines = Vec::new();
        loop {
            let mut answer = String::new();
            assert!(
                self.output.read_line(&mut answer).unwrap() > 0,
                "the script ended at `{line}`: {lines:?}"
            );
            let answer = answer.trim_end_matches('\n');
            if answer == "end" {
                return lines;
            }
            lines.push(answer.to_string());
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.input = None;
        let ended = self.child.wait().unwrap();
        assert!(std::thread::panicking() || ended.success(), "the script failed: {ended}");
    }
}
