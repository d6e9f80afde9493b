//! Measures the conversion of segments, in processor time of one thread: `convert [MILLIONS
//! [FILE…]]`.
//!
//! It converts made streams of MILLIONS events, in which four threads alternate. Then it converts
//! streams in files, each of which has one session.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};
use telemetry_lake::catalog::Catalog;
use telemetry_lake::convert::convert;
use telemetry_lake::state::SessionState;
use telemetry_testing::made::{Random, START};

/// A registry without the parameters of its event.
const REGISTRY: &str = r#"
[registry]
name = "app"
version = "1.0.0"
doc = "Measured"

[kinds]
Work = { bit = 0, doc = "work" }

[[event]]
name = "Alloc"
code = 1
kind = "Work"
doc = "An allocation"
params = [PARAMS]
"#;

/// A made stream.
struct Shape {
    name: &'static str,
    params: &'static str,
    /// The values of an event. The number is the address of the event before.
    values: fn(&mut Random, &mut u64) -> Vec<Value<'static>>,
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: "four numbers, as in the benchmark of `telemetry parquet`",
        params: r#"{ name = "address", sort = "addr" }, { name = "size", sort = "word" },
                   { name = "age", sort = "u32" }, { name = "level", sort = "u8" }"#,
        values: |random, at| {
            *at += 16 * random.below(64);
            let (size, age) = (16 + 8 * random.below(100), random.below(5000));
            vec![Value::Addr(*at), Value::Word(size), Value::Unsigned(age), Value::Unsigned(random.below(4))]
        },
    },
    Shape {
        name: "an address near the one before, and a size",
        params: r#"{ name = "address", sort = "addr" }, { name = "size", sort = "word" }"#,
        values: |random, at| {
            *at += 16 * random.below(64);
            vec![Value::Addr(*at), Value::Word(16 + 8 * random.below(100))]
        },
    },
    Shape {
        name: "an address anywhere in 16 TiB, and a size",
        params: r#"{ name = "address", sort = "addr" }, { name = "size", sort = "word" }"#,
        values: |random, _| vec![Value::Addr(16 * random.below(1 << 40)), Value::Word(8 * random.below(100))],
    },
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let millions: u64 = arguments.next().map_or(4, |text| text.parse().expect("a number"));
    for shape in &SHAPES {
        measure(shape.name, &made(shape, millions * 1_000_000));
    }
    for file in arguments {
        measure(&file, &std::fs::read(&file).expect("a stream"));
    }
}

/// Makes a stream.
fn made(shape: &Shape, events: u64) -> Vec<u8> {
    let registry = telemetry_schema::parse(&REGISTRY.replace("PARAMS", shape.params)).expect("it is valid");
    let mut writer = Writer::new(Vec::new()).block_size(60_000);
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(1, &facts, 0, START).unwrap();
    let registry = writer.registry(1, &registry).unwrap();
    let (mut random, mut now, mut at) = (Random(1), 0, 0x7f00_0000_0000);
    for number in 0..events {
        now += 20 + random.below(60);
        let lane = Lane { session: 1, thread: 1 + (number % 4) as u32, registry };
        writer.event(lane, 1, now, &(shape.values)(&mut random, &mut at)).unwrap();
    }
    writer.end(1, now + 1).unwrap();
    writer.finish().unwrap()
}

fn measure(name: &str, stream: &[u8]) {
    let session = telemetry_format::Header::decode(stream, crc32c::crc32c).expect("a stream").session;
    let mut state = SessionState { session, ..SessionState::default() };
    let start = cpu_ns();
    let files = convert(stream, &mut state, &mut Catalog::default(), false).expect("a stream").files;
    let seconds = (cpu_ns() - start) as f64 / 1e9;
    let (rows, bytes) =
        files.iter().fold((0, 0), |(rows, bytes), file| (rows + file.rows, bytes + file.bytes.len()));
    let rate = rows as f64 / seconds / 1e6;
    let (from, to) = (stream.len() as f64 / rows as f64, bytes as f64 / rows as f64);
    println!("{name}: {rate:.2} M rows/s; {rows} rows of {from:.1} bytes became {to:.1} bytes each");
}

/// Returns the processor time of this thread, in nanoseconds.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}
