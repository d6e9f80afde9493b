//! Every reader reads what the writer wrote.

use std::io::ErrorKind;

use proptest::prelude::*;
use telemetry_decode::{Error, Order, Reader};
use telemetry_schema::Registry;

use crate::made::{Plan, make, registry};
use crate::read::{Way, assert_same_lanes, collect, read};
use crate::registries::registries;

/// Writes a stream and reads it in every way.
fn check(registry: &Registry, plan: &Plan) {
    let made = make(registry, plan);
    for way in Way::ALL {
        let (events, completeness) = read(way, &made.stream);
        assert_same_lanes(&events, &made.events, &format!("{way:?}"));
        assert_eq!(completeness.events, events.len() as u64, "{way:?}");
        assert_eq!(completeness.bytes.total(), made.stream.len() as u64, "{way:?}");
        assert_eq!(completeness.bytes.read, made.stream.len() as u64, "{way:?}");
        assert!(completeness.is_complete() == plan.end || plan.lose > 0, "{way:?}: {completeness:#?}");
    }
}

#[test]
fn every_sort_in_every_way() {
    let registry = registry();
    for seed in 0..40 {
        check(&registry, &Plan { seed, events: 100, ..Plan::default() });
    }
    check(&registry, &Plan { events: 0, ..Plan::default() });
    check(&registry, &Plan { events: 5000, threads: 3, block_size: 4096, compress: true, ..Plan::default() });
    check(&registry, &Plan { events: 5000, threads: 9, sessions: 3, block_size: 4096, ..Plan::default() });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn any_registry_in_every_way(
        registry in registries(),
        seed in any::<u64>(),
        sessions in 1..3_u64,
        block_size in 1..2000_usize,
        flush in 0..9_u64,
        lose in 0..9_u64,
        end in any::<bool>(),
        compress in any::<bool>(),
    ) {
        check(&registry, &Plan { seed, sessions, threads: 3, events: 80, block_size, flush, lose, end, compress });
    }
}

#[test]
fn compression_makes_blocks_shorter_or_leaves_them() {
    let plan = Plan { events: 5000, block_size: 64 << 10, ..Plan::default() };
    let [plain, compressed] =
        [false, true].map(|compress| make(&registry(), &Plan { compress, ..plan.clone() }).stream.len());
    assert!(compressed < plain, "{compressed} bytes, {plain} without");
    let small = Plan { events: 9, block_size: 1, ..plan };
    let [plain, compressed] =
        [false, true].map(|compress| make(&registry(), &Plan { compress, ..small.clone() }).stream.len());
    assert!(compressed <= plain, "{compressed} bytes, {plain} without");
}

/// The segments of a rotated stream, split anywhere.
#[test]
fn several_files_are_one_stream() {
    let made = make(&registry(), &Plan { events: 200, ..Plan::default() });
    let folder = tempfile::tempdir().unwrap();
    for cuts in [[0, 0], [100, 5000], [1, made.stream.len() - 1], [700, 701]] {
        let segments = [&made.stream[..cuts[0]], &made.stream[cuts[0]..cuts[1]], &made.stream[cuts[1]..]];
        let paths: Vec<_> = (0..3).map(|number| folder.path().join(number.to_string())).collect();
        for (path, segment) in paths.iter().zip(segments) {
            std::fs::write(path, segment).unwrap();
        }
        for order in [Order::Time, Order::Stream] {
            let (events, completeness) =
                collect(Reader::open_all(&paths).unwrap().order(order).events().unwrap());
            assert_same_lanes(&events, &made.events, &format!("{cuts:?}"));
            assert!(completeness.is_complete());
        }
    }
}

#[test]
fn paths_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let is_missing = |error: &Error| matches!(error, Error::Io(error) if error.kind() == ErrorKind::NotFound);
    let is_directory = |error: &Error| matches!(error, Error::NotAStream(not) if not.found == "a directory");
    for (path, is_expected) in [("missing", &is_missing as &dyn Fn(&Error) -> bool), ("", &is_directory)] {
        let path = folder.path().join(path);
        let error = Reader::open(&path).err().unwrap();
        assert!(is_expected(&error), "{error:?}");
        assert!(error.to_string().contains(&format!("cannot read `{}`: ", path.display())), "{error}");
    }
}
