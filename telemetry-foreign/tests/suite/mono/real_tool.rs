//! Our logs as Debian's mprof-report reads them, where it is installed.

use std::process::Command;

use telemetry_decode::Filter;

use super::round_trip::{log_of, stream};
use super::{assert_same, debug, made};

/// Returns the text of `mprof-report` for a log. `None`, with a note, if it is not installed.
pub(crate) fn mprof_report(log: &[u8], options: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.mlpd");
    std::fs::write(&path, log).expect("it can be written");
    match Command::new("mprof-report").args(options).arg(&path).env("TZ", "UTC").output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("SKIPPED: cannot run mprof-report: {error}; help: install mono-utils");
            None
        }
    }
}

#[test]
fn the_real_tool_prints_the_same_of_a_log_that_came_back() {
    // It reads assemblies and domains as those of later versions.
    let unknown = b"\x22\x01\x03\x01\x22\x01\x04\x02";
    let at = made::ONE.windows(unknown.len()).position(|bytes| bytes == unknown).unwrap();
    let events = [&made::ONE[..at], &made::ONE[at + unknown.len()..]].concat();
    let log = [made::file_one(), made::buffer(7, 1_000_000, &events)].concat();
    let Some(expected) = mprof_report(&log, &["--debug"]) else { return };
    assert!(expected.contains("heap shot end"), "{expected}");
    let (again, _) = log_of(&stream(&log), Filter::default());
    assert_same(&mprof_report(&again, &["--debug"]).unwrap_or_default(), &expected, "version 1");
}

#[test]
fn version_17_is_printed_as_the_real_tool_does() {
    let log = made::seventeen();
    let Some(expected) = mprof_report(&log, &["--debug", "--reports=header"]) else { return };
    assert_same(&debug(&log).0, &expected, "version 17");
}

#[test]
fn the_real_tool_reads_what_version_1_has_of_version_17() {
    let (log, _) = log_of(&stream(&made::seventeen()), Filter::default());
    let Some(found) = mprof_report(&log, &["--debug"]) else { return };
    assert!(found.contains("jitted method"), "{found}");
    assert!(!found.contains("unhandled"), "{found}");
}
