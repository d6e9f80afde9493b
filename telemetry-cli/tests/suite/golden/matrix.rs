//! All readers on all streams.

use std::fmt::Write;

use super::readers::{PROGRAMS, Program, Read};
use super::{check, streams};
use crate::run::Folder;

/// How much of each stream a command shows, and what it says of the rest.
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
}
