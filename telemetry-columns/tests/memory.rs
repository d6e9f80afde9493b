//! The memory of columns, in a process of its own that counts allocations.

use telemetry_columns::{Batches, Builder, Tables};
use telemetry_decode::writer::{Compress, Lane, Writer};
use telemetry_decode::{Facts, Order, RawStr, Reader, Value};
use telemetry_testing::counting::{Counting, alone, count, peak};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const REGISTRY: &str = r#"
    [registry]
    name = "many"
    version = "1.0.0"
    doc = "d"
    [kinds]
    K = { bit = 0, doc = "d" }
    [types.Why]
    repr = "u8"
    values = { Asked = 1, Full = 2 }
    [[event]]
    name = "Sent"
    code = 1
    kind = "K"
    doc = "d"
    params = [
      { name = "size", sort = "word", doc = "d" },
      { name = "why", sort = "Why", doc = "d" },
      { name = "label", sort = "label", doc = "d" },
      { name = "note", sort = "string", max = 2000, doc = "d" },
      { name = "ages", sort = "[u16]", max = 4, doc = "d" },
    ]"#;

/// Writes events with notes of a length.
fn stream(events: u64, note: usize) -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, 0).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    let note = vec![b'x'; note];
    let ages = [Value::Unsigned(1), Value::Unsigned(2)];
    for ticks in 0..events {
        let why = telemetry_decode::EnumValue::new(i128::from(ticks % 3));
        let values = [
            Value::Word(ticks),
            Value::Named(why),
            Value::Label(ticks % 100),
            Value::String(RawStr(&note)),
            Value::Array(ages[..ticks as usize % 3].into()),
        ];
        writer.event(lane, 1, ticks, &values).unwrap();
    }
    writer.finish().unwrap()
}

fn read(stream: &[u8], reuse: bool) {
    let events = Reader::from_slice(stream).order(Order::Stream).events().unwrap();
    let tables = Tables::of(events.registries());
    let mut batches = Batches::with(events, Builder::new(tables).rows(10_000));
    while let Some(batch) = batches.next_batch().unwrap() {
        if reuse {
            batches.reuse(batch);
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_stream() {
    let _alone = alone();
    let [few, many] = [60_000, 300_000].map(|events| stream(events, 20));
    for reuse in [true, false] {
        let [of_few, of_many] = [&few, &many].map(|stream| peak(|| read(stream, reuse)));
        assert!(of_many < of_few + (64 << 10), "{of_few} and {of_many} bytes");
    }
}

#[test]
fn long_texts_end_batches() {
    let _alone = alone();
    let stream = stream(20_000, 2_000);
    let held = peak(|| read(&stream, false));
    assert!((8 << 20..40 << 20).contains(&held), "{held} bytes");
}

/// Memory that tables have for their next rows is limited, too.
#[test]
fn tables_that_come_one_after_the_other_hold_little() {
    const TABLES: u16 = 24;
    let _alone = alone();
    let head = REGISTRY.split_once("[[event]]").unwrap().0;
    let event = |code| {
        let params = "params = [{ name = \"note\", sort = \"string\", max = 2000, doc = \"d\" }]";
        format!("[[event]]\nname = \"Sent{code}\"\ncode = {code}\nkind = \"K\"\ndoc = \"d\"\n{params}\n")
    };
    let text = head.to_string() + &(1..=TABLES).map(event).collect::<String>();
    let registry = telemetry_schema::parse(&text).unwrap();
    let mut writer = Writer::new(Vec::new()).compress(Compress::All);
    writer.session(1, &Facts::default(), 0, 0).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    let note = [Value::String(RawStr(&[b'x'; 2_000]))];
    for ticks in 0..u64::from(TABLES) * 4_500 {
        writer.event(lane, 1 + (ticks / 4_500) as u16, ticks, &note).unwrap();
    }
    let stream = writer.finish().unwrap();
    for reuse in [true, false] {
        let held = peak(|| read(&stream, reuse));
        assert!(held < 100 << 20, "{held} bytes");
    }
}

#[test]
fn events_are_not_allocated() {
    let _alone = alone();
    let [few, many] = [60_000, 300_000].map(|events| stream(events, 20));
    let [of_few, of_many] = [&few, &many].map(|stream| count(|| read(stream, true)));
    // 24 batches more, each with a list of columns and parts of some of them.
    assert!(of_many < of_few + 24 * 50, "{of_few} and {of_many} allocations");
}
