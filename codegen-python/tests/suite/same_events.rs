//! Python reads what Rust reads.

use proptest::prelude::*;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Array, Facts, RawStr, Value};

use crate::dump::Compared;
use crate::made::{Plan, blocks, make, registry, shuffle};
use crate::registries::registries;

#[test]
fn every_sort_of_a_whole_stream() {
    let registry = registry();
    let mut compared = Compared::new(&registry);
    for seed in 0..12 {
        let made = make(&registry, &Plan { seed, events: 100, ..Plan::default() });
        compared.check(&made.stream, &format!("seed {seed}"));
        compared.check(&shuffle(&made.stream, seed), &format!("seed {seed}, shuffled"));
        compared.check_columns(&made.stream, &format!("columns of seed {seed}"));
    }
    let many = Plan {
        events: 9000,
        threads: 9,
        sessions: 3,
        block_size: 4096,
        flush: 90,
        lose: 500,
        ..Plan::default()
    };
    compared.check(&make(&registry, &many).stream, "many lanes");
    compared.check_columns(&make(&registry, &Plan { flush: 0, ..many }).stream, "columns of many lanes");
    compared.check_columns(
        &make(&registry, &Plan { flush: 0, compress: true, ..many }).stream,
        "columns of compressed blocks",
    );
    let one = Plan { events: 9000, threads: 9, block_size: 4096, ..Plan::default() };
    compared.check(&make(&registry, &one).stream, "many lanes of one session");
    compared.check(&make(&registry, &Plan { events: 0, ..Plan::default() }).stream, "no events");
}

/// Bytes of a large block.
const LARGE: usize = 1 << 16;

/// Kinds of events that usually have the same length; and codes that also occur in values.
const ALIKE: &str = include_str!("../alike.toml");

/// A stream in which one event in `rare` differs: its numbers are far from others, and not
/// multiples of their `align`.
fn alike(registry: &telemetry_schema::Registry, rare: u64, block_size: usize) -> Vec<u8> {
    let mut facts = Facts::default();
    facts.set("clock", "tsc");
    facts.set("ticks_per_second", 2_500_000_001_i64);
    let mut writer = Writer::new(Vec::new()).block_size(block_size);
    writer.session(1, &facts, 7, 1_700_000_000_000_000_000).unwrap();
    let of_registry = writer.registry(1, registry).unwrap();
    for i in 0..12_000_u64 {
        let odd = i % rare == rare - 1;
        let far = if odd { i.wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { i & 7 };
        let lane = Lane { session: 1, thread: 1 + (i / 5000) as u32 % 2, registry: of_registry };
        let words = [Value::Word(far), Value::Word(i), Value::Word(0)];
        let numbers = [Value::Signed(-(i as i64 & 63)), Value::Signed(far as i32 as i64)];
        let (code, values) = match i % 16 {
            0 => (2, vec![]),
            1 | 2 => (0x0102, vec![Value::Unsigned(far as u32 as u64)]),
            3 => (3, vec![Value::Unsigned(far & 0xffff), Value::Signed(far as i64)]),
            4 => (4, vec![Value::String(RawStr(if odd { b"" } else { b"\x09\x03 text" })), Value::Word(far)]),
            5 | 6 => (5, vec![Value::Word(i * 8 + u64::from(odd))]),
            _ => (
                1,
                vec![
                    Value::Pointer(0x7f00_0000_0000 + far),
                    Value::Addr(i * 64 + u64::from(odd)),
                    Value::Unsigned(far & 0xff),
                    Value::Signed(if odd { -30_000 } else { 1 }),
                    Value::F64(far as f64),
                    Value::Unsigned(far),
                    Value::Bool(odd),
                    Value::Array(Array::from(&words[..])),
                    Value::F32(0.5),
                    Value::Signed(-3),
                    Value::Array(Array::from(&numbers[..])),
                ],
            ),
        };
        // Far apart from each other at times, too.
        writer.event(lane, code, i * 9 + ((i / 3000) << 40), &values).unwrap();
    }
    writer.end(1, 1 << 50).unwrap();
    writer.finish().unwrap()
}

#[test]
fn columns_of_events_that_are_alike() {
    let registry = telemetry_schema::parse(ALIKE).unwrap();
    let mut compared = Compared::new(&registry);
    for rare in [2, 3, 7, 100, 20_000] {
        compared.check_columns(&alike(&registry, rare, LARGE), &format!("one in {rare} is unlike"));
    }
}

/// A stream of consecutive events that nearly all have one length: runs. One event in `rare` is
/// longer, and some have another code. Positions within events look like the start of one.
fn runs(registry: &telemetry_schema::Registry, rare: u64, block_size: usize) -> Vec<u8> {
    let mut facts = Facts::default();
    facts.set("clock", "tsc");
    facts.set("ticks_per_second", 3_000_000_007_i64);
    let mut writer = Writer::new(Vec::new()).block_size(block_size);
    writer.session(1, &facts, 7, 1_700_000_000_000_000_000).unwrap();
    let of_registry = writer.registry(1, registry).unwrap();
    for i in 0..8_000_u64 {
        let odd = i % rare == rare - 1;
        let lane = Lane { session: 1, thread: 1 + (i / 3000) as u32 % 2, registry: of_registry };
        let (code, values) = match (i % 1000, odd) {
            (..2, _) => (4, vec![Value::String(RawStr(b"\x0b\x03\x03")), Value::Word(i)]),
            (_, true) => (5, vec![Value::Word(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))]),
            _ => (5, vec![Value::Word(0x1000 + (i & 7) * 8)]),
        };
        writer.event(lane, code, i * 5 + (i & 3), &values).unwrap();
        // A kind without others, whose numbers are codes: 3 is packed as 7, and so is 3.
        let number = if odd { 0x4000 } else { 3 };
        writer.event(lane, 3, i * 5 + (i & 3), &[Value::Unsigned(number), Value::Signed(-2)]).unwrap();
    }
    writer.end(1, 1 << 50).unwrap();
    writer.finish().unwrap()
}

#[test]
fn columns_of_runs() {
    let registry = telemetry_schema::parse(ALIKE).unwrap();
    let mut compared = Compared::new(&registry);
    for (rare, block_size) in
        [(2, 4096), (40, 4096), (150, 300), (150, 1 << 16), (999, 1000), (30_000, 1 << 16)]
    {
        let stream = runs(&registry, rare, block_size);
        compared.check_columns(&stream, &format!("one in {rare} is longer, blocks of {block_size}"));
        // One of its blocks is damaged.
        let mut damaged = stream.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x10;
        compared
            .check_columns(&damaged, &format!("one in {rare} is longer, one block of {block_size} damaged"));
        // Several are damaged in the same bits, at the same place.
        for block in blocks(&stream).iter().rev().skip(4).step_by(3) {
            damaged[block.end - 2] ^= 0x21;
        }
        compared.check_columns(&damaged, &format!("one in {rare} is longer, blocks of {block_size} damaged"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]
    #[test]
    fn columns_do_not_depend_on_the_size_of_blocks(rare in 2..400_u64, block_size in 1..3000_usize) {
        let registry = telemetry_schema::parse(ALIKE).unwrap();
        let mut compared = Compared::new(&registry);
        let context = format!("one in {rare} is unlike, blocks of {block_size}");
        for make in [alike, runs] {
            let [small, large] = [block_size, LARGE].map(|size| make(&registry, rare, size));
            compared.check_same_columns([&small, &large], &context);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn any_registry(
        registry in registries(),
        seed in any::<u64>(),
        sessions in 1..3_u64,
        block_size in 1..2000_usize,
        flush in 0..9_u64,
        lose in 0..9_u64,
        end in any::<bool>(),
        compress in any::<bool>(),
    ) {
        let plan = Plan { seed, sessions, threads: 3, events: 80, block_size, flush, lose, end, compress };
        let (made, mut compared) = (make(&registry, &plan), Compared::new(&registry));
        compared.check(&made.stream, &format!("{plan:?}"));
        compared.check_columns(&made.stream, &format!("{plan:?}"));
    }
}
