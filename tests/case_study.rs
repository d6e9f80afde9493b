//! The case study: its page says what its package says, and what its recording holds.

use std::collections::BTreeMap;

use telemetry::decode::Reader;

#[telemetry::telemetry_event("examples/case-study/events.toml", decode)]
pub mod events {}

use events::Event;

const PAGE: &str = include_str!("../docs/case-study.md");
const PROGRAM: &str = include_str!("../examples/case-study/src/main.rs");
const MANIFEST: &str = include_str!("../examples/case-study/Cargo.toml");

#[test]
fn a_hundred_lines_are_enough() {
    let lines = PROGRAM.lines().count();
    assert!(lines <= 100, "{lines} lines");
    let files = std::fs::read_dir("examples/case-study/src").expect("a folder").count();
    assert_eq!(files, 1, "the other files' lines are not counted");
    let max = PROGRAM.lines().map(|line| line.chars().count()).max();
    assert!(max <= Some(110), "{max:?}");
}

#[test]
fn the_page_names_the_version_and_the_commands() {
    let version = MANIFEST
        .lines()
        .find_map(|line| line.strip_prefix("redb = \"=")?.strip_suffix('"'))
        .expect("redb, pinned by its exact version");
    assert!(PAGE.contains(&format!("redb {version}")), "the page is not about {version}");
    let script = std::fs::metadata("examples/case-study/run").expect("the script").permissions();
    #[cfg(unix)]
    assert_ne!(std::os::unix::fs::PermissionsExt::mode(&script) & 0o111, 0, "not executable");
    #[cfg(not(unix))]
    drop(script);
    for command in ["examples/case-study/run\n", "examples/case-study/run 4000\n"] {
        assert!(PAGE.contains(command), "{command}");
    }
    for picture in ["case-study-memory.png", "case-study-commit.png"] {
        assert!(PAGE.contains(&format!("(images/{picture})")), "{picture}");
        let bytes = std::fs::metadata(format!("docs/images/{picture}")).expect("a picture").len();
        assert!(bytes <= 120_000, "{picture}: {bytes} bytes");
    }
    assert!(PAGE.lines().count() <= 150);
}

/// The code of the page is that of the package.
#[test]
fn the_page_quotes_the_package() {
    let registry = include_str!("../examples/case-study/events.toml");
    let mut quotes = 0;
    for language in ["```toml\n", "```rust,ignore\n"] {
        for fence in PAGE.split(language).skip(1).filter_map(|rest| rest.split("```").next()) {
            for part in fence.trim_end().split("\n\n") {
                assert!(registry.contains(part) || PROGRAM.contains(part), "not in the package:\n{part}");
                quotes += 1;
            }
        }
    }
    assert!(quotes >= 2, "{quotes} quotes");
}

/// One write transaction.
#[derive(Debug, Default, Clone)]
struct Update {
    entries: u32,
    writes: u64,
    written_bytes: u64,
    syncs: u64,
    allocations: u64,
    /// What it allocated, less what it freed.
    live_bytes: i64,
}

/// Returns the updates of each thread.
fn updates(path: &str) -> BTreeMap<String, Vec<Update>> {
    let mut events = Reader::open(path).expect("the file").typed::<events::Decoder>().expect("a stream");
    let mut open = BTreeMap::<u32, Update>::new();
    let mut all = BTreeMap::<String, Vec<Update>>::new();
    while let Some(at) = events.next().expect("a sound stream") {
        let thread = at.thread();
        if let Event::UpdateStart(start) = at.event {
            open.insert(thread, Update { entries: start.entries, ..Update::default() });
        }
        let Some(update) = open.get_mut(&thread) else { continue };
        match at.event {
            Event::WriteStart(write) => {
                update.writes += 1;
                update.written_bytes += write.size;
            }
            Event::SyncStart(_) => update.syncs += 1,
            Event::Allocated(block) => {
                update.allocations += 1;
                update.live_bytes += block.size as i64;
            }
            Event::Freed(block) => update.live_bytes -= block.size as i64,
            Event::UpdateEnd(_) => {
                let name = at.thread_name().expect("a named thread").to_string();
                all.entry(name).or_default().push(open.remove(&thread).expect("it is open"));
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "updates without an end: {open:?}");
    all
}

fn median(updates: &[Update], of: impl Fn(&Update) -> i64) -> i64 {
    let mut all: Vec<_> = updates.iter().map(of).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

/// Counts and sizes of a recording of 1,000 updates that `TELEMETRY_CASE_STUDY` names, if any. They
/// do not depend on the disk.
#[test]
fn the_recording_holds_what_the_page_says() {
    let Ok(path) = std::env::var("TELEMETRY_CASE_STUDY") else { return };
    let all = updates(&path);
    let (before, beside, after) = (&all["before"], &all["beside"], &all["after"]);
    for (updates, writes, bytes, grown) in
        [(before, 8, 28_992, 0), (beside, 9, 33_088, 20_560), (after, 8, 28_992, 0)]
    {
        assert_eq!(updates.len(), 1000);
        assert!(updates.iter().all(|update| update.entries == 1 && update.syncs >= 1));
        assert_eq!(median(updates, |update| update.writes as i64), writes);
        assert_eq!(median(updates, |update| update.written_bytes as i64), bytes);
        assert_eq!(median(updates, |update| update.live_bytes), grown);
    }
    let grown: i64 = beside.iter().map(|update| update.live_bytes).sum();
    assert!((20_500_000..21_500_000).contains(&grown), "{grown} bytes");
    // The first commit after the reader frees all of it, and does the work of six.
    let first = &after[0];
    assert!((-21_500_000..-20_500_000).contains(&first.live_bytes), "{first:?}");
    assert!(first.allocations > 5 * median(after, |update| update.allocations as i64) as u64, "{first:?}");
    assert!(after[1..].iter().all(|update| update.live_bytes > -100_000), "it is not only the first");
}
