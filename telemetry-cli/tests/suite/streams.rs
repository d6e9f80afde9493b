//! Streams to run the command on, and damage to them.

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Array, Clock, EnumValue, Facts, RawStr, Value};
use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, MAGIC, memory, own, state};
use telemetry_schema::Registry;

pub(crate) const GC: &str = include_str!("../data/gc.toml");

pub(crate) fn gc_registry() -> Registry {
    telemetry_schema::parse(GC).unwrap_or_else(|invalid| panic!("{}", invalid.render("gc.toml", GC)))
}

/// 2026-11-21 05:47:31.123456789 UTC.
pub(crate) const START: u64 = 1_795_240_051_123_456_789;

/// Makes a run of a collector: four threads, two with one name and one without, and every sort.
pub(crate) fn gc() -> Vec<u8> {
    gc_run(0x2a).finish().unwrap()
}

/// Makes the version of all blocks a future one.
pub(crate) fn future(stream: &[u8]) -> Vec<u8> {
    let mut stream = stream.to_vec();
    for at in (0..stream.len() - 8).filter(|at| stream[*at..].starts_with(&MAGIC)).collect::<Vec<_>>() {
        stream[at + 8] += 1;
    }
    stream
}

/// Makes the same run without its registry.
pub(crate) fn gc_without_registry() -> Vec<u8> {
    blocks(&gc()).into_iter().filter(|block| block_type(block) != BlockType::Registry).flatten().collect()
}

/// Makes a run that ended in good order, to which more can be added.
pub(crate) fn gc_run(session: u64) -> Writer<Vec<u8>> {
    let mut writer = Writer::new(Vec::new()).block_size(100);
    let facts = facts(&[("program", "gcbench"), ("host", "build"), ("clock", "os")]);
    writer.session(session, &facts, 1_000_000, START).unwrap();
    let registry = writer.registry(session, &gc_registry()).unwrap();
    for (thread, name) in [(1, "main"), (2, "worker"), (3, "worker")] {
        let mut facts = facts_of_thread(name);
        facts.set("tid", 4710 + i64::from(thread));
        writer.thread(session, thread, &facts).unwrap();
    }
    let lane = |thread| Lane { session, thread, registry };
    let mut event = |thread, code, us: u64, values: &[Value]| {
        writer.event(lane(thread), code, 1_000_000 + us * 1_000, values).unwrap();
    };

    event(1, 0x101, 0, &[]);
    for n in 0..3 {
        let values = [
            Value::Pointer(0x7f00_1000 + n * 64),
            Value::Addr(0x10_0000_0000 + n),
            Value::Word(4096 << n),
            Value::Unsigned(n),
        ];
        event(1, 0x10, 1 + n * 3, &values);
    }
    for n in 0..4 {
        let thread = 2 + n as u32 % 2;
        let why = Value::Named(EnumValue::new(1 + i128::from(n)));
        let start = [Value::Pointer(0x7f00_2000 + n), why, Value::F64(0.45 + n as f64 / 3.0)];
        event(thread, 0x20, 1_000 * n + 500, &start);
        event(thread, 0x30, 1_000 * n + 600, &[Value::Addr(0xdead_0000 + n)]);
        let end = [Value::Pointer(0x7f00_2000 + n), Value::Word(u64::MAX >> (16 * n)), Value::Bool(n == 3)];
        event(thread, 0x21, 1_000 * n + 900, &end);
    }
    for (n, text) in ["plain", "say \"hello \\world\"", "two\nlines \u{1b}[31m", "größe"].iter().enumerate()
    {
        event(4, 0xffff, 2_500_000 + n as u64, &[Value::String(RawStr(text.as_bytes()))]);
    }
    everything(&mut event);
    writer.end(session, 1_000_000 + 3_000_000_000).unwrap();
    writer
}

/// The values for the parameters of an `Everything`.
struct Extreme {
    unsigned: u64,
    signed: i64,
    f32: f32,
    bytes: &'static [u8],
    step: i128,
    access: i128,
    parts: &'static [f64],
}

const EXTREMES: [Extreme; 3] = [
    Extreme { unsigned: 0, signed: 0, f32: 0.0, bytes: b"", step: 1, access: 0, parts: &[] },
    Extreme {
        unsigned: 0xff,
        signed: -1,
        f32: -0.1,
        bytes: b"\0\xff",
        step: -1,
        access: 3,
        parts: &[1.0 / 3.0],
    },
    Extreme {
        unsigned: u64::MAX,
        signed: i64::MIN,
        f32: f32::INFINITY,
        bytes: b"raw",
        step: 5,
        access: 0x1b,
        parts: &[1e300, 5e-324, -0.0, f64::NAN, 1.234_999_999_999],
    },
];

fn everything(event: &mut impl FnMut(u32, u16, u64, &[Value])) {
    for (n, extreme) in EXTREMES.iter().enumerate() {
        let Extreme { unsigned: u, signed: i, f32: f, bytes, step, access, parts } = *extreme;
        let four = [0, -1, i32::MAX, i32::MIN].map(|i| Value::Signed(i.into()));
        let some = [u, 1, 2].map(Value::Word);
        let steps = [-1, 1, 7].map(|step| Value::Named(EnumValue::new(step)));
        let parts: Vec<_> = parts.iter().map(|x| Value::F64(*x)).collect();
        let values = [
            Value::Unsigned(u as u8 as u64),
            Value::Unsigned(u as u16 as u64),
            Value::Unsigned(u),
            Value::Signed(i as i8 as i64),
            Value::Signed(i as i16 as i64),
            Value::Signed(i as i32 as i64),
            Value::Signed(i),
            Value::F32(f),
            Value::Label(u),
            Value::Bytes(bytes),
            Value::Named(EnumValue::new(step)),
            Value::Named(EnumValue::new(access)),
            Value::Array(Array::from(&four[..])),
            Value::Array(Array::from(&some[..n])),
            Value::Array(Array::from(&steps[..n + 1])),
            Value::Array(Array::from(&parts[..])),
        ];
        event(1, 0x102, 2_999_990 + n as u64, &values);
    }
}

/// Makes a session that lost events on one thread, for all causes, and did not end.
pub(crate) fn lossy() -> Vec<u8> {
    let (mut writer, lane) = begun(0x77, START, "lossy\u{1b}[1m", &gc_registry());
    let lane = Lane { thread: 9, ..lane };
    writer.event(lane, 0x101, 1_000, &[]).unwrap();
    writer.flush().unwrap();
    writer.lose(lane, 6, Loss { pool: 1_200, reentrant: 30, sink: 0, truncated: 4 }).unwrap();
    writer.exclude(lane, 6, 7_000).unwrap();
    writer.event(lane, 0x101, 5_000_000, &[]).unwrap();
    writer.finish().unwrap()
}

/// Returns the registry of the runtime's own events.
pub(crate) fn runtime_registry() -> Registry {
    telemetry_schema::parse_embedded(RUNTIME).unwrap()
}

const RUNTIME: &str = include_str!("../../../telemetry-runtime/telemetry.toml");

/// Makes a run with labels: strings and names of addresses, one of which changes, and numbers
/// without a string. The runtime's own events share no codes with the program's.
pub(crate) fn labeled() -> Vec<u8> {
    let (mut writer, Lane { registry: gc, .. }) = begun(5, START, "labels", &gc_registry());
    let runtime = writer.registry(5, &runtime_registry()).unwrap();
    writer.thread(5, 1, &facts_of_thread("main")).unwrap();
    let lane = |thread, registry| Lane { session: 5, thread, registry };
    let mut runtimes = |ticks, code, values: &[Value]| {
        writer.event(lane(0, runtime), code, ticks, values).unwrap();
    };
    runtimes(10, 2, &[Value::Label(1), Value::String(RawStr(b"the nursery"))]);
    runtimes(11, 3, &[Value::Addr(0x1000), Value::Label(1)]);
    runtimes(12, 2, &[Value::Label(2), Value::String(RawStr(b"say \"\x1b[1m\"\n"))]);
    runtimes(2_000, 3, &[Value::Addr(0x1000), Value::Label(2)]);
    runtimes(2_001, 3, &[Value::Addr(0x2000), Value::Label(77)]);
    let control =
        [Value::Named(EnumValue::new(0)), Value::Named(EnumValue::new(1)), Value::String(RawStr(b"Pool"))];
    writer.event(lane(1, runtime), 1, 15, &control).unwrap();
    for (ticks, pool, base) in [(5, 0x1000, 1), (20, 0x1000, 0x1001), (2_500, 0x2000, 0x1000)] {
        let values = [Value::Pointer(pool), Value::Addr(base), Value::Word(0x1000), Value::Unsigned(0x1000)];
        writer.event(lane(1, gc), 0x10, ticks, &values).unwrap();
    }
    let none: &[Value] = &[];
    let arrays = [&[Value::Signed(0); 4][..], none, none, none].map(|values| Value::Array(values.into()));
    let plain = [
        Value::Unsigned(0),
        Value::Unsigned(0),
        Value::Unsigned(0),
        Value::Signed(0),
        Value::Signed(0),
        Value::Signed(0),
        Value::Signed(0),
        Value::F32(0.0),
        Value::Label(1),
        Value::Bytes(b""),
        Value::Named(EnumValue::new(1)),
        Value::Named(EnumValue::new(1)),
    ];
    for (ticks, label) in [(30, 1), (31, 2), (32, 3), (33, 0)] {
        let mut values = [&plain[..], &arrays].concat();
        values[8] = Value::Label(label);
        writer.event(lane(1, gc), 0x102, ticks, &values).unwrap();
    }
    writer.end(5, 3_000).unwrap();
    writer.finish().unwrap()
}

/// Makes a run of a program that panicked twice, got a signal, and ended with a status. Another one
/// succeeded.
pub(crate) fn failed() -> Vec<u8> {
    let (mut writer, lane) = begun(5, START, "failed", &gc_registry());
    let runtime = writer.registry(5, &runtime_registry()).unwrap();
    writer.thread(5, 1, &facts_of_thread("main")).unwrap();
    writer.thread(5, 2, &facts_of_thread("worker")).unwrap();
    let of = |thread| Lane { session: 5, thread, registry: runtime };
    let text = |text: &'static str| Value::String(RawStr(text.as_bytes()));
    for (ticks, thread, message, line) in [(900, 2, "no such key\n", 7), (700, 1, "an earlier one", 9)] {
        let values = [text(message), text("src/cache.rs"), Value::Unsigned(line)];
        writer.event(of(thread), 6, ticks, &values).unwrap();
    }
    let signal = [Value::Named(EnumValue::new(1)), Value::Signed(1), Value::Addr(0x10)];
    writer.event(of(2), 9, 2_800, &signal).unwrap();
    writer.event(of(1), 7, 2_900, &[Value::Signed(101)]).unwrap();
    let values = [Value::Pointer(0x1000), Value::Addr(1), Value::Word(0x1000), Value::Unsigned(0x1000)];
    writer.event(Lane { thread: 1, ..lane }, 0x10, 5, &values).unwrap();
    writer.end(5, 3_000).unwrap();
    [writer.finish().unwrap(), gc()].concat()
}

/// Makes a run with marks, one of them by a thread that does nothing else, and one whose text is
/// not in the stream.
pub(crate) fn marked() -> Vec<u8> {
    let (mut writer, lane) = begun(5, START, "marked", &gc_registry());
    let runtime = writer.registry(5, &runtime_registry()).unwrap();
    writer.thread(5, 1, &facts_of_thread("main")).unwrap();
    writer.thread(5, 2, &facts_of_thread("telemetry-ctl")).unwrap();
    let of = |thread| Lane { session: 5, thread, registry: runtime };
    for (label, text) in [(1, "warm-up done"), (2, "deploy 17")] {
        let values = [Value::Label(label), Value::String(RawStr(text.as_bytes()))];
        writer.event(of(0), 2, 10 * label, &values).unwrap();
    }
    for (ticks, thread, label) in [(15, 1, 1), (900, 2, 2), (2_600, 1, 3)] {
        writer.event(of(thread), own::MARK, ticks, &[Value::Label(label)]).unwrap();
    }
    for (ticks, pool, base) in [(5, 0x1000, 1), (20, 0x1000, 0x1001), (2_500, 0x2000, 0x1000)] {
        let values = [Value::Pointer(pool), Value::Addr(base), Value::Word(0x1000), Value::Unsigned(0x1000)];
        writer.event(Lane { thread: 1, ..lane }, 0x10, ticks, &values).unwrap();
    }
    writer.end(5, 3_000).unwrap();
    writer.finish().unwrap()
}

/// The second registry of [`two_registries`].
pub(crate) const APP: &str = r#"
[registry]
name = "app"
version = { major = 0, median = 1, minor = 0 }
doc = "An application with events of its own"
[kinds]
Request = { bit = 0, doc = "per request" }
[[event]]
name = "RequestBegin"
code = 0x10
kind = "Request"
doc = "A request came in"
params = [{ name = "url", sort = "S", doc = "what for" }]
"#;

/// Makes a session with two registries that share codes.
pub(crate) fn two_registries() -> Vec<u8> {
    let (mut writer, Lane { registry: gc, .. }) = begun(5, START, "server", &gc_registry());
    let app = writer.registry(5, &telemetry_schema::parse(APP).unwrap()).unwrap();
    let lane = |registry| Lane { session: 5, thread: 1, registry };
    writer.event(lane(app), 0x10, 10, &[Value::String(RawStr(b"/index"))]).unwrap();
    let pool = [Value::Pointer(1), Value::Addr(2), Value::Word(3), Value::Unsigned(4)];
    writer.event(lane(gc), 0x10, 20, &pool).unwrap();
    writer.end(5, 30).unwrap();
    writer.finish().unwrap()
}

/// Makes a run whose clock is faster than it said by twenty parts in a million. The last moment,
/// long behind the last event, tells.
pub(crate) fn drifting(is_ended: bool) -> Vec<u8> {
    let mut facts = facts(&[("clock", "tsc")]);
    facts.set("ticks_per_second", 1_000_000_000);
    let mut writer = Writer::new(Vec::new());
    writer.session(6, &facts, 0, START).unwrap();
    let registry = writer.registry(6, &gc_registry()).unwrap();
    let mut clock = Clock::ticks(0, START, 1_000_000_000);
    clock.refine(3_000_000, START + 3_000_060);
    writer.set_clock(6, clock).unwrap();
    for ticks in [0, 100_000, 900_000] {
        writer.event(Lane { session: 6, thread: 1, registry }, 0x101, ticks, &[]).unwrap();
    }
    match is_ended {
        true => writer.end(6, 3_000_000).unwrap(),
        false => writer.sync(6, 3_000_000).unwrap(),
    }
    writer.finish().unwrap()
}

/// Returns a stream that has begun: of a session whose ticks are nanoseconds since this date, of a
/// program if one is named; and the lane of its first thread.
pub(crate) fn begun(session: u64, wall: u64, program: &str, registry: &Registry) -> (Writer<Vec<u8>>, Lane) {
    let facts = match program {
        "" => facts(&[("clock", "os")]),
        program => facts(&[("program", program), ("clock", "os")]),
    };
    let mut writer = Writer::new(Vec::new());
    writer.session(session, &facts, 0, wall).unwrap();
    let registry = writer.registry(session, registry).unwrap();
    (writer, Lane { session, thread: 1, registry })
}

pub(crate) fn facts(facts: &[(&str, &str)]) -> Facts {
    let mut all = Facts::default();
    facts.iter().for_each(|(key, value)| all.set(key, *value));
    all
}

pub(crate) fn facts_of_thread(name: &str) -> Facts {
    facts(&[("name", name)])
}

/// Makes the memory of a killed run: its facts, and its blocks of events from number `from` on. The
/// last block of each lane is still open.
pub(crate) fn image(stream: &[u8], from: usize) -> Vec<u8> {
    let blocks = blocks(stream);
    let mut image = vec![0xaa; 5_000];
    let facts =
        blocks.iter().filter(|block| !matches!(block_type(block), BlockType::Events | BlockType::Sync));
    image.extend(facts.flatten());
    let lane = |block: &[u8]| {
        let header = Header::decode(block, crc32c::crc32c).unwrap();
        (header.thread, header.kind)
    };
    for (number, index) in events_blocks(&blocks).into_iter().enumerate().skip(from) {
        let block = &blocks[index];
        let later = &blocks[index + 1..];
        let is_open =
            !later.iter().any(|later| lane(later) == lane(block) && block_type(later) == BlockType::Events);
        image.resize(image.len().next_multiple_of(4096) + 4096 * (number % 3), 0);
        image.extend(live(block, is_open));
    }
    image
}

/// Makes a block as it is in memory.
fn live(block: &[u8], is_open: bool) -> Vec<u8> {
    let header = Header::decode(block, crc32c::crc32c).unwrap();
    let (state, payload) = (state::pack(header.payload_len, header.events), &block[HEADER_LEN..]);
    let opened = Header {
        header_len: memory::HEADER_LEN as u16,
        flags: 0,
        payload_len: 0,
        events: 0,
        payload_crc: 0,
        ..header.clone()
    };
    let mut bytes = [&opened.encode(crc32c::crc32c)[..], &[0; memory::HEADER_LEN - HEADER_LEN]].concat();
    bytes[state::OFFSET..state::OFFSET + 8].copy_from_slice(&state.to_le_bytes());
    let end = if is_open { 0 } else { header.end_ticks };
    bytes[memory::END_TICKS..memory::END_TICKS + 8].copy_from_slice(&end.to_le_bytes());
    [bytes, payload.to_vec()].concat()
}

/// Splits a whole stream into blocks.
pub(crate) fn blocks(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut blocks = Blocks::from_slice(stream);
    let mut found = Vec::new();
    while let Some(piece) = blocks.next().unwrap() {
        let Piece::Block(block) = piece else { panic!("the stream is whole") };
        let start = block.at as usize;
        found.push(stream[start..start + block.header.block_len() as usize].to_vec());
    }
    found
}

pub(crate) fn block_type(block: &[u8]) -> BlockType {
    Header::decode(block, crc32c::crc32c).unwrap().block_type
}

/// Returns the numbers of the blocks with events.
pub(crate) fn events_blocks(blocks: &[Vec<u8>]) -> Vec<usize> {
    (0..blocks.len()).filter(|index| block_type(&blocks[*index]) == BlockType::Events).collect()
}

/// Changes the header of a block, and makes its checksum valid again.
pub(crate) fn with_header(stream: &[u8], number: usize, change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut blocks = blocks(stream);
    let mut header = Header::decode(&blocks[number], crc32c::crc32c).unwrap();
    change(&mut header);
    blocks[number][..HEADER_LEN].copy_from_slice(&header.encode(crc32c::crc32c));
    blocks.concat()
}
