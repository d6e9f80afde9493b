//! Whether a stream can be written to a path.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::environment::shown;
use super::finding::Finding;
use crate::text::count;

/// What keeps a stream from a path, as far as one can see without writing to it.
pub(super) fn examine(path: &Path) -> Option<Finding> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let what = format!("the stream cannot be written to {}", shown(path));
    if path.is_dir() {
        return Some(Finding::problem(
            "wrong-path",
            what,
            "that is a directory",
            "name a file in it by TELEMETRY_FILENAME, or by Config::filename in the program",
        ));
    }
    match fs::metadata(above) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Finding::problem(
            "wrong-path",
            what,
            format!("there is no directory {}, and the runtime makes none", shown(above)),
            "make it, or name another file by TELEMETRY_FILENAME",
        )),
        Err(error) => Some(Finding::problem(
            "not-allowed",
            what,
            format!("{}: {error}", shown(above)),
            "name a file where the program's user may write, by TELEMETRY_FILENAME",
        )),
        Ok(metadata) if !metadata.is_dir() => Some(Finding::problem(
            "wrong-path",
            what,
            format!("{} is no directory", shown(above)),
            "name another file by TELEMETRY_FILENAME",
        )),
        Ok(_) => None,
    }
}

/// What a sink's failure means, which has cost some events.
pub(super) fn explain(sink: &str, failure: &str, lost: u64) -> Finding {
    let found = format!("the sink {sink} fails, which has cost {}: {failure}", count(lost, "event"));
    meaning(found, failure)
}

/// The same of what a runtime has said.
pub(super) fn explain_line(sink: &str, failure: &str) -> Finding {
    meaning(format!("the sink {sink} fails: {failure}"), failure)
}

fn meaning(found: String, failure: &str) -> Finding {
    let table = [
        (
            "No space left",
            "disk-full",
            "the disk is full",
            "make room: the stream goes on whole when there is some",
        ),
        (
            "Disk quota",
            "disk-full",
            "the user may not have more of the disk",
            "make room, or name a file elsewhere by TELEMETRY_FILENAME",
        ),
        (
            "File too large",
            "disk-full",
            "a limit on the size of files is reached",
            "raise it (`ulimit -f`), or have several files: TELEMETRY_FILENAME=rotate:PATH?size=64M",
        ),
        (
            "No such file",
            "wrong-path",
            "the directory is not there, and the runtime makes none",
            "make it, or name another file by TELEMETRY_FILENAME",
        ),
        ("Is a directory", "wrong-path", "that is a directory", "name a file in it by TELEMETRY_FILENAME"),
        (
            "Not a directory",
            "wrong-path",
            "a part of the path is no directory",
            "name another file by TELEMETRY_FILENAME",
        ),
        (
            "Permission denied",
            "not-allowed",
            "the program's user may not write there",
            "name a file where it may, by TELEMETRY_FILENAME",
        ),
        (
            "Read-only file system",
            "not-allowed",
            "nobody may write there",
            "name a file elsewhere by TELEMETRY_FILENAME",
        ),
        (
            "refused",
            "no-reader",
            "nobody listens at that address",
            "start `telemetry listen` first; the runtime tries again by itself",
        ),
        (
            "expected a path, or",
            "wrong-path",
            "the address is none",
            "docs/runtime.md has the addresses that there are",
        ),
    ];
    let known = table.iter().find(|(text, ..)| failure.contains(text));
    let (_, cause, why, help) = known.copied().unwrap_or((
        "",
        "sink-fails",
        "the system, or whoever reads, says so",
        "events are counted as lost until it takes them; what comes later is whole",
    ));
    Finding::problem(cause, found, why, help)
}
