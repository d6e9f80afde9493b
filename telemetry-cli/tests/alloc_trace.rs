//! Records the allocator of a real program, and checks the recording by the command.
#![cfg(target_os = "linux")]

#[path = "../../examples/alloc_trace/tracing.rs"]
mod tracing;
#[path = "../../examples/alloc_trace/work.rs"]
mod work;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use telemetry::telemetry_event;
use tracing::Tracing;

#[telemetry_event("../examples/alloc_trace/events.toml")]
pub mod events {}

#[global_allocator]
static ALLOCATOR: Tracing = Tracing::new();

const CHILD: &str = "TELEMETRY_TEST_CHILD";

/// Returns the program: this test, in a process that is recorded from its first allocation on.
fn program() {
    work::work(2, 100);
    telemetry::reset("all");
    telemetry::flush();
    let counters = telemetry::counters::total();
    assert_eq!(counters.lost_pool + counters.lost_reentrant + counters.lost_sink, 0);
    eprintln!("told {} {}", counters.written, ALLOCATOR.asked_bytes());
}

fn command(args: &[&str], stream: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry"));
    command.args(["replay", "--strict"]).args(args).arg(stream).output().unwrap()
}

#[test]
fn every_allocation_is_replayed() {
    if std::env::var_os(CHILD).is_some() {
        return program();
    }
    let folder = tempfile::tempdir().unwrap();
    let stream = folder.path().join("alloc.tel");
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["every_allocation_is_replayed", "--exact", "--nocapture"])
        .envs([(CHILD, "1"), ("TELEMETRY_CONTROL", "all"), ("TELEMETRY_BUFFER", "64M")])
        .env("TELEMETRY_FILENAME", &stream)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    let told = String::from_utf8(child.stderr).unwrap();
    let told = told.lines().find_map(|line| line.strip_prefix("told ")).expect("the program's account");
    let told: Vec<u64> = told.split(' ').map(|number| number.parse().unwrap()).collect();

    let output = command(&["--json", "--compare", "--repeat", "2"], &stream);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |key: &str| json["recording"][key].as_u64().unwrap();
    let replayed = ["allocations", "frees", "reallocations", "without_memory"].map(number);
    assert_eq!(replayed.iter().sum::<u64>(), told[0], "{json:#}");
    assert_eq!(number("asked_bytes"), told[1]);
    assert_eq!(number("faults"), 0, "{said}");
    // The standard library and the test still have some memory at the end.
    assert_eq!(number("allocations"), number("frees") + number("live_blocks"));
    assert!(number("live_bytes") < number("peak_bytes") / 2 && number("peak_bytes") < told[1]);

    let allocators = json["allocators"].as_array().unwrap();
    let mut names: Vec<_> = allocators.iter().map(|each| each["allocator"].as_str().unwrap()).collect();
    names.sort_unstable();
    let expected: &[&str] = if cfg!(feature = "mimalloc") { &["mimalloc", "system"] } else { &["system"] };
    assert_eq!(names, expected);
    for each in allocators {
        assert_eq!(each["runs"], 2);
        assert_eq!(each["operations"].as_u64().unwrap(), replayed[..3].iter().sum::<u64>());
        assert_eq!(each["refused"], 0);
        let [seconds, total, resident] =
            ["seconds", "total_seconds", "peak_resident_bytes"].map(|key| each[key].as_f64().unwrap());
        assert!(0.0 < seconds && seconds < total, "{each:#}");
        assert!(resident >= 0.5 * number("peak_bytes") as f64, "each page is touched: {each:#}");
    }
}
