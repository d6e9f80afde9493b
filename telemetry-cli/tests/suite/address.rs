//! `address`.

use serde_json::Value as Json;
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Array, RawStr, Value};
use telemetry_format::Loss;
use telemetry_testing::mps::Is;
use telemetry_testing::{mono, mps};

use crate::run::Folder;
use crate::streams::{begun, gc};

const REGISTRY: &str = include_str!("../data/ranges.toml");

/// What a run of a heap tells, a microsecond apart.
#[derive(Clone, Copy)]
enum Told {
    /// Pool, arena, name.
    Pool(u64, u64, &'static str),
    PoolEnded(u64),
    /// Segment, base, limit, pool.
    Segment(u64, u64, u64, u64),
    SegmentFreed(u64),
    /// Base, size.
    Mapped(u64, u64),
    Unmapped(u64, u64),
    Made(u64, u64),
    Died(u64),
    Moved(&'static [u64]),
    /// A number of events of objects were lost.
    Lost(u64),
}

use Told::{Died, Lost, Made, Mapped, Moved, Pool, PoolEnded, Segment, SegmentFreed, Unmapped};

fn recording(told: &[(u32, Told)]) -> Vec<u8> {
    marked(REGISTRY, told)
}

fn marked(registry: &str, told: &[(u32, Told)]) -> Vec<u8> {
    let registry = telemetry_schema::parse(registry).unwrap();
    let (mut writer, lane) = begun(7, 1_795_240_051_000_000_000, "heap", &registry);
    write(&mut writer, lane, told);
    writer.finish().unwrap()
}

fn write(writer: &mut Writer<Vec<u8>>, lane: Lane, told: &[(u32, Told)]) {
    let mut now = 0;
    for (thread, told) in told {
        now += 1000;
        let lane = Lane { thread: *thread, ..lane };
        let places: Vec<Value<'_>>;
        let (code, values) = match *told {
            Pool(pool, arena, called) => {
                let called = Value::String(RawStr(called.as_bytes()));
                (1, vec![Value::Pointer(pool), Value::Pointer(arena), called])
            }
            Segment(segment, base, limit, pool) => (
                2,
                vec![Value::Unsigned(segment), Value::Addr(base), Value::Addr(limit), Value::Pointer(pool)],
            ),
            SegmentFreed(segment) => (3, vec![Value::Unsigned(segment)]),
            Made(object, size) => (4, vec![Value::Addr(object), Value::Word(size)]),
            Died(object) => (5, vec![Value::Addr(object)]),
            Moved(moves) => {
                places = moves.iter().map(|place| Value::Addr(*place)).collect();
                (6, vec![Value::Array(Array::from(places.as_slice()))])
            }
            Mapped(base, size) => (7, vec![Value::Addr(base), Value::Word(size)]),
            Unmapped(base, size) => (8, vec![Value::Addr(base), Value::Word(size)]),
            PoolEnded(pool) => (9, vec![Value::Pointer(pool)]),
            Lost(events) => {
                writer.lose(lane, 1, Loss { pool: events, ..Loss::default() }).unwrap();
                continue;
            }
        };
        writer.event(lane, code, now, &values).unwrap();
    }
    writer.end(7, now + 1000).unwrap();
}

/// Makes a run in which one address is in a pool, in segments of it, and in several objects.
pub(crate) fn sound() -> Vec<u8> {
    recording(&[
        (1, Pool(0x100, 0x10, "nursery")),
        (1, Mapped(0x4000, 0x8000)),
        (1, Segment(1, 0x5000, 0x6000, 0x100)),
        (1, Made(0x5000, 24)),
        (1, Made(0x5018, 40)),
        (2, Made(0x5040, 64)),
        // Objects change places with each other.
        (2, Moved(&[0x5018, 0x7000, 0x5040, 0x5018])),
        (2, Died(0x5018)),
        (1, SegmentFreed(1)),
        (1, Segment(2, 0x5000, 0x7000, 0x100)),
        (1, Made(0x5018, 8)),
        // No event told that it died.
        (1, Made(0x5010, 32)),
        (1, Unmapped(0x4000, 0x1000)),
        (1, Unmapped(0x4000, 0x8000)),
    ])
}

/// The lives of addresses: what, base, size, begin and end in microseconds, and how.
#[test]
fn ranges_are_found() {
    type Row<'a> = (&'a str, u64, Option<u64>, Option<(i64, &'a str)>, Option<(i64, &'a str)>);
    let check = |told: &[(u32, Told)], address: &str, expected: &[Row<'_>]| {
        let folder = Folder::new().with("heap.tel", recording(told));
        let run = folder.run(&format!("address --json {address} heap.tel"));
        let json: Json = serde_json::from_slice(&run.stdout).unwrap();
        let edge = |edge: &Json| -> Option<(i64, String)> {
            Some((edge["time_ns"].as_i64()? / 1000, edge["how"].as_str()?.to_string()))
        };
        let found = json["ranges"].as_array().unwrap().iter().map(|row| {
            let base = row["base"].as_str().unwrap().trim_start_matches("0x");
            let base = u64::from_str_radix(base, 16).unwrap();
            let what = row["what"].as_str().unwrap().to_string();
            (what, base, row["size"].as_u64(), edge(&row["begin"]), edge(&row["end"]))
        });
        let owned = |edge: Option<(i64, &str)>| edge.map(|(at, how)| (at, how.to_string()));
        let expected = expected.iter().map(|(what, base, size, begin, end)| {
            (what.to_string(), *base, *size, owned(*begin), owned(*end))
        });
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{address}");
    };
    let made = [(1, Made(0x1000, 16)), (1, Died(0x1000)), (1, Made(0x1000, 16))];
    let first = ("object", 0x1000, Some(16), Some((1, "event")), Some((2, "event")));
    let second = ("object", 0x1000, Some(16), Some((3, "event")), None);
    check(&made, "0x1000", &[first, second]);
    check(&made, "4111", &[first, second]);
    check(&made, "0x100f", &[first, second]);
    check(&made, "0x1010", &[]);
    check(&made, "0xfff", &[]);
    // Two ranges at once, and one takes the memory of another.
    let taken = [(1, Made(0x1000, 16)), (1, Mapped(0x1000, 0x1000)), (1, Made(0x1008, 16))];
    let mapped = ("mapped", 0x1000, Some(0x1000), Some((2, "event")), None);
    let replaced = ("object", 0x1000, Some(16), Some((1, "event")), Some((3, "replaced")));
    check(&taken, "0x1008", &[replaced, mapped, ("object", 0x1008, Some(16), Some((3, "event")), None)]);
    check(&taken, "0x1007", &[("object", 0x1000, Some(16), Some((1, "event")), None), mapped]);
    // What began before the record: known only if its end says where it was.
    check(&[(1, Died(0x1000))], "0x1000", &[("object", 0x1000, None, None, Some((1, "event")))]);
    check(&[(1, Died(0x1000))], "0x1001", &[]);
    let unmapped = ("mapped", 0x1000, Some(0x2000), None, Some((1, "event")));
    check(&[(1, Unmapped(0x1000, 0x2000))], "0x2fff", &[unmapped]);
    check(&[(1, SegmentFreed(1))], "0x1000", &[]);
    // The end of a part ends the range for the addresses in it.
    let part = [(1, Mapped(0x1000, 0x3000)), (1, Unmapped(0x2000, 0x1000))];
    check(&part, "0x2000", &[("mapped", 0x1000, Some(0x3000), Some((1, "event")), Some((2, "event")))]);
    check(&part, "0x1000", &[("mapped", 0x1000, Some(0x3000), Some((1, "event")), None)]);
    // Moves away, back, and in place of another object that moves away in the same event.
    let moves = [
        (1, Made(0x1000, 32)),
        (1, Moved(&[0x1000, 0x2000])),
        (1, Moved(&[0x2000, 0x1000])),
        (1, Moved(&[0x3000, 0x1000, 0x1000, 0x4000])),
        (1, Moved(&[0x1000, 0x1008])),
    ];
    let rows = [
        ("object", 0x1000, Some(32), Some((1, "event")), Some((2, "moved"))),
        ("object", 0x1000, None, Some((3, "moved")), Some((4, "moved"))),
        ("object", 0x1000, None, Some((4, "moved")), Some((5, "moved"))),
    ];
    check(&moves, "0x1000", &rows);
    check(&moves, "0x101f", &rows[..1]);
    let shifted = ("object", 0x1008, Some(32), Some((2, "moved")), None);
    let overlap = [(1, Made(0x1000, 32)), (1, Moved(&[0x1000, 0x1008]))];
    check(
        &overlap,
        "0x1010",
        &[("object", 0x1000, Some(32), Some((1, "event")), Some((2, "moved"))), shifted],
    );
    check(&[(1, Moved(&[0x1000, 0x2000]))], "0x1000", &[("object", 0x1000, None, None, Some((1, "moved")))]);
    // Ranges at the end of the address space, empty ones, and those of no memory.
    let last = [(1, Made(0xffff_ffff_ffff_fff0, u64::MAX)), (1, Made(0x10, 0)), (1, Made(0, 64))];
    let end = ("object", 0xffff_ffff_ffff_fff0, Some(u64::MAX), Some((1, "event")), None);
    check(&last, "0xffffffffffffffff", &[end]);
    check(&last, "0x10", &[]);
}

#[test]
fn ranges_are_shown() {
    let lossy = [(1, Made(0x1000, 16)), (1, Lost(3)), (2, Made(0x2000, 16)), (1, Died(0x1000))];
    let many: Vec<(u32, Told)> = (0..20).flat_map(|_| [(1, Made(0x1000, 16)), (1, Died(0x1000))]).collect();
    let unmarked: String =
        REGISTRY.lines().filter(|line| !line.starts_with("range")).map(|line| format!("{line}\n")).collect();
    let ended =
        [(1, Pool(0x100, 0x10, "old")), (1, PoolEnded(0x100)), (1, Segment(1, 0x1000, 0x2000, 0x100))];
    let looped = [(1, Pool(0x100, 0x200, "a")), (1, Pool(0x200, 0x100, "b")), (1, Segment(1, 1, 9, 0x100))];
    let folder = Folder::new()
        .with("heap.tel", sound())
        .with("lossy.tel", recording(&lossy))
        .with("many.tel", recording(&many))
        .with("ended.tel", recording(&ended))
        .with("looped.tel", recording(&looped))
        .with("unmarked.tel", marked(&unmarked, &[(1, Made(0x1000, 16)), (1, Died(0x1000))]))
        .with("heap.toml", REGISTRY)
        .with("alloc.tel", crate::replay::sound())
        .with("gc.tel", gc());
    folder.check(
        "address",
        &[
            "address 0x5018 heap.tel",
            "address --at 8.5us 0x5018 heap.tel",
            "address --at 100s 0x5018 heap.tel",
            "address --at 1ns 0x5018 heap.tel",
            "address --events 0x5018 heap.tel",
            "address --events 0x7000 heap.tel",
            "address --json --events --at 5us 0x5018 heap.tel",
            "address --kind Pool 0x5018 heap.tel",
            "address 0x5018 heap.tel alloc.tel",
            "address 0x1008 lossy.tel",
            "address --strict 0x1008 lossy.tel",
            "address --limit 2 0x1000 many.tel",
            "address --limit 0 0x1000 many.tel",
            "address 0x1800 ended.tel",
            "address 8 looped.tel",
            "address 0x1000 unmarked.tel",
            "address --registry heap.toml 0x1000 unmarked.tel",
            "address 0x1000 alloc.tel",
            "address 0x5000 alloc.tel",
            "address 0x1000 gc.tel",
            "address 0x heap.tel",
            "address heap.tel",
            "address 0x1_0000_0000_0000_0000 heap.tel",
        ],
    );
}

/// A log of the MPS, in which a segment of a pool has two lives, and one of Mono.
#[test]
fn logs_of_other_systems_have_ranges() {
    let (pool, arena, segment) = (0x5500_0000_2000, 0x5500_0000_1000, 0x5500_0000_3000);
    let (base, size) = (0x7f00_0000_4000, 0x2000);
    let log = [
        mps::beginning(1_000),
        mps::event("PoolInit", 2_000, &[Is::N(pool), Is::N(arena), Is::N(9), Is::N(3)]),
        mps::event("SegAlloc", 3_000, &[Is::N(arena), Is::N(segment), Is::N(base), Is::N(size), Is::N(pool)]),
        mps::event("SegFree", 4_000, &[Is::N(arena), Is::N(segment)]),
        mps::event(
            "SegAlloc",
            5_000,
            &[Is::N(arena), Is::N(segment), Is::N(base), Is::N(size / 2), Is::N(pool)],
        ),
        mps::sync(6_000, 6_000),
    ];
    let folder = Folder::new().with("mps.log", log.concat()).with("17.mlpd", mono::seventeen());
    folder.check(
        "address_in_logs",
        &[
            "address 0x7f0000004010 mps.log",
            "address 0x7f0000005010 mps.log",
            "address 0x800 17.mlpd",
            "address --events 0x808 17.mlpd",
            "census 17.mlpd",
        ],
    );
}
