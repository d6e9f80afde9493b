//! Generated modules pass `mypy --strict`, and so does what uses them.

use std::path::Path;
use std::process::Command;

use crate::made::registry;
use crate::python::{Module, interpreters};

const USE: &str = r#"
import events

total = 0
for event in events.read("stream.tel"):
    if isinstance(event, events.Made):
        total += event.size + event.time_ns
        reveal_type(event.why)
    elif isinstance(event, events.Named):
        reveal_type(event.name)
reveal_type(events.EVENT[1].params)
"#;

#[test]
fn modules_pass_mypy_strict() {
    for interpreter in interpreters() {
        let has = Command::new(interpreter).args(["-m", "mypy", "--version"]).output();
        if !has.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: {interpreter} has no mypy: {interpreter} -m pip install mypy");
            continue;
        }
        let registries =
            [("every sort", registry()), ("names", parse("names.toml")), ("small", parse("small.toml"))];
        for (name, registry) in registries {
            let module = Module::new(&registry);
            let mut command = Command::new(interpreter);
            command.args(["-m", "mypy", "--strict", "--no-incremental", "events.py"]);
            if name == "every sort" {
                module.with("use.py", USE.as_bytes());
                command.arg("use.py");
            }
            let output = command.current_dir(module.path("")).output().unwrap();
            // Older ones say `builtins.int`.
            let text = String::from_utf8_lossy(&output.stdout).replace("builtins.", "");
            assert!(output.status.success(), "{interpreter}, {name}:\n{text}");
            if name == "every sort" {
                for revealed in ["\"int\"", "\"str\"", "fallback=events.EventParam"] {
                    assert!(text.contains(revealed), "{interpreter}: no {revealed} in\n{text}");
                }
            }
        }
    }
}

fn parse(name: &str) -> telemetry_schema::Registry {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    telemetry_schema::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}
