//! The page about the layer.

use std::path::PathBuf;
use std::process::Command;

use telemetry::decode::Reader;

const PAGE: &str = include_str!("../../docs/tracing.md");

/// Checks that the page has a program, which begins after a heading.
fn check(example: &str) {
    let program = example.split_once("\n\n").expect("a heading").1;
    assert!(
        PAGE.contains(&format!("```rust,ignore\n{program}```")),
        "docs/tracing.md differs from {program}"
    );
}

#[test]
fn the_page_quotes_the_examples() {
    check(include_str!("../examples/requests.rs"));
    check(include_str!("../examples/collector.rs"));
    let toml = include_str!("../examples/collector.toml");
    let quoted = PAGE.split_once("```toml\n[[event]]").expect("an event").1.split("```").next();
    assert!(toml.contains(quoted.expect("an end")), "docs/tracing.md differs from {toml}");
}

#[test]
fn the_example_records_its_own_events() {
    // Beside the folder of this test.
    let mut program: PathBuf = std::env::current_exe().expect("a path");
    program.pop();
    program.pop();
    program.push("examples/collector");
    if !program.exists() {
        eprintln!("SKIPPED: the examples are not built; `cargo test -p telemetry-tracing` builds them");
        return;
    }
    let stream = std::env::temp_dir().join(format!("collector-{}.tel", std::process::id()));
    let run = Command::new(program)
        .env("TELEMETRY_CONTROL", "collector:all")
        .env("TELEMETRY_FILENAME", &stream)
        .output()
        .expect("it runs");
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    let bytes = std::fs::read(&stream).expect("a stream");
    std::fs::remove_file(&stream).expect("it was there");
    let (mut found, mut events) = (Vec::new(), Reader::from_slice(&bytes).events().expect("a stream"));
    while let Some(event) = events.next().expect("a sound stream") {
        if event.registry().name == "collector" {
            let value = event.params().last().expect("a parameter").value.to_string();
            found.push(format!("{} {value}", event.name()));
        }
    }
    let expected = [0, 1, 2].map(|generation| {
        [format!("CollectStart {generation}"), format!("CollectEnd {}", 1000 << generation)]
    });
    assert_eq!(found, [expected.concat(), vec!["HeapGrown Full".to_string()]].concat());
}
