//! The example's collector and its stream: every event of its registry occurs, and the sums over
//! the events are those that the collector counted.

#[path = "../examples/gcbench/counts.rs"]
mod counts;
#[path = "../examples/gcbench/gc/mod.rs"]
mod gc;
#[path = "../examples/gcbench/history.rs"]
mod history;
#[path = "../examples/gcbench/listen.rs"]
mod listen;
#[path = "../examples/gcbench/options.rs"]
mod options;
#[path = "../examples/gcbench/report.rs"]
mod report;
#[path = "../examples/gcbench/workload.rs"]
mod workload;

use std::collections::BTreeSet;

use counts::Counts;
use events::Event;
use history::History;
use options::Command;
use telemetry::decode::Reader;
use telemetry::{Config, telemetry_event};
use workload::{Failure, Settings};

#[telemetry_event("events.toml", decode)]
pub mod events {}

/// Small, with an even smaller nursery, so that every cause of a trace occurs.
const SETTINGS: Settings = Settings {
    threads: 3,
    depth: 11,
    scale: 0.5,
    memory: None,
    nursery: 64 << 10,
    adapt: false,
    check: true,
};

/// One test for everything about the stream, because a process has one stream.
#[test]
fn the_stream_tells_what_the_collector_did() {
    let directory = tempfile::tempdir().unwrap();
    Config::new().output(directory.path().join("gcbench.tel")).buffer(64 << 20).start().unwrap();
    telemetry::set("all");
    let outcome = workload::run(&SETTINGS).unwrap();
    let (counts, history) = read();
    let own = |get: fn(&gc::Counters) -> u64| outcome.heaps.iter().map(get).sum::<u64>();
    assert_eq!(outcome.heaps.len(), 3);
    let (allocated, survived) = (own(|heap| heap.allocated), own(|heap| heap.forwarded));
    assert_eq!(sizes(), [allocated, own(|heap| heap.tables), survived]);
    assert_eq!(history.allocated.iter().map(|(_, bytes)| bytes).sum::<u64>(), allocated);
    assert_eq!(history.phases.iter().map(|phase| phase.allocated).sum::<u64>(), allocated);
    assert_eq!(history.traces.iter().map(|trace| trace.survived).sum::<u64>(), survived);
    let condemned = history.traces.iter().map(|trace| trace.condemned).sum::<u64>();
    assert_eq!(condemned - survived, own(|heap| heap.reclaimed));
    assert_eq!(history.traces.len() as u64, own(|heap| heap.traces));
    assert_eq!(count(&counts, "SegAlloc"), count(&counts, "SegFree"), "all segments were freed");
    let (begin, end) = history.bench.unwrap();
    assert!((end - begin) as f64 >= 0.95 * outcome.elapsed.as_nanos() as f64, "the stream's clock is slow");

    // With little memory there are emergencies, and with less the program ends.
    let tight = Settings { memory: Some(4 << 20), nursery: 16 << 20, ..SETTINGS };
    workload::run(&tight).unwrap();
    let too_tight = Settings { depth: 14, ..tight };
    assert!(matches!(workload::run(&too_tight), Err(Failure::Memory(_))));
    let (counts, history) = read();
    let causes: BTreeSet<&str> = history.traces.iter().map(|trace| trace.why.as_str()).collect();
    assert_eq!(causes, BTreeSet::from(["ClientRequest", "Emergency", "GenerationFull", "NurseryFull"]));
    let kinds: Vec<&str> = counts.kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["Arena", "Pool", "Trace", "Seg", "Ref", "Object", "User"]);
    let told = counts.kinds.iter().flat_map(|kind| &kind.events).map(|(event, _)| event.as_str());
    let registry = events::REGISTRY.def().events.iter().map(|event| event.name);
    assert_eq!(told.collect::<BTreeSet<_>>(), registry.collect(), "every event of the registry occurs");

    // The program receives messages about its collector whatever is output, and can react.
    telemetry::reset("all");
    let adapts = Settings { adapt: true, threads: 2, depth: 12, scale: 1.0, check: false, ..SETTINGS };
    let (outcome, heard) = listen::during(&adapts, false, || workload::run(&adapts));
    let (outcome, heard) = (outcome.unwrap(), heard.unwrap());
    let traces = outcome.heaps.iter().map(|heap| heap.traces).sum::<u64>();
    assert_eq!((heard.messages, heard.dropped), (2 * traces, 0), "{heard:?}");
    assert!(heard.nursery[0] < heard.nursery[1], "{heard:?}");
    assert!(heard.survived[1] < heard.survived[0], "{heard:?}");
    assert_eq!(telemetry::messages::memory_used(), 0);

    let screen = report::render(&counts, &history);
    assert!(screen.lines().count() <= 35, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
}

/// The stream so far: complete, with an end for every begin.
fn read() -> (Counts, History) {
    telemetry::flush();
    let (counters, path) = (telemetry::counters::total(), telemetry::sinks::output());
    let (counts, history) = (Counts::read(&path).unwrap(), History::read(&path).unwrap());
    let completeness = &counts.completeness;
    assert_eq!(completeness.events, counters.written, "{completeness}");
    assert_eq!(
        counters.lost_pool + counters.lost_reentrant + counters.lost_sink,
        completeness.lost().events()
    );
    assert_eq!(completeness.lost().events() + completeness.missing() + completeness.damaged_ranges, 0);
    assert_eq!(counts.unpaired, 0, "{:?}", counts.spans.keys());
    let counted = counts.kinds.iter().flat_map(|kind| &kind.events).map(|(_, count)| count).sum::<u64>();
    assert_eq!(counted, completeness.events);
    (counts, history)
}

/// Bytes that the program allocated in objects and in tables, and bytes that traces moved, summed
/// event by event.
fn sizes() -> [u64; 3] {
    let (mut objects, mut tables, mut forwarded) = (0, 0, 0);
    let mut events = Reader::open(telemetry::sinks::output()).unwrap().typed::<events::Decoder>().unwrap();
    while let Some(at) = events.next().unwrap() {
        match at.event {
            Event::ObjectAlloc(alloc) => objects += alloc.size,
            Event::PoolAlloc(alloc) => tables += alloc.size,
            Event::ObjectForward(forward) => forwarded += forward.size,
            _ => {}
        }
    }
    assert_eq!(events.skipped().total(), 1, "an event that is not of the registry: the change of control");
    [objects, tables, forwarded]
}

fn count(counts: &Counts, name: &str) -> u64 {
    let events = counts.kinds.iter().flat_map(|kind| &kind.events);
    events.filter(|(event, _)| event == name).map(|(_, count)| count).sum()
}

#[test]
fn the_command_line_is_read() {
    let parse = |line: &str| options::parse(line.split_whitespace().map(str::to_string));
    let usual = Settings {
        threads: 2,
        depth: 16,
        scale: 1.5,
        memory: None,
        nursery: 4 << 20,
        adapt: false,
        check: false,
    };
    let check = |line, expected| assert_eq!(parse(line), Ok(Command::Run(expected)), "{line}");
    check("", usual);
    check("--threads 4 --depth=12", Settings { threads: 4, depth: 12, ..usual });
    check("--iterations 0.25 --check", Settings { scale: 0.25, check: true, ..usual });
    check("--adapt", Settings { adapt: true, ..usual });
    check("--memory 20 --nursery 64", Settings { memory: Some(20 << 20), nursery: 64 << 10, ..usual });
    assert_eq!(
        parse("--threads 4 --progress"),
        Ok(Command::RunWithProgress(Settings { threads: 4, ..usual }))
    );
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
