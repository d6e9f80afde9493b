//! The commands of the guide.

use std::path::Path;
use std::process::Command;

use telemetry_testing::made::{Plan, make, registry};

use crate::lakes::said;

#[test]
fn the_commands_of_the_guide() {
    let programs = Path::new(env!("CARGO_BIN_EXE_telemetry-lake")).parent().unwrap();
    if !programs.join("telemetry-fleet").exists() {
        eprintln!("SKIPPED: telemetry-fleet is not built, which the guide ships with");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan { events: 2000, ..Plan::default() };
    std::fs::write(dir.path().join("app.tel"), make(&registry(), &plan).stream).unwrap();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lake.md")).unwrap();
    let fences = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines: Vec<_> = fences.flat_map(str::lines).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut last = String::new();
    for line in lines {
        let mut shell = Command::new("sh");
        let run =
            said(&shell.args(["-c", line]).current_dir(dir.path()).env("PATH", &path).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{line}");
        last = run.stdout;
    }
    assert_eq!(last, "complete: all sessions have ended\n");
}
