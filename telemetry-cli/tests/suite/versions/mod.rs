//! Registries that change: `release`, `check` and `history`, with real files and real git.

mod check;
mod git;
mod history;
mod own;
mod release;
mod witness;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Folder, snapshot};

/// The registry of the README.
pub(crate) const CACHE: &str = include_str!("../../data/cache.toml");

/// A folder, and steps in it:
///
/// - `edit FILE | OLD | NEW` replaces a text that occurs once; `\n` is a line end.
/// - `append FILE | TEXT`, `cat FILE`, `rm FILE` and `mv FILE TO` do what their names say.
/// - `git ARGUMENTS`; `commit MESSAGE` commits everything, a day after the last commit.
/// - `in DIR` runs all following steps there.
/// - `env NAME=VALUE` sets a variable for all following commands.
/// - Anything else is a command line of `telemetry`. If it fails with 2, it may write nothing.
struct Steps {
    folder: Folder,
    dir: PathBuf,
    env: Vec<(String, String)>,
    commits: u64,
    transcript: String,
}

/// Runs steps from a folder with the README's registry, and compares their transcript.
#[track_caller]
fn check(name: &str, steps: &[&str]) {
    if !has_git() && steps.iter().any(|step| step.starts_with("git ")) {
        eprintln!("SKIPPED: {name}: there is no git here");
        return;
    }
    let mut all = Steps::new();
    steps.iter().for_each(|step| all.take(step));
    snapshot(name, &all.transcript);
}

fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success())
}

impl Steps {
    fn new() -> Steps {
        let folder = Folder::new().with("events.toml", CACHE);
        let dir = std::fs::canonicalize(folder.path(".")).unwrap();
        Steps { folder, dir, env: Vec::new(), commits: 0, transcript: String::new() }
    }

    #[track_caller]
    fn take(&mut self, step: &str) {
        let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
        let parts: Vec<String> = rest.split(" | ").map(|part| part.replace("\\n", "\n")).collect();
        match (verb, &parts[..]) {
            ("edit", [file, old, new]) => {
                let text = self.read(file);
                assert_eq!(text.matches(old.as_str()).count(), 1, "{step}: {text}");
                self.write(file, &text.replace(old.as_str(), new));
            }
            ("append", [file, text]) => {
                let before = std::fs::read_to_string(self.dir.join(file)).unwrap_or_default();
                self.write(file, &(before + text));
            }
            ("cat", [file]) => {
                let text = self.read(file);
                writeln!(self.transcript, "# cat {file}\n{text}").unwrap();
                return;
            }
            ("rm", [file]) => std::fs::remove_file(self.dir.join(file)).unwrap(),
            ("mv", [files]) => {
                let (from, to) = files.split_once(' ').unwrap();
                let to = self.dir.join(to);
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                std::fs::rename(self.dir.join(from), to).unwrap();
            }
            ("in", [dir]) => self.dir = std::fs::canonicalize(self.dir.join(dir)).unwrap(),
            ("env", [variable]) => {
                let (name, value) = variable.split_once('=').unwrap();
                self.env.push((name.to_string(), value.replace("DIR", &self.root())));
            }
            ("git", _) => {
                let words: Vec<&str> = rest.split(' ').collect();
                self.git(&words);
            }
            ("commit", _) => {
                self.commits += 1;
                self.git(&["add", "-A"]);
                self.git(&["commit", "-q", "--allow-empty", "-m", rest]);
            }
            _ => return self.command(step),
        }
        writeln!(self.transcript, "# {step}\n").unwrap();
    }

    fn command(&mut self, line: &str) {
        let before = files(&self.dir);
        let mut command = self.folder.command(line);
        command.current_dir(&self.dir).envs(self.environment()).envs(self.env.clone());
        let run = crate::run::run(&mut command, &[]);
        if run.code == Some(2) {
            assert!(files(&self.dir) == before, "{line} wrote something");
        }
        let stdout = String::from_utf8(run.stdout).unwrap();
        writeln!(self.transcript, "$ telemetry {line}").unwrap();
        let root = self.root();
        self.transcript += &stdout.replace(&root, "DIR");
        for line in run.stderr.replace(&root, "DIR").lines() {
            writeln!(self.transcript, "! {line}").unwrap();
        }
        writeln!(self.transcript, "= {}\n", run.code.unwrap()).unwrap();
    }

    /// Returns variables that give the same ids for every user at any time.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let date = format!("{} +0000", 1_767_225_600 + self.commits * 86_400);
        let person = |text: &str| text.to_string();
        vec![
            ("GIT_CONFIG_GLOBAL", person("/dev/null")),
            ("GIT_CONFIG_NOSYSTEM", person("1")),
            ("GIT_AUTHOR_NAME", person("Ada")),
            ("GIT_AUTHOR_EMAIL", person("ada@example.org")),
            ("GIT_COMMITTER_NAME", person("Ada")),
            ("GIT_COMMITTER_EMAIL", person("ada@example.org")),
            ("GIT_AUTHOR_DATE", date.clone()),
            ("GIT_COMMITTER_DATE", date),
        ]
    }

    #[track_caller]
    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"]);
        let args = args.iter().map(|arg| arg.replace("DIR", &self.root()));
        git.args(args).current_dir(&self.dir).envs(self.environment());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{git:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn root(&self) -> String {
        std::fs::canonicalize(self.folder.path(".")).unwrap().display().to_string()
    }

    #[track_caller]
    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.dir.join(file)).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.dir.join(file), text).unwrap();
    }
}

/// Returns all files of a directory except those of git, with their content.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with(".git") {
            found.extend(files(&path));
        } else if path.is_file() {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}
