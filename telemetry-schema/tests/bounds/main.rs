//! The cost of a lock beside the registry file at every build of the macro, in allocations. They do
//! not depend on the machine or its load.

use std::fmt::Write;
use std::hint::black_box;

use telemetry_schema::RegistryFile;
use telemetry_schema::version::{Lock, Report, Side, judge};
use telemetry_testing::counting::{Counting, alone, count};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A registry of a number of events with four parameters each.
fn large(events: usize) -> String {
    let mut text = String::from(
        "[registry]\nname = \"large\"\nversion = { major = 1, median = 0, minor = 0 }\ndoc = \"A large registry\"\n\
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

fn file(text: String) -> RegistryFile {
    RegistryFile::parse(text).expect("a valid registry")
}

/// The allocations for a registry file of a number of events: of reading it, and of comparing it
/// with its lock.
fn costs(events: usize) -> (usize, usize) {
    let now = file(large(events));
    let text = Lock::of(&now.registry, None).to_text();
    let reading = count(|| drop(black_box(file(now.text.clone()))));
    let comparing = count(|| {
        let lock = Lock::parse(black_box(&text)).expect("what was written");
        assert!(judge(&lock, &now.registry, &now.allows).is_met());
    });
    (reading, comparing)
}

#[test]
fn a_lock_costs_less_than_the_registry_and_in_proportion_to_it() {
    let _alone = alone();
    let (_, half) = costs(500);
    let (reading, comparing) = costs(1000);
    assert!(comparing < 2 * reading, "{comparing} allocations, and {reading} of the registry");
    assert!(comparing < half * 21 / 10, "{comparing} allocations for 1,000 events, {half} for 500");
}

#[test]
fn a_report_costs_in_proportion_to_its_changes() {
    let _alone = alone();
    let report = |events| {
        let before = file(large(events));
        let text = Lock::of(&before.registry, None).to_text();
        let changed = file(before.text.replace("\"word\"", "\"u64\"").replace("Something", "Anything"));
        let lock = Lock::parse(&text).expect("what was written");
        let mut rendered = String::new();
        let cost = count(|| {
            let judgement = judge(&lock, &changed.registry, &changed.allows);
            assert_eq!(judgement.changes.len(), 3 * events, "names, types, docs");
            let old = Side::lock("events.lock", &lock, &text);
            rendered = Report::new(&judgement, old, Side::registry("events.toml", &changed.text)).render();
        });
        (cost, rendered)
    };
    let (half, _) = report(500);
    let (cost, rendered) = report(1000);
    assert!(cost < half * 21 / 10, "{cost} allocations for 3,000 changes, {half} for 1,500");
    assert!(rendered.contains("\nerror: 1800 more changes in events.toml\n"), "{}", rendered.len());
}
