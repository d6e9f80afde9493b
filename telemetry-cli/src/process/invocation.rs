//! How a process was started, as the system tells.

use std::path::PathBuf;

use super::pid::Pid;

/// Returns the program and its arguments. Returns nothing if the system does not tell.
pub(crate) fn command_line(pid: Pid) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{}/cmdline", pid.number)).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // A NUL ends each argument.
    let text = text.strip_suffix('\0').unwrap_or(&text);
    if text.is_empty() { Vec::new() } else { text.split('\0').map(str::to_owned).collect() }
}

/// Returns the working directory.
pub(crate) fn directory(pid: Pid) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{}/cwd", pid.number)).ok()
}
