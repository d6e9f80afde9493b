//! The example's collector and its stream: every event of its relation is told of, and the sums of
//! what is told are what the collector counted itself.

#[path = "../examples/gcbench/gc/mod.rs"]
mod gc;
#[path = "../examples/gcbench/options.rs"]
mod options;
#[path = "../examples/gcbench/report.rs"]
mod report;
#[path = "../examples/gcbench/summary.rs"]
mod summary;
#[path = "../examples/gcbench/workload.rs"]
mod workload;

use std::collections::BTreeSet;

use options::Command;
use summary::Summary;
use telemetry::{Config, telemetry_event};
use workload::{Failure, Settings};

#[telemetry_event("events.toml")]
pub mod events {}

/// Small, but with a nursery that is smaller still, so that every cause of a trace occurs.
const SETTINGS: Settings =
    Settings { threads: 3, depth: 11, scale: 0.5, memory: None, nursery: 64 << 10, check: true };

/// One test for all that is about the stream, since a process has one.
#[test]
fn the_stream_tells_what_the_collector_did() {
    let directory = tempfile::tempdir().unwrap();
    Config::new().filename(directory.path().join("gcbench.tel")).buffer(64 << 20).start();
    telemetry::set("all");
    let outcome = workload::run(&SETTINGS).unwrap();
    let summary = read();
    let sum = |get: fn(&gc::Counters) -> u64| outcome.heaps.iter().map(get).sum::<u64>();
    assert_eq!(outcome.heaps.len(), 3);
    assert_eq!(summary.objects, sum(|heap| heap.allocated), "sizes in ObjectAlloc");
    assert_eq!(summary.allocated.iter().map(|(_, bytes)| bytes).sum::<u64>(), sum(|heap| heap.allocated));
    assert_eq!(summary.phases.iter().map(|phase| phase.allocated).sum::<u64>(), sum(|heap| heap.allocated));
    assert_eq!(summary.traces.len() as u64, sum(|heap| heap.traces));
    let survived = summary.traces.iter().map(|trace| trace.survived).sum::<u64>();
    assert_eq!(survived, sum(|heap| heap.forwarded));
    assert_eq!(
        summary.traces.iter().map(|trace| trace.condemned).sum::<u64>() - survived,
        sum(|heap| heap.reclaimed)
    );
    assert_eq!(count(&summary, "SegAlloc"), count(&summary, "SegFree"), "all segments were freed");
    let (begin, end) = summary.bench.unwrap();
    assert!((end - begin) as f64 >= 0.95 * outcome.elapsed.as_nanos() as f64, "the stream's clock is slow");

    // With little memory there are emergencies, and with less there is an end.
    let tight = Settings { memory: Some(4 << 20), nursery: 16 << 20, ..SETTINGS };
    workload::run(&tight).unwrap();
    let too_tight = Settings { depth: 14, ..tight };
    assert!(matches!(workload::run(&too_tight), Err(Failure::Memory(_))));
    let summary = read();
    let causes: BTreeSet<&str> = summary.traces.iter().map(|trace| trace.why.as_str()).collect();
    assert_eq!(causes, BTreeSet::from(["ClientRequest", "Emergency", "GenerationFull", "NurseryFull"]));
    let kinds: Vec<&str> = summary.kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["Arena", "Pool", "Trace", "Seg", "Ref", "Object", "User"]);
    let told = summary.kinds.iter().flat_map(|kind| &kind.events).map(|(event, _)| event.as_str());
    let relation = events::REGISTRY.relation().events.iter().map(|event| event.name);
    assert_eq!(told.collect::<BTreeSet<_>>(), relation.collect(), "every event of the relation occurs");

    let screen = report::render(&summary);
    assert!(screen.lines().count() <= 35, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
}

/// The stream so far: all of what was emitted, with an end for every beginning.
fn read() -> Summary {
    telemetry::flush();
    let (counters, summary) = (telemetry::counters(), Summary::read(&telemetry::filename()).unwrap());
    let completeness = &summary.completeness;
    assert_eq!(completeness.events, counters.written, "{completeness}");
    assert_eq!(counters.lost_pool + counters.lost_nested + counters.lost_sink, completeness.lost().events());
    assert_eq!(completeness.lost().events() + completeness.missing() + completeness.damaged_ranges, 0);
    assert_eq!(summary.unpaired, 0, "{:?}", summary.spans.keys());
    let counted = summary.kinds.iter().flat_map(|kind| &kind.events).map(|(_, count)| count).sum::<u64>();
    assert_eq!(counted, completeness.events);
    summary
}

fn count(summary: &Summary, name: &str) -> u64 {
    let events = summary.kinds.iter().flat_map(|kind| &kind.events);
    events.filter(|(event, _)| event == name).map(|(_, count)| count).sum()
}

#[test]
fn the_command_line_is_read() {
    let parse = |line: &str| options::parse(line.split_whitespace().map(str::to_string));
    let usual = Settings { threads: 2, depth: 16, scale: 1.5, memory: None, nursery: 4 << 20, check: false };
    let check = |line, expected| assert_eq!(parse(line), Ok(Command::Run(expected)), "{line}");
    check("", usual);
    check("--threads 4 --depth=12", Settings { threads: 4, depth: 12, ..usual });
    check("--iterations 0.25 --check", Settings { scale: 0.25, check: true, ..usual });
    check("--memory 20 --nursery 64", Settings { memory: Some(20 << 20), nursery: 64 << 10, ..usual });
    assert_eq!(parse("--threads 4 --help"), Ok(Command::Help));
    let refuse = |line, expected: &str| assert_eq!(parse(line), Err(expected.to_string()), "{line}");
    refuse("--threads", "`--threads` needs a number, 1 to 64");
    refuse("--threads 0", "`--threads 0`: expected a number, 1 to 64");
    refuse("--threads 1.5", "`--threads 1.5`: expected a whole number");
    refuse("--depth=deep", "`--depth deep`: expected a number, 4 to 20");
    refuse("--iterations nan", "`--iterations nan`: expected a number, 0 to 1000000");
    refuse("--check=1", "unknown argument `--check=1`");
    refuse("16", "unknown argument `16`");
    let options = options::HELP.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    for option in options.map(|line| line.split_whitespace().next().unwrap()) {
        let unknown = format!("unknown argument `--{option}`");
        assert_ne!(parse(&format!("--{option}")), Err(unknown), "the help lists it");
    }
}
