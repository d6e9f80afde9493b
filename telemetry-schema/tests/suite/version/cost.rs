//! What the macro pays at every build for a lock beside the relation. Tests are built as macros are in
//! a debug build: not optimized.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use telemetry_schema::version::{Lock, Report, Side, judge};

use super::relation;

/// What a build may take for it.
const MOST: Duration = Duration::from_millis(100);

/// The least time of ten runs; of more while it is above what it may be, since others may use the
/// machine meanwhile.
fn least<T>(mut run: impl FnMut() -> T) -> Duration {
    let mut least = Duration::MAX;
    for round in 0..200 {
        if round >= 10 && least < MOST {
            break;
        }
        let start = Instant::now();
        black_box(run());
        least = least.min(start.elapsed());
    }
    least
}

/// A relation of so many events with four parameters each.
fn large(events: usize) -> String {
    let mut text = String::from(
        "[registry]\nname = \"large\"\nversion = { major = 1, median = 0, minor = 0 }\ndoc = \"A large relation\"\n\
         [kinds]\nPool = { bit = 0, doc = \"per pool\" }\n[types.Why]\nrepr = \"u8\"\nvalues = { Full = 1, Asked = 2 }\n",
    );
    for code in 0..events {
        let _ = write!(
            text,
            "\n[[event]]\nname = \"SomethingHappened{code}\"\ncode = {code:#06x}\nkind = \"Pool\"\n\
             doc = \"Something happened that is worth to be said in a sentence\"\nparams = [\n  \
             {{ name = \"pool\", sort = \"P\", doc = \"the pool it happened to\" }},\n  \
             {{ name = \"why\", sort = \"Why\", doc = \"what asked for it\" }},\n  \
             {{ name = \"size\", sort = \"word\", unit = \"bytes\", doc = \"how much of it there was\" }},\n  \
             {{ name = \"label\", sort = \"string\", max = 64, doc = \"what it was called\" }},\n]\n"
        );
    }
    text
}

#[test]
fn a_lock_of_a_thousand_events_costs_less_than_100_ms() {
    let now = relation(&large(1000));
    let text = Lock::of(&now.registry, None).to_text();
    let parse = (0..10).map(|_| {
        let start = Instant::now();
        black_box(relation(&now.text));
        start.elapsed()
    });
    let parse = parse.min().unwrap_or_default();
    let with_lock = least(|| {
        let lock = Lock::parse(black_box(&text)).expect("what was written");
        judge(&lock, &now.registry, &now.allows).is_met()
    });
    let percent = 100.0 * with_lock.as_secs_f64() / parse.as_secs_f64();
    eprintln!(
        "1,000 events: the relation is read in {parse:.1?}, the lock and what changed in {with_lock:.1?}, {percent:.0} %"
    );
    assert!(with_lock < MOST, "{with_lock:?}");

    // Everything is another: the compile fails, and its messages take their time, too.
    let changed = relation(&now.text.replace("\"word\"", "\"u64\"").replace("Something", "Anything"));
    let lock = Lock::parse(&text).expect("what was written");
    let judging = least(|| judge(&lock, &changed.registry, &changed.allows).changes.len());
    let judgement = judge(&lock, &changed.registry, &changed.allows);
    assert_eq!(judgement.changes.len(), 2000 + 1000, "names, sorts, docs");
    let start = Instant::now();
    let report = Report::new(
        &judgement,
        Side::lock("events.lock", &lock, &text),
        Side::relation("events.toml", &changed.text),
    );
    let rendered = report.render();
    eprintln!("with 3,000 changes: {judging:.1?}, and {:.1?} to tell of the first", start.elapsed());
    assert!(rendered.contains("\nerror: 1800 more changes in events.toml\n"), "{}", rendered.len());
}
