//! The `git` command as a child process. It works the same with any user settings and from any
//! directory.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::term::ended::Failure;

/// Variables that name a repository, which git sets for hooks. The location of the file is more
/// reliable.
const VARIABLES_OF_HOOKS: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Runs git in a directory, and returns its output.
///
/// # Errors
/// If it cannot be run or fails.
pub(super) fn git<S: AsRef<OsStr>>(
    dir: &Path,
    args: impl IntoIterator<Item = S>,
) -> Result<Vec<u8>, Failure> {
    try_git(dir, args)?.map_err(|said| failed(dir, &said))
}

/// Runs git in a directory, and returns its output, or its message if it fails.
///
/// # Errors
/// If it cannot be run.
pub(super) fn try_git<S: AsRef<OsStr>>(
    dir: &Path,
    args: impl IntoIterator<Item = S>,
) -> Result<Result<Vec<u8>, String>, Failure> {
    let output = command(dir).args(args).output().map_err(|error| cannot_run(&error))?;
    Ok(match output.status.success() {
        true => Ok(output.stdout),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    })
}

/// Prepares git in a directory, without input.
pub(super) fn command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    for name in VARIABLES_OF_HOOKS {
        command.env_remove(name);
    }
    // Messages in English, literal paths, no prompts, and no locks that could block other
    // processes.
    command.env("LC_ALL", "C").env("GIT_LITERAL_PATHSPECS", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    command.arg("--no-pager").arg("-C").arg(dir).stdin(Stdio::null());
    command
}

/// Explains why git could not be run.
pub(super) fn cannot_run(error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::new("no `git` in $PATH, which knows revisions; help: install it"),
        _ => Failure::new(format!("cannot run `git`: {error}")),
    }
}

/// Puts the message of a failed git on one line.
fn failed(dir: &Path, said: &str) -> Failure {
    if said.contains("not a git repository") {
        return Failure::new(format!("`{}` is not in a git repository", dir.display()));
    }
    if let Some((_, behind)) = said.split_once("dubious ownership in repository at '")
        && let Some((root, _)) = behind.split_once('\'')
    {
        return Failure::new(format!(
            "the repository `{root}` is another user's, and git does not trust it; \
             help: git config --global --add safe.directory {root}"
        ));
    }
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Failure::new(format!("git failed in `{}`: {}", dir.display(), lines.join("; ")))
}

/// Converts a path as git prints it.
#[cfg(unix)]
pub(super) fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).to_os_string()
}

/// Converts a path as git prints it.
#[cfg(not(unix))]
pub(super) fn os_string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}
