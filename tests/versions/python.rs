//! Generated Python modules, run by CPython, on the same streams.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use telemetry_schema::Registry;

use crate::decoders::Read;
use crate::streams::Emitted;

/// What modules of two ages gave.
pub(crate) struct Answers {
    /// By the name of the rule, and `before` or `now`.
    reads: HashMap<(String, String), Read>,
    differences: HashMap<String, String>,
}

impl Answers {
    /// What the module of a registry read.
    pub(crate) fn read(&mut self, name: &str, age: &str) -> Read {
        self.reads.remove(&(name.to_string(), age.to_string())).expect("it was read")
    }

    /// How the module of now differs from that of before.
    pub(crate) fn difference(&self, name: &str) -> &str {
        &self.differences[name]
    }
}

/// Reads the released stream with the modules of all changed registries, by name, and the changed
/// streams with the released module. Returns `None` without Python, and says so.
pub(crate) fn ask(
    released: (&Registry, &Emitted),
    changed: &[(&str, &Registry, &Emitted)],
) -> Option<Answers> {
    if !Command::new("python3").arg("-c").arg("").status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no python3 to run generated modules");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, registry: &Registry, stream: &Emitted| {
        let path = |extension| folder.path().join(format!("{name}.{extension}"));
        std::fs::write(path("py"), telemetry_codegen_python::module(registry)).expect("a module");
        std::fs::write(path("tel"), &stream.bytes).expect("a stream");
    };
    put("released", released.0, released.1);
    changed.iter().for_each(|(name, registry, stream)| put(name, registry, stream));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions/modules.py");
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).arg(folder.path()).args(changed.iter().map(|(name, ..)| name));
    let output = command.output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(answers(&String::from_utf8(output.stdout).expect("text")))
}

fn answers(text: &str) -> Answers {
    let mut answers = Answers { reads: HashMap::new(), differences: HashMap::new() };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((name, found)) = line.strip_prefix("difference ").and_then(|line| line.split_once(": ")) {
            answers.differences.insert(name.to_string(), found.to_string());
            continue;
        }
        let (name, age) =
            line.strip_prefix("read ").and_then(|line| line.split_once(' ')).expect("a reading");
        let mut read = Read { events: Vec::new(), passed_over: 0 };
        for line in lines.by_ref() {
            if let Some(number) = line.strip_prefix("passed over ") {
                read.passed_over = number.parse().expect("a number");
                break;
            }
            let (code, text) = line.split_once(' ').expect("an event");
            read.events.push((code.parse().expect("a code"), text.to_string()));
        }
        answers.reads.insert((name.to_string(), age.to_string()), read);
    }
    answers
}
