//! Logs that programs of GHC wrote, where they are there.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{assert_same, shown};

/// The reference logs: beside the repository, or where `TELEMETRY_DATA` says.
pub(super) fn logs() -> Vec<PathBuf> {
    let root = std::env::var_os("TELEMETRY_DATA").map(PathBuf::from).or_else(|| {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        above.map(|path| path.join("shared/data")).find(|path| path.is_dir())
    });
    let entries = root.and_then(|root| std::fs::read_dir(root.join("ghc")).ok());
    let mut logs: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "eventlog"))
        .collect();
    logs.sort();
    if logs.is_empty() {
        eprintln!("SKIPPED: no reference logs of GHC: name their folder in TELEMETRY_DATA");
    }
    logs
}

/// What `ghc-events show` 0.21 printed of a log.
fn expected(log: &Path) -> Option<String> {
    let text = log.with_extension("show.txt.xz");
    let output = Command::new("xz").arg("-dc").arg(&text).output();
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).expect("text")),
        _ => {
            eprintln!("SKIPPED: `xz` is not here, so that {} cannot be read", text.display());
            None
        }
    }
}

#[test]
fn logs_are_shown_as_ghc_events_shows_them() {
    for log in logs() {
        let bytes = std::fs::read(&log).expect("a log");
        let (text, completeness) = shown(&bytes);
        if let Some(expected) = expected(&log) {
            assert_same(&text, &expected, &log.display().to_string());
        }
        assert!(completeness.is_complete(), "{completeness:?}");
        assert_eq!(completeness.bytes.total(), bytes.len() as u64);
    }
}
