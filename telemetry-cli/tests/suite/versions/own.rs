//! The registries of this project follow its own rules.

use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs `check`, which must find nothing, and returns its output.
#[track_caller]
fn good(args: &[&str]) -> String {
    let mut check = Command::new(env!("CARGO_BIN_EXE_telemetry"));
    let output = check.arg("check").args(args).current_dir(root()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// After a change: run `telemetry check --fix`, and `telemetry release` before it is published.
#[test]
fn published_registries_are_as_released_or_newer() {
    let text = good(&["--own", "events.toml", "telemetry-runtime/telemetry.toml"]);
    assert!(!text.contains("not released"), "{text}");
}

/// Checks the archive's registries, each against the one before it.
#[test]
fn the_archives_chain_has_its_numbers() {
    let dir = root().join("tests/golden/registries");
    let mut chain: Vec<String> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| format!("tests/golden/registries/{}", entry.unwrap().file_name().to_string_lossy()))
        .collect();
    chain.sort();
    assert!(chain.len() >= 6);
    for pair in chain.windows(2) {
        let text = good(&["--against", &pair[0], &pair[1]]);
        assert!(text.contains(" since "), "{text}");
    }
}
