//! `census`.

use telemetry_decode::writer::Lane;
use telemetry_decode::{RawStr, Value};

use crate::run::Folder;
use crate::streams::{begun, gc};

/// A log with an event of each type.
pub(crate) const GHC: &[u8] = include_bytes!("../../../fuzz/seeds/ghc/every-type");
const REGISTRY: &str = include_str!("../data/ranges.toml");

#[derive(Clone, Copy)]
enum Told {
    Begin,
    Row(&'static str, u64),
    End,
}

use Told::{Begin, End, Row};

/// Makes a stream of censuses, an event each microsecond.
fn recording(told: &[(u32, Told)]) -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let (mut writer, lane) = begun(7, 1_795_240_051_000_000_000, "heap", &registry);
    let mut now = 0;
    for (thread, told) in told {
        now += 1000;
        let lane = Lane { thread: *thread, ..lane };
        let (code, values) = match *told {
            Begin => (10, Vec::new()),
            Row(class, bytes) => (11, vec![Value::String(RawStr(class.as_bytes())), Value::Unsigned(bytes)]),
            End => (12, Vec::new()),
        };
        writer.event(lane, code, now, &values).unwrap();
    }
    writer.end(7, now + 1000).unwrap();
    writer.finish().unwrap()
}

/// Makes three censuses; a class comes and one goes.
pub(crate) fn sound() -> Vec<u8> {
    recording(&[
        (1, Begin),
        (1, Row("string", 4096)),
        (1, Row("pair", 1024)),
        (1, Row("string", 512)),
        (1, End),
        (1, Begin),
        (1, Row("string", 8192)),
        (1, Row("pair", 2048)),
        (1, Row("table, \"weak\"", 600)),
        (1, End),
        (1, Begin),
        (1, Row("string", 1024)),
        (1, Row("table, \"weak\"", 700)),
        (1, End),
    ])
}

/// Makes a number of censuses, each with a number of classes. The amounts differ in each.
pub(crate) fn long(censuses: u64, classes: u64) -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let (mut writer, lane) = begun(7, 1_795_240_051_000_000_000, "heap", &registry);
    for census in 0..censuses {
        let now = (census + 1) * 1000;
        writer.event(lane, 10, now, &[]).unwrap();
        for class in 0..classes {
            let name = format!("class {class}");
            let amount = Value::Unsigned((census * 7 + class * 5) % 100);
            writer.event(lane, 11, now + class, &[Value::String(RawStr(name.as_bytes())), amount]).unwrap();
        }
        writer.event(lane, 12, now + classes, &[]).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn censuses_are_shown() {
    let broken = [
        (1, Row("early", 1)),
        (1, Begin),
        (1, Row("lost", 2)),
        (1, Begin),
        // Another thread has a census of its own.
        (2, Begin),
        (2, Row("there", u64::MAX)),
        (1, Row("here", u64::MAX)),
        (1, Row("here", 1)),
        (2, End),
        (1, End),
        (1, End),
        (1, Begin),
    ];
    let folder = Folder::new()
        .with("census.tel", sound())
        .with("broken.tel", recording(&broken))
        .with("empty.tel", recording(&[(1, Begin), (1, End)]))
        .with("gc.tel", gc())
        .with("ghc.eventlog", GHC);
    folder.check(
        "census",
        &[
            "census census.tel",
            "census --limit 1 census.tel",
            "census --limit 0 census.tel",
            "census --json --limit 1 census.tel",
            "census --csv census.tel",
            "census --until 9us census.tel",
            "census broken.tel",
            "census --csv broken.tel",
            "census empty.tel",
            "census gc.tel",
            "census ghc.eventlog",
            "census --csv --json census.tel",
        ],
    );
}
