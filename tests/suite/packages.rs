//! Users' packages, built by real cargo: a library and a program with their own events, changes of
//! a registry file, other editions and names, and strict lints.

use crate::support::package::{Workspace, said};
use crate::support::process::Process;
use crate::support::stream::{Owned, Stream};

const CACHE: &str = include_str!("../packages/cache.toml");

/// A library with two registries, one of them in a private module that it re-exports.
fn cache(workspace: &Workspace) {
    workspace.package("cache", "2024", "telemetry-events.workspace = true");
    workspace.write("cache/events.toml", CACHE);
    let message = "\n[[message]]\nname = \"Missed\"\nbegin = \"Miss\"\ndoc = \"A key was not found\"\n";
    workspace.write("cache/store.toml", &(CACHE.replace("\"cache\"", "\"store\"") + message));
    workspace.write("cache/src/lib.rs", include_str!("../packages/cache.rs"));
}

/// A library with events, a program with other events, and a program that knows only the library.
fn library_and_programs() -> Workspace {
    let workspace = Workspace::new("packages", &["cache", "app", "user"]);
    cache(&workspace);
    workspace.package("app", "2021", "telemetry-events.workspace = true\ncache = { path = \"../cache\" }");
    workspace.write("app/registries/app.toml", include_str!("../packages/app.toml"));
    workspace.write("app/src/main.rs", include_str!("../packages/app.rs"));
    workspace.package("user", "2018", "cache = { path = \"../cache\" }");
    workspace.write("user/src/main.rs", include_str!("../packages/user.rs"));
    workspace
}

/// Runs a program of a workspace, and returns its stream.
fn run(workspace: &Workspace, program: &str) -> Stream {
    Process::new(workspace.program(program)).run().succeeded().stream()
}

/// The events of a stream, one per line.
fn lines(stream: &Stream) -> Vec<String> {
    let value = |value: &Owned| match value {
        Owned::Number(number) => number.to_string(),
        Owned::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    let line = |event: &crate::support::stream::Event| {
        event.values.iter().fold(event.name.clone(), |line, one| format!("{line} {}", value(one)))
    };
    stream.events.iter().map(line).collect()
}

#[test]
fn a_library_and_programs_that_use_it() {
    let workspace = library_and_programs();
    let built = workspace.build(&[]);
    assert!(!built.contains("warning"), "{built}");
    let app = ["Started cache", "Miss 10 1", "Hit 10", "Hit 11", "Hit 12", "Miss 20 2", "Hit 21"];
    assert_eq!(lines(&run(&workspace, "app")), app);
    assert_eq!(lines(&run(&workspace, "user")), ["Hit 1", "Miss 2 1", "Hit 3", "Miss 4 2"]);

    // The form of the emitters that editors see, without a warning about the name of the condition.
    // It is for reading only: the program's own emitter does nothing, those of the library do.
    let editor = ["-p", "app", "--", "--cfg", "rust_analyzer"];
    let output = workspace.cargo("rustc", "target").args(editor).output().expect("cargo runs");
    let text = said(&output);
    assert!(output.status.success() && !text.contains("warning"), "{text}");
    assert_eq!(lines(&run(&workspace, "app")), app[1..]);
}

/// In a workspace of its own, so that the other one need not be built again.
#[test]
fn a_registry_that_changes() {
    let workspace = Workspace::new("changes", &["cache", "change"]);
    cache(&workspace);
    workspace.package("change", "2024", "cache = { path = \"../cache\" }");
    let main = |emitter: &str| format!("fn main() {{\n    cache::events::{emitter};\n}}\n");
    workspace.write("change/src/main.rs", &main("hit!(1)"));
    workspace.build(&[]);
    assert_eq!(lines(&run(&workspace, "change")), ["Hit 1"]);

    // The registry file alone: its users are built again, and tell its new version.
    let minor = CACHE.replace("minor = 0", "minor = 1");
    let event = "\n[[event]]\nname = \"Full\"\ncode = 3\nkind = \"Lookup\"\ndoc = \"No room is left\"\n";
    workspace.write("cache/events.toml", &(minor + event));
    let built = workspace.build(&[]);
    assert!(built.contains("Compiling cache") && built.contains("Compiling change"), "{built}");
    let stream = run(&workspace, "change");
    assert_eq!(lines(&stream), ["Hit 1"]);
    assert_eq!(stream.versions, ["cache 1.0.1"]);

    workspace.write("change/src/main.rs", &main("full!()"));
    workspace.build(&[]);
    assert_eq!(lines(&run(&workspace, "change")), ["Full"]);

    // A mistake in it is found, and its correction too.
    workspace.write("cache/events.toml", &CACHE.replace("\"u64\"", "\"u65\""));
    let output = workspace.cargo("build", "target").output().expect("cargo runs");
    let text = said(&output);
    assert!(!output.status.success() && text.contains("cache/events.toml:20:34"), "{text}");
    workspace.write("cache/events.toml", CACHE);
    workspace.write("change/src/main.rs", &main("hit!(1)"));
    assert!(workspace.build(&[]).contains("Compiling cache"));
    assert_eq!(run(&workspace, "change").versions, ["cache 1.0.0"]);
}

/// Types, events and parameters may have the names of other items; `telemetry` may have another
/// name.
#[test]
fn names_that_other_things_have() {
    let workspace = Workspace::new("names", &["names"]);
    let features = "package = \"telemetry-events\", features = [\"decode\"]";
    let path = env!("CARGO_MANIFEST_DIR");
    workspace.package("names", "2021", &format!("tel = {{ path = {path:?}, {features} }}"));
    workspace.write("names/events.toml", include_str!("../packages/names.toml"));
    workspace.write("names/src/main.rs", include_str!("../packages/names.rs"));
    let built = workspace.build(&[]);
    assert!(!built.contains("warning"), "{built}");
    let run = Process::new(workspace.program("names")).run().succeeded();
    let printed: Vec<&str> = run.stdout.lines().collect();
    let expected = [
        "Vec(Vec { option: Some, result: [Vec, Eq], string: String(Default | Drop), label: Label(Word), array: [Fields] })",
        "Println(Println)",
        "Assert(Assert)",
        "ThreadLocal(ThreadLocal)",
        "Record(Record { cursor: 1, slots: [2, 3], source: \"four\", value: [5, 6], number: [7, 8], rt: 9, \
         record: [10, 11], long: -12, event: true, core: 13.5, std: Label(14), telemetry: [Label(15)] })",
        "Long(Long)",
        "Rt(Rt)",
        "Core(Core)",
        "Iterator(Iterator { inside: [1, 2, 3] })",
    ];
    assert_eq!(printed, expected);
}

/// Unused emitters, types and decoders in a private module cause no lint warning, nor do used ones.
#[test]
fn lints_that_allow_nothing() {
    let workspace = Workspace::new("strict", &["strict"]);
    workspace.package("strict", "2024", "telemetry-events = { workspace = true, features = [\"decode\"] }");
    for (name, text) in [
        ("cache", CACHE),
        ("names", include_str!("../packages/names.toml")),
        ("sorts", include_str!("../registries/sorts.toml")),
    ] {
        workspace.write(&format!("strict/registries/{name}.toml"), text);
    }
    workspace.write("strict/src/main.rs", include_str!("../packages/strict.rs"));
    workspace.build(&[]);
    let output = workspace.cargo("clippy", "target").output().expect("cargo runs");
    let text = said(&output);
    if text.contains("no such command") || text.contains("is not installed") {
        eprintln!("SKIPPED: there is no clippy here");
        return;
    }
    assert!(output.status.success() && !text.contains("warning"), "{text}");
}
