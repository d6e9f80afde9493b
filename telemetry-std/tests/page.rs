//! The page about the crate, and its example.

use std::path::PathBuf;
use std::process::Command;

use telemetry::decode::Reader;

#[test]
fn the_page_quotes_the_example() {
    let page = include_str!("../../docs/std.md");
    let program = include_str!("../examples/watched.rs").split_once("\n\n").expect("a heading").1;
    assert!(page.contains(&format!("```rust,ignore\n{program}```")), "docs/std.md differs from the example");
}

#[test]
fn the_example_records_what_the_page_says() {
    // Beside the folder of this test.
    let mut program: PathBuf = std::env::current_exe().expect("a path");
    program.pop();
    program.pop();
    program.push("examples/watched");
    if !program.exists() {
        eprintln!("SKIPPED: the examples are not built; `cargo test -p telemetry-std` builds them");
        return;
    }
    let stream = std::env::temp_dir().join(format!("watched-{}.tel", std::process::id()));
    let run = Command::new(program)
        .env("TELEMETRY_CONTROL", "std:all -std:Allocation -std:AllocationStack")
        .env("TELEMETRY_FILENAME", &stream)
        .status();
    assert!(run.expect("a program").success());
    let mut events = Reader::open(&stream).expect("a stream").events().expect("a readable stream");
    let (mut threads, mut allocations) = (0, 0);
    while let Some(event) = events.next().expect("a readable stream") {
        threads += u32::from(event.name() == "ThreadEnd");
        allocations += u32::from(event.name() == "SmallAllocations");
        assert!(
            !["Alloc", "Free", "Realloc", "StackAlloc"].contains(&event.name()),
            "the page leaves them out"
        );
    }
    assert_eq!(threads, 4);
    assert!(allocations > 0, "no sample of the allocator");
    assert!(events.completeness().is_complete(), "{}", events.completeness());
    std::fs::remove_file(stream).expect("our own file");
}
