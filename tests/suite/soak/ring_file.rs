//! The ring file of a process that lives on. At a quiet moment it agrees with the counters.

use std::io;
use std::path::Path;
use std::time::Instant;

use telemetry::counters::by_kind;
use telemetry_decode::Reader;
use telemetry_decode::recover::Recovered;

use super::long::TIMEOUT;

/// The setting. Each child of a fork has a file of its own.
pub(super) const RING: &str = "app.%p.ring";

fn path() -> String {
    RING.replace("%p", &std::process::id().to_string())
}

/// Returns the length of the file, which is memory of the process.
pub(super) fn len() -> u64 {
    std::fs::metadata(path()).expect("a ring file").len()
}

/// Reads the file while no thread emits. For each lane it explains all events, and the sums of all
/// lanes are those of the counters.
pub(super) fn check() {
    let since = Instant::now();
    // The drain may still return blocks to the pool.
    let (kinds, image) = loop {
        let read = || (by_kind(), std::fs::read(path()).expect("a ring file"));
        let (before, after) = (read(), read());
        if before == after {
            break after;
        }
        assert!(since.elapsed() < TIMEOUT, "the ring file changes while no thread emits");
    };
    let found = recovered(&image);
    let by_ring = [
        sum(&found.lanes, |lane| lane.recorded) + sum(&found.gone, |gone| gone.recorded),
        sum(&found.lanes, |lane| lane.not_recorded.pool) + sum(&found.gone, |gone| gone.pool),
        sum(&found.lanes, |lane| lane.not_recorded.reentrant) + sum(&found.gone, |gone| gone.reentrant),
    ];
    let by_counters = [
        sum(&kinds, |kind| {
            let of = &kind.counters;
            of.written + of.retained + of.evicted + of.lost_sink
        }),
        sum(&kinds, |kind| kind.counters.lost_pool),
        sum(&kinds, |kind| kind.counters.lost_reentrant),
    ];
    assert_eq!(by_ring, by_counters, "recorded, lost in a full pool, and reentrant: {kinds:?}");
}

/// Reads and removes the files of children that have ended. A child leaves one if it recorded
/// events of a kind that was not output.
pub(super) fn check_children() {
    let own = path();
    for name in left(Path::new(".")).into_iter().filter(|name| *name != own) {
        recovered(&std::fs::read(&name).expect("a ring file"));
        std::fs::remove_file(name).expect("a ring file");
    }
}

/// Reads a file. For each lane it explains all events.
fn recovered(image: &[u8]) -> Recovered {
    let found = Reader::from_slice(image).recover(&mut io::sink()).expect("what is in it");
    assert!(found.refused.is_empty() && found.unreadable.is_empty(), "{found:?}");
    assert_eq!(found.sessions.len(), 1, "{:?}", found.sessions);
    for lane in &found.lanes {
        let sum = lane.recovered + lane.evicted + lane.written + lane.lost + lane.missing;
        assert_eq!((lane.recorded, lane.missing), (sum, 0), "{lane:?}");
    }
    found
}

/// Returns the names of the ring files in a directory.
pub(super) fn left(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).expect("a directory").map(|file| file.expect("a file").file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".ring")).collect()
}

fn sum<T>(all: &[T], count: fn(&T) -> u64) -> u64 {
    all.iter().map(count).sum()
}
