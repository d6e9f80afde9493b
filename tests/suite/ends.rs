//! Starts and ends of programs: in each case, the stream has all events.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::support::package::{OPTIMIZED, Workspace};
use crate::support::process::{Outcome, Process};
use crate::support::stream::{Counts, Owned};

/// The programs, and their files.
const PROGRAMS: &[(&str, &str)] = &[
    ("ends", include_str!("../programs/ends.rs")),
    ("destructors", include_str!("../programs/destructors.rs")),
    ("early", include_str!("../programs/early.rs")),
    ("allocator", include_str!("../programs/allocator.rs")),
    ("interposed", include_str!("../programs/interposed.rs")),
    ("ring", include_str!("../programs/ring.rs")),
    ("privileged", include_str!("../programs/privileged.rs")),
];

/// The programs, the path of `ends` that aborts at a panic, and that of an optimized `ring`.
fn built() -> &'static (Workspace, PathBuf, PathBuf) {
    static BUILT: OnceLock<(Workspace, PathBuf, PathBuf)> = OnceLock::new();
    BUILT.get_or_init(|| {
        let workspace = Workspace::new("programs", &["programs"]);
        workspace.package("programs", "2024", "telemetry-events.workspace = true\nlibc.workspace = true");
        workspace.write("programs/work.toml", include_str!("../registries/work.toml"));
        for (name, text) in PROGRAMS {
            workspace.write(&format!("programs/src/bin/{name}.rs"), text);
        }
        let aborts = workspace.build_with(&["profile.dev.panic=\"abort\""], "ends");
        let ring = workspace.build_with(&OPTIMIZED, "ring");
        workspace.build(&[]);
        (workspace, aborts, ring)
    })
}

/// The path of a program.
pub(crate) fn program(name: &str) -> PathBuf {
    built().0.program(name)
}

/// The path of the program `ring`, optimized.
pub(crate) fn optimized_ring() -> PathBuf {
    built().2.clone()
}

fn ends(how: &str) -> Outcome {
    Process::new(program("ends")).arg(how).run()
}

/// All events are there, and the stream says that it ended.
fn check_complete(run: &Outcome, events: u64) {
    let stream = run.stream();
    assert_eq!(stream.events.len() as u64, events, "{}", run.stderr);
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
}

/// All events are there, but not the end.
fn check_aborted(run: &Outcome, events: u64) {
    assert_eq!(run.status.code(), None, "{}", run.status);
    let stream = run.stream();
    assert_eq!(stream.events.len() as u64, events, "{}", run.stderr);
    assert!(!stream.completeness.is_complete());
}

#[test]
fn by_returning_from_main() {
    check_complete(&ends("return").succeeded(), 2000);
}

/// The stream is complete, whatever other threads were about to emit.
#[test]
fn by_returning_while_others_emit() {
    for _ in 0..5 {
        let process = Process::new(program("ends")).arg("return while others emit");
        let run = process.env("TELEMETRY_BUFFER", "256k").env("TELEMETRY_LATENCY", "0.001").run().succeeded();
        let counts = Counts::of(run.path());
        assert!(counts.decoded > 2000);
    }
}

#[test]
fn by_exit() {
    for how in ["exit", "exit in a thread"] {
        let run = ends(how);
        assert_eq!(run.status.code(), Some(3));
        check_complete(&run, 2000);
    }
}

#[test]
fn by_panic() {
    let run = ends("panic");
    assert_eq!(run.status.code(), Some(101));
    check_complete(&run, 2000);
    check_complete(&ends("panic in a thread").succeeded(), 2000);
}

#[test]
fn by_abort() {
    check_aborted(&ends("panic and abort"), 3000);
    let run = Process::new(&built().1).arg("abort by panic").run();
    check_aborted(&run, 3000);
}

#[test]
fn with_destructors_of_thread_locals() {
    let run = Process::new(program("destructors")).run().succeeded();
    let stream = run.stream();
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
    let of_level = |level: i128| {
        stream.events.iter().filter(|event| event.values.last() == Some(&Owned::Number(level))).count()
    };
    // Thread-locals of the main thread may be destroyed before or after the runtime's end.
    assert!(
        (100..=101).contains(&of_level(1)) && (100..=101).contains(&of_level(2)),
        "{:?}",
        stream.by_name()
    );
    assert_eq!(stream.by_name()["Tick"], 101);
}

#[test]
fn with_events_before_main_and_after_the_runtime() {
    let run = Process::new(program("early")).run().succeeded();
    let stream = run.stream();
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
    let levels: Vec<_> = stream.events.iter().map(|event| event.values[3].clone()).collect();
    assert_eq!(levels, [1, 2, 3].map(Owned::Number));
}

/// The first event starts threads, for which the C library calls `malloc`. So that event is
/// interrupted by others of the same lane.
#[test]
fn with_a_malloc_that_emits() {
    let run = Process::new(program("interposed")).env("TELEMETRY_CONTROL", "Tick").run().succeeded();
    check_complete(&run, run.number("emitted"));
}

#[test]
fn with_an_allocator_that_emits() {
    for control in ["all", "Alloc", ""] {
        let process = Process::new(program("allocator")).env("TELEMETRY_CONTROL", control);
        let run = process.env("TELEMETRY_LATENCY", "0.01").run().succeeded();
        let counts = Counts::of(run.path());
        assert_eq!([counts.decoded, counts.lost.events()], ["written", "lost"].map(|name| run.number(name)));
        match control {
            // Switched on later.
            "" => assert!(counts.emitted() < run.number("emitted")),
            _ => assert_eq!(counts.emitted(), run.number("emitted")),
        }
    }
}
