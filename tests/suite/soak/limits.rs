//! Events with limits in a long life: each is recorded, left out or lost, and each is counted.
//! They are never switched off, so that the number of those that were on is exact.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use telemetry_decode::{Order, Reader};

use crate::limited;
use crate::support::process::{Numbers, Outcome};

/// The registry, and the kind of its events here.
const REGISTRY: &str = "limited";
const KIND: &str = "Traffic";
/// Its events: one with a limit by time, two samples by a key, and one sample by count.
const NAMES: [&str; 4] = [REFUSED, "Request", "Response", "Polled"];
const REFUSED: &str = "Refused";

/// How often each was emitted.
static EMITTED: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

fn count(event: usize) {
    EMITTED[event].fetch_add(1, Ordering::Relaxed);
}

/// Emits each event this number of times, far more often than its limit allows.
pub(super) fn emit(times: u64) {
    for id in 0..times {
        refuse();
        count(1);
        limited::request!(id, 1_usize);
        count(2);
        limited::response!(id);
        count(3);
        limited::polled!();
    }
}

/// Emits the event with a limit by time. Signal handlers do that, too.
pub(super) fn refuse() {
    count(0);
    limited::refused!(7);
}

/// Returns the number of emitted events.
pub(super) fn emitted() -> u64 {
    EMITTED.iter().map(|emitted| emitted.load(Ordering::Relaxed)).sum()
}

/// Returns what the process knows of these events, while no thread emits.
pub(super) fn numbers() -> Numbers {
    let kinds = telemetry::counters::by_kind();
    let ours = kinds.iter().find(|kind| (kind.registry, kind.kind) == (REGISTRY, KIND)).expect("the kind");
    let program = kinds.iter().filter(|kind| kind.registry != "telemetry");
    let lost_by_kinds: u64 = program.map(|kind| kind.counters.lost()).sum();
    let strays = telemetry::counters::total().lost() - lost_by_kinds;
    let mut numbers: Numbers =
        NAMES.iter().zip(&EMITTED).map(|(name, emitted)| (*name, emitted.load(Ordering::Relaxed))).collect();
    numbers.extend([
        ("limited_written", ours.counters.written),
        ("limited_lost", ours.counters.lost()),
        ("strays", strays),
    ]);
    numbers
}

/// Checks that the stream of a process has each event, or says that it was left out or lost.
/// Returns the number of those that were left out.
pub(super) fn check(run: &Outcome) -> u64 {
    let found = Found::of(&run.path());
    let mut lost = 0;
    for name in NAMES {
        let (emitted, explained) = (run.number(name), found.recorded(name) + found.left_out(name));
        assert!(explained <= emitted, "{name}: {emitted} emitted, and {explained} in the stream: {found:?}");
        assert!(found.left_out(name) > 0, "{name}: nothing is left out: {found:?}");
        lost += emitted - explained;
    }
    assert_eq!(found.recorded.values().sum::<u64>(), run.number("limited_written"), "{found:?}");
    // No kind has the losses without a lane.
    let (of_kind, strays) = (run.number("limited_lost"), run.number("strays"));
    assert!((of_kind..=of_kind + strays).contains(&lost), "{lost} of {of_kind} and {strays}: {found:?}");
    found.left_out.values().sum()
}

/// Checks the same for a process that emitted [`refuse`]'s event this number of times and lost
/// none. Streams beside the output may have events of other kinds only.
pub(super) fn check_refused(path: &Path, emitted: u64) {
    let found = Found::of(path);
    let is_output = path.to_string_lossy().starts_with("stream.");
    if is_output || found.recorded(REFUSED) > 0 {
        let explained = found.recorded(REFUSED) + found.left_out(REFUSED);
        assert_eq!(explained, emitted, "{}: {found:?}", path.display());
    }
}

/// What a stream has of these events, and what it says of the others, by name.
#[derive(Debug)]
struct Found {
    recorded: BTreeMap<String, u64>,
    left_out: BTreeMap<String, u64>,
}

impl Found {
    fn of(path: &Path) -> Found {
        let mut events =
            Reader::open(path).expect("a stream").order(Order::Stream).events().expect("a stream");
        let mut recorded = BTreeMap::<String, u64>::new();
        while let Some(event) = events.next().expect("a readable stream") {
            if event.registry().name == REGISTRY {
                *recorded.entry(event.name().to_owned()).or_default() += 1;
            }
        }
        let left_out = events.completeness().left_out.into_iter().filter(|of| of.registry == REGISTRY);
        Found { recorded, left_out: left_out.map(|of| (of.event, of.events)).collect() }
    }

    fn recorded(&self, name: &str) -> u64 {
        self.recorded.get(name).copied().unwrap_or(0)
    }

    fn left_out(&self, name: &str) -> u64 {
        self.left_out.get(name).copied().unwrap_or(0)
    }
}
