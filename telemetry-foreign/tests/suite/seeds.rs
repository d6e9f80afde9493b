//! The seeds of the fuzzer: small made-up logs of each system. `UPDATE_SEEDS=1` writes them.

use std::collections::BTreeSet;
use std::path::Path;

use telemetry_decode::{Order, Reader};
use telemetry_foreign::ghc::GhcLog;
use telemetry_foreign::mono::MonoLog;
use telemetry_foreign::mps::MpsLog;
use telemetry_foreign::{Format, RECOGNIZED_BY};

/// A file that fuzzing begins with.
pub(crate) struct Seed {
    pub(crate) name: &'static str,
    /// The input of the fuzz target.
    pub(crate) input: Vec<u8>,
    /// A whole log with the content of the input.
    pub(crate) log: Vec<u8>,
}

impl Seed {
    /// Makes a seed whose target reads the input itself as a log.
    pub(crate) fn of(name: &'static str, log: Vec<u8>) -> Seed {
        Seed { name, input: log.clone(), log }
    }
}

/// Checks that a target has these seeds and no others, and that their logs can be read and written.
#[track_caller]
pub(crate) fn check(target: &str, format: Format, seeds: &[Seed]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    if std::env::var_os("UPDATE_SEEDS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for seed in seeds {
            std::fs::write(folder.join(seed.name), &seed.input).unwrap();
        }
    }
    let entries = std::fs::read_dir(&folder).expect("a folder of seeds; help: cargo xtask bless seeds");
    let found: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let expected: BTreeSet<String> = seeds.iter().map(|seed| seed.name.to_string()).collect();
    assert_eq!(found, expected, "{}; help: cargo xtask bless seeds", folder.display());
    for seed in seeds {
        let path = folder.join(seed.name);
        let found = std::fs::read(&path).expect("a seed");
        assert!(found == seed.input, "{} differs; help: cargo xtask bless seeds", path.display());
        read(format, seed);
    }
}

/// Reads a seed's log in both orders, and writes it again.
fn read(format: Format, seed: &Seed) {
    let Seed { name, log, .. } = seed;
    let first = &log[..log.len().min(RECOGNIZED_BY)];
    assert_eq!(Format::recognize(first), Some(format), "{name}");
    let mut counts = BTreeSet::new();
    for order in [Order::Stream, Order::Time] {
        let mut events = reader(format, log).order(order).events().expect("memory");
        let mut count = 0;
        while let Some(event) = events.next().expect("memory") {
            assert_eq!(event.values().len(), event.schema().params.len(), "{name}");
            count += 1;
        }
        assert_eq!(events.completeness().bytes.total(), log.len() as u64, "{name}");
        counts.insert(count);
    }
    assert_eq!(counts.len(), 1, "{name}: {counts:?} events");
    assert!(!counts.contains(&0), "{name} has no events");
    let (mut events, mut again) = (reader(format, log).events().expect("memory"), Vec::new());
    let _ = format.write(&mut events, &mut again).expect("memory");
    let mut events = reader(format, &again).events().expect("memory");
    while events.next().expect("memory").is_some() {}
    assert_eq!(events.completeness().bytes.total(), again.len() as u64, "{name}");
}

fn reader(format: Format, log: &[u8]) -> Reader<'_> {
    match format {
        Format::Mps => Reader::from_log(log, MpsLog::new().lenient(true)),
        Format::GhcEventlog => Reader::from_log(log, GhcLog::new()),
        Format::Mono => Reader::from_log(log, MonoLog::new()),
    }
}
