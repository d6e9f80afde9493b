//! The commands of the guide, and the tests that the documentation names.

use std::collections::BTreeSet;
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

/// The faults that are listed have the tests and steps that are named, and each step is listed.
#[test]
fn the_tests_of_faults_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/design/fleet.md")).unwrap();
    let (_, table) = page.split_once("| fault | tests | steps |\n").unwrap();
    let rows: Vec<_> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let plan = std::fs::read_to_string(root.join("tests/suite/chaos/plan.rs")).unwrap();
    let (_, steps) = plan.split_once("enum Step {\n").unwrap();
    let steps = steps.lines().take_while(|line| *line != "}").filter_map(|line| {
        let variant = line.strip_prefix("    ")?.split(|end: char| !end.is_ascii_alphabetic()).next()?;
        variant.starts_with(|first: char| first.is_ascii_uppercase()).then(|| variant.to_owned())
    });
    let steps: BTreeSet<_> = steps.collect();
    let mut listed = BTreeSet::new();
    for row in &rows {
        let cells: Vec<_> = row.split('|').collect();
        let (tests, of_row) = (names(cells[2]), names(cells[3]));
        assert!(!tests.is_empty() && !of_row.is_empty(), "{row}");
        for test in tests {
            let (module, function) = test.split_once("::").unwrap();
            let is_there = |package: &str| {
                let path = root.join(format!("../{package}/tests/suite/{module}.rs"));
                let text = std::fs::read_to_string(path).unwrap_or_default();
                // Attributes may stand between.
                text.split("#[test]\n").skip(1).any(|rest| {
                    let begin = rest.lines().find(|line| line.starts_with("fn "));
                    begin == Some(&format!("fn {function}() {{"))
                })
            };
            assert!(
                ["telemetry-fleet", "telemetry-lake"].into_iter().any(is_there),
                "there is no test `{test}`"
            );
        }
        listed.extend(of_row);
    }
    assert!(rows.len() > 15 && steps.len() > 15, "{} faults, {steps:?}", rows.len());
    assert_eq!(listed, steps);
}
