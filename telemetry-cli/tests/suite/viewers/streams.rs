//! Streams and logs that are exported.

use telemetry_foreign::{Format, known_registry};
use telemetry_schema::Registry;
use telemetry_testing::reference;

use crate::spans;
use crate::streams::{
    blocks, drifting, events_blocks, gc, gc_registry, gc_run, labeled, lossy, two_registries,
};

/// The variable that asks for all reference logs. `.ci/long` sets it.
const ALL: &str = "TELEMETRY_ALL_LOGS";

/// Systems, the endings of their logs, and the logs that are exported otherwise.
const LOGS: [(&str, &str, &[&str]); 3] = [
    ("mps", ".mpsio.log", &["poolncv-cool"]),
    ("ghc", ".eventlog", &["small-sparks-N2", "small-time-prof"]),
    ("mono", ".mlpd", &["v17-small-alloc", "v1-small-nocalls-bt"]),
];

/// A stream or log, and its registry; none where event types are not compared one by one.
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) registry: Option<Registry>,
    /// Exit code of `convert`.
    pub(super) code: i32,
}

/// Returns streams of all sorts: of two sessions, with losses, with damage.
pub(super) fn samples() -> Vec<Sample> {
    let whole = gc();
    let parts = blocks(&whole);
    let start = parts[..events_blocks(&parts)[2]].concat().len();
    let mut damaged = whole.clone();
    damaged[start + 150] ^= 1;
    let two_sessions = [gc_run(1).finish().unwrap(), gc_run(2).finish().unwrap()].concat();
    let sample = |name: &str, bytes, registry, code| Sample { name: name.to_string(), bytes, registry, code };
    let spans_registry = telemetry_schema::parse(spans::REGISTRY).unwrap();
    let mut samples = vec![
        sample("gc", whole, Some(gc_registry()), 0),
        sample("two sessions", two_sessions, Some(gc_registry()), 0),
        sample("spans", spans::stream(), Some(spans_registry), 0),
        sample("tangled spans", spans::tangled(), None, 0),
        sample("labels", labeled(), None, 0),
        sample("two registries", two_registries(), None, 0),
        sample("two versions", spans::two_versions(), None, 0),
        sample("drifting clock", drifting(true), None, 0),
        sample("losses", lossy(), Some(gc_registry()), 0),
        sample("damage", damaged, Some(gc_registry()), 1),
    ];
    for (system, end, few) in LOGS {
        let Some(folder) = reference::folder(system) else { continue };
        let names = match std::env::var_os(ALL) {
            Some(_) => reference::names(&folder, end),
            None => few.iter().map(|name| name.to_string()).collect(),
        };
        for name in names.iter().map(|name| format!("{name}{end}")) {
            let Some(bytes) = reference::read(&folder.join(&name)) else { continue };
            assert!(Format::recognize(&bytes).is_some(), "{name}");
            samples.push(sample(&name, bytes, known_registry(system), 0));
        }
    }
    samples
}
