//! The seeds of the fuzzer: memory images, programs, and streams after a byte that selects the way
//! of reading.

use telemetry_format::BlockType;

use crate::damage;
use crate::made::{Plan, blocks, header, make, registry, shuffle, withheld};
use crate::recover;

fn of_stream() -> Vec<(&'static str, Vec<u8>)> {
    let plan = Plan { events: 12, block_size: 200, ..Plan::default() };
    let every_sort = make(&registry(), &plan).stream;
    let small = damage::small(1).stream;
    let lossy = make(&damage::registry(), &Plan { lose: 2, end: false, sessions: 2, ..plan }).stream;
    let without_registry = blocks(&small)
        .into_iter()
        .filter(|block| header(&small[block.clone()]).block_type != BlockType::Registry);
    let without_registry = without_registry.flat_map(|block| small[block].to_vec()).collect();
    vec![
        ("every-sort", with_mode(1, every_sort)),
        ("parts", with_mode(1, small.clone())),
        ("losses", with_mode(1, lossy)),
        ("shuffled", with_mode(1, shuffle(&small, 7))),
        ("no-registry", with_mode(1, without_registry)),
        ("filtered", with_mode(0x0f, small.clone())),
        ("cut", with_mode(0, small[..small.len() - 30].to_vec())),
        ("sensitive", with_mode(0x0d, marked(include_str!("../../../tests/registries/private.toml")))),
        ("limits", with_mode(1, marked(include_str!("../../../tests/registries/limits.toml")))),
        ("withheld", with_mode(1, withheld(".w.x.w"))),
        ("rules", with_mode(1, marked(include_str!("../../../tests/registries/served.toml")))),
    ]
}

/// A stream of a registry with marks.
fn marked(text: &str) -> Vec<u8> {
    let registry = telemetry_schema::parse(text).unwrap();
    make(&registry, &Plan { events: 12, block_size: 200, ..Plan::default() }).stream
}

fn of_recover() -> Vec<(&'static str, Vec<u8>)> {
    let small = damage::small(1).stream;
    let of_events =
        |block: &std::ops::Range<usize>| header(&small[block.clone()]).block_type == BlockType::Events;
    let (events, facts): (Vec<_>, Vec<_>) = blocks(&small).into_iter().partition(of_events);
    let facts: Vec<u8> = facts.into_iter().flat_map(|block| small[block].to_vec()).collect();
    let live = recover::sealed(&small[events[0].clone()]);
    let live = &live[..512];
    let both = [&facts[..], live, &small[events[0].start..]].concat();
    vec![("image", [&facts, live].concat()), ("image-and-stream", both), ("stream", small)]
}

/// Files that have registries: as a program has them, and in blocks.
fn of_program() -> Vec<(&'static str, Vec<u8>)> {
    let program = registry().for_program();
    let runtime = b"telemetry-runtime 0.1.0 variety=hot\0";
    let called = [&b"\x89TelEm\x01\0"[..], &registry().fingerprint().to_le_bytes()].concat();
    let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0";
    vec![
        ("program", [&elf[..], program.as_bytes(), runtime, &called].concat()),
        ("stream", make(&registry(), &Plan { events: 1, ..Plan::default() }).stream),
        ("cut", program.as_bytes()[..program.len() / 2].to_vec()),
    ]
}

/// Streams of versions of a registry, of the session with losses and parts. The target has the
/// decoders of version 1.1.1.
fn of_typed() -> Vec<(&'static str, Vec<u8>)> {
    let of_version = |mode: u8, version: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/streams/1");
        let stream = std::fs::read(format!("{folder}/heap-{version}.tel")).unwrap();
        let of_session =
            blocks(&stream).into_iter().filter(|block| header(&stream[block.clone()]).session == 1);
        with_mode(mode, of_session.flat_map(|block| stream[block].to_vec()).collect())
    };
    vec![
        ("older", of_version(0x03, "1.0.0")),
        ("same", of_version(0x2b, "1.1.1")),
        ("newer", of_version(0x01, "1.2.1")),
        ("major", of_version(0x07, "2.0.0")),
    ]
}

fn with_mode(mode: u8, stream: Vec<u8>) -> Vec<u8> {
    [vec![mode], stream].concat()
}

#[test]
fn seeds_are_what_the_writer_writes() {
    let targets = [
        ("stream", of_stream()),
        ("typed", of_typed()),
        ("recover", of_recover()),
        ("program", of_program()),
    ];
    for (target, seeds) in targets {
        let folder = format!("{}/../fuzz/seeds/{target}", env!("CARGO_MANIFEST_DIR"));
        for (name, seed) in seeds {
            let path = format!("{folder}/{name}");
            if std::env::var_os("UPDATE_SEEDS").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&path, &seed).unwrap();
            }
            let found = std::fs::read(&path).unwrap_or_default();
            assert!(found == seed, "{path} differs; run the test with UPDATE_SEEDS=1");
        }
    }
}
