//! Perfetto's own reader of traces, in WebAssembly.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

/// Returns the folder of the reader. Says so, and returns `None`, if it is missing.
pub(super) fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("TRACE_PROCESSOR_WASM").map(PathBuf::from);
    let found = named.filter(|folder| folder.join("engine_bundle.js").exists());
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    match found {
        Some(folder) if has_node => Some(folder),
        Some(_) => {
            eprintln!("SKIPPED: no node to run Perfetto's reader of traces");
            None
        }
        None => {
            eprintln!("SKIPPED: no reader of Perfetto's traces; help: run .ci/viewers");
            None
        }
    }
}

/// Returns the rows of SQL statements on a trace, each as an object.
#[track_caller]
pub(super) fn query(engine: &Path, trace: &Path, sql: &[&str]) -> Vec<Json> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges/trace_processor.js");
    let output = Command::new("node")
        .arg(script)
        .arg("--json")
        .arg(trace)
        .args(sql)
        .env("TRACE_PROCESSOR_WASM", engine)
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {stderr}", trace.display());
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
        .collect()
}
