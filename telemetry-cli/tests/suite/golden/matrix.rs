//! All readers on all streams.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::readers::{PROGRAMS, Program, Read};
use super::{check, folder, names, streams};
use crate::run::Folder;

/// The share of each stream that a command shows, and its messages about the rest.
const COMMANDS: &[&str] = &["print", "print --order stream", "cnv", "txt", "stats --json"];

#[test]
fn all_readers_on_all_streams() {
    let streams = streams();
    let mut text = String::new();
    for Program { version, read } in PROGRAMS {
        writeln!(text, "# a program of {version}").unwrap();
        for (name, bytes) in &streams {
            let Read { events, account } = read(bytes);
            let account = account.replace('\n', "\n    ");
            writeln!(text, "{name}: {} read, {account}", events.len()).unwrap();
        }
        text.push('\n');
    }
    for command in COMMANDS {
        writeln!(text, "# telemetry {command}").unwrap();
        for (name, bytes) in &streams {
            let folder = Folder::new().with("stream.tel", bytes);
            let run = folder.run(&format!("{command} stream.tel"));
            let lines = run.stdout.iter().filter(|&&byte| byte == b'\n').count();
            let verdict = run.stderr.lines().last().unwrap_or_default();
            writeln!(text, "{name}: {lines} lines, exit {:?}, {verdict}", run.code.unwrap()).unwrap();
        }
        text.push('\n');
    }
    check("matrix", text.trim_end());
    if let Some(text) = modules(&streams) {
        check("matrix_python", text.trim_end());
    }
}

/// Returns what Python modules of every version read. Without Python, it prints a notice and
/// returns nothing.
fn modules(streams: &[(String, Vec<u8>)]) -> Option<String> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no python3 to run modules of the archive's registries");
        return None;
    }
    let mut all = Folder::new();
    let mut command = Command::new("python3");
    command.arg("-B").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/golden/read.py"));
    command.current_dir(all.path("")).env("PYTHONIOENCODING", "utf-8");
    for registry in names(&folder().join("registries")) {
        let name = registry.replace(".toml", ".py");
        let path = folder().join("registries").join(&registry);
        let made = all.run(&format!("py {} -o {name}", path.display()));
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        command.arg(name);
    }
    command.arg("--");
    for (name, bytes) in streams {
        let file = format!("{}.tel", name.replace('/', "-"));
        all = all.with(&file, bytes);
        command.arg(file);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}
