//! Finds the process of a number, also one with a view of its own: another directory of sockets,
//! another `/tmp`, or other numbers of processes, as in a container. On Linux, `/proc` leads to its
//! files.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::pid::Pid;
use super::place::{BASE, Place, Process, absent};
use crate::term::ended::Failure;

impl Process {
    /// Finds the process of a number.
    pub(crate) fn find(pid: Pid) -> Result<Process, Failure> {
        let places = Place::all()?;
        let here = places.iter().find_map(|place| place.process(pid));
        here.or_else(|| elsewhere(pid)).ok_or_else(|| absent(pid, &places))
    }
}

/// Finds the socket of a process where the process has put it.
fn elsewhere(pid: Pid) -> Option<Process> {
    let of = |name: &str| PathBuf::from(format!("/proc/{}/{name}", pid.number));
    let status = std::fs::read_to_string(of("status")).ok()?;
    let (root, owner) = (of("root"), numbers(&status, "Uid:").nth(1)?);
    // The last number is the one that the process itself knows.
    let number = numbers(&status, "NSpid:").last().unwrap_or(pid.number);
    let known = Pid { number, ..pid };
    let dirs = match variable(&of("environ"), "TELEMETRY_SOCKET").filter(has_slash) {
        Some(set) if set.as_encoded_bytes().starts_with(b"/") => vec![inside(&root, Path::new(&set))],
        Some(set) => vec![of("cwd").join(set)],
        None => usual(&inside(&root, Path::new("/tmp")), owner),
    };
    dirs.into_iter().find_map(|dir| {
        let place = Place::at(dir, owner).ok()??;
        place.process(known).map(|process| Process { pid, ..process })
    })
}

/// Returns the usual directories of sockets of a user. In a container the user may have another
/// number, so the owner counts, and not the name.
fn usual(tmp: &Path, owner: u32) -> Vec<PathBuf> {
    let base = Path::new(BASE).file_name().unwrap_or_default().as_encoded_bytes();
    let entries = std::fs::read_dir(tmp).into_iter().flatten().flatten();
    let is_usual = |entry: &std::fs::DirEntry| {
        entry.file_name().as_encoded_bytes().starts_with(base)
            && entry.path().symlink_metadata().is_ok_and(|there| there.uid() == owner)
    };
    entries.filter(is_usual).map(|entry| entry.path()).collect()
}

/// Returns a path as seen from another root.
fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn has_slash(text: &OsString) -> bool {
    text.as_encoded_bytes().contains(&b'/')
}

/// Returns a variable of a process's environment.
fn variable(environ: &Path, name: &str) -> Option<OsString> {
    let bytes = std::fs::read(environ).ok()?;
    let value = |line: &[u8]| Some(line.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
    bytes.split(|byte| *byte == 0).find_map(value).map(OsString::from_vec)
}

/// Returns the numbers of a line of `/proc/PID/status`.
fn numbers(status: &str, key: &str) -> impl Iterator<Item = u32> {
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.split_ascii_whitespace().filter_map(|number| number.parse().ok())
}
