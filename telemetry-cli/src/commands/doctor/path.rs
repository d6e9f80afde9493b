//! Checks whether a stream can be written to a path.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use telemetry_format::{Notice, NoticeTag};

use super::environment::shown;
use super::finding::Finding;
use crate::text::count;

/// Explains why a stream cannot be written to a path, as far as that shows without writing to it.
pub(super) fn examine(path: &Path) -> Option<Finding> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let what = format!("the stream cannot be written to {}", shown(path));
    if path.is_dir() {
        return Some(Finding::problem(
            "wrong-path",
            what,
            "that is a directory",
            "name a file in it with TELEMETRY_FILENAME, or with Config::output in the program",
        ));
    }
    match fs::metadata(above) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Finding::problem(
            "wrong-path",
            what,
            format!("there is no directory {}, and the runtime does not create it", shown(above)),
            "create it, or name another file with TELEMETRY_FILENAME",
        )),
        Err(error) => Some(Finding::problem(
            "not-allowed",
            what,
            format!("{}: {error}", shown(above)),
            "name a file where the program's user may write, with TELEMETRY_FILENAME",
        )),
        Ok(metadata) if !metadata.is_dir() => Some(Finding::problem(
            "wrong-path",
            what,
            format!("{} is not a directory", shown(above)),
            "name another file with TELEMETRY_FILENAME",
        )),
        Ok(_) => None,
    }
}

/// Explains the failure of a sink, and its losses.
pub(super) fn explain(sink: &str, failure: &str, tag: Option<NoticeTag>, lost: u64) -> Finding {
    let found = format!("the sink {sink} failed and lost {}: {failure}", count(lost, "event"));
    of_sink(found, tag.unwrap_or(Notice::SinkFailed.into()))
}

/// Explains why a sink takes no events.
pub(super) fn of_sink(found: String, tag: NoticeTag) -> Finding {
    let (cause, why, help) = match (tag.notice, tag.errno) {
        (Notice::SinkAddress, _) => {
            ("wrong-path", "the address does not name a sink", "docs/runtime.md lists the addresses")
        }
        (Notice::SinkUntrusted, _) => (
            "not-allowed",
            "another user created it, and could read the stream or empty one of your files",
            "name a file in a directory of your own, with TELEMETRY_FILENAME",
        ),
        (Notice::SinkPrivileged, _) => (
            "not-allowed",
            "the program ignores the environment, and names no file itself",
            "give Config::output an absolute path in the program",
        ),
        (_, Some(errno)) => of_errno(errno),
        (_, None) => UNKNOWN,
    };
    Finding::problem(cause, found, why, help)
}

/// A failure without a more precise reason.
const UNKNOWN: (&str, &str, &str) = (
    "sink-failed",
    "the system or the reader reports it",
    "events are counted as lost until the sink takes them; later events are whole",
);

/// Returns cause, reason and help for a number of the system's.
fn of_errno(errno: i32) -> (&'static str, &'static str, &'static str) {
    match errno {
        libc::ENOSPC => {
            ("disk-full", "the disk is full", "make room: the stream continues whole when there is some")
        }
        libc::EDQUOT => (
            "disk-full",
            "the user's disk quota is used up",
            "make room, or name a file elsewhere with TELEMETRY_FILENAME",
        ),
        libc::EFBIG => (
            "disk-full",
            "a limit on the size of files is reached",
            "raise it (`ulimit -f`), or write several files: TELEMETRY_FILENAME=rotate:PATH?size=64M",
        ),
        libc::ENOENT => (
            "wrong-path",
            "the directory does not exist, and the runtime does not create it",
            "create it, or name another file with TELEMETRY_FILENAME",
        ),
        libc::EISDIR => ("wrong-path", "it is a directory", "name a file in it with TELEMETRY_FILENAME"),
        libc::ENOTDIR => (
            "wrong-path",
            "a part of the path is not a directory",
            "name another file with TELEMETRY_FILENAME",
        ),
        libc::EACCES | libc::EPERM => (
            "not-allowed",
            "the program's user may not write there",
            "name a file where it may, with TELEMETRY_FILENAME",
        ),
        libc::EROFS => {
            ("not-allowed", "the file system is read-only", "name a file elsewhere with TELEMETRY_FILENAME")
        }
        libc::ECONNREFUSED => (
            "no-reader",
            "no reader listens at that address",
            "start `telemetry listen` first; the runtime tries again by itself",
        ),
        _ => UNKNOWN,
    }
}
