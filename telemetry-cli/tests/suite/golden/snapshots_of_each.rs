//! The events that are read from each stream.

use std::fmt::Write;

use super::readers::{PROGRAMS, Program};
use super::{check, streams};
use crate::run::Folder;

/// The generic decoder, by `print`.
#[test]
fn generic() {
    for (name, bytes) in streams() {
        let folder = Folder::new().with("stream.tel", bytes);
        let run = folder.run("print stream.tel");
        let text = String::from_utf8(run.stdout).unwrap();
        check(&format!("print-{}", name.replace('/', "-")), &(text + &run.stderr));
    }
}

/// The typed decoders. The first part of one session is enough: it has each event once.
#[test]
fn typed() {
    const SESSION: u64 = 1;
    for Program { version, read } in PROGRAMS {
        let mut text = String::new();
        for (name, bytes) in streams() {
            writeln!(text, "# {name}").unwrap();
            let events = read(&bytes).events;
            let mut names = Vec::new();
            for (_, event) in events.iter().filter(|(session, _)| *session == SESSION) {
                let name = event.split('(').next().unwrap_or_default();
                if !names.contains(&name) {
                    names.push(name);
                    writeln!(text, "{event}").unwrap();
                }
            }
            text.push('\n');
        }
        check(&format!("typed-{version}"), text.trim_end());
    }
}
