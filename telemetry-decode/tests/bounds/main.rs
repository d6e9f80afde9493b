//! Memory is bounded by the length of the input, and absolutely, for forged streams and for the
//! seeds of the fuzzers. This is a process of its own, whose allocations are counted.
#![allow(unsafe_code)]

use std::path::Path;

use telemetry_decode::writer::{Compress, Lane, Writer};
use telemetry_decode::{Completeness, Facts, Order, Reader, Value};
use telemetry_format::{BlockType, HEADER_LEN, Header, codec, flags};
use telemetry_testing::counting::{Counting, alone, most, peak};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const REGISTRY: &str = r#"
    [registry]
    name = "many"
    version = { major = 1, median = 0, minor = 0 }
    doc = "d"
    [kinds]
    Cell = { bit = 0, doc = "d" }
    [[event]]
    name = "Made"
    code = 1
    kind = "Cell"
    doc = "d"
    params = [{ name = "data", sort = "bytes", max = 2048, doc = "d" }]"#;

/// Facts, and the events block of one lane with events of `bytes` bytes.
fn one_lane(events: u64, bytes: usize, compress: Compress) -> (Vec<u8>, Header, Vec<u8>) {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let mut writer = Writer::new(Vec::new()).block_size(16 << 20).compress(compress);
    writer.session(1, &Facts::default(), 0, 0).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    for ticks in 0..events {
        writer.event(lane, 1, ticks, &[Value::Bytes(&vec![0; bytes])]).unwrap();
    }
    let stream = writer.finish().unwrap();
    let mut at = 0;
    loop {
        let header = Header::decode(&stream[at..], crc32c::crc32c).unwrap();
        let end = at + header.block_len() as usize;
        if header.block_type == BlockType::Events {
            let payload = stream[at + HEADER_LEN..end].to_vec();
            return (stream[..at].to_vec(), header, payload);
        }
        at = end;
    }
}

/// Lanes whose events come in turn, each with the same block.
fn many_lanes(lanes: u32, events: u64, bytes: usize, compress: Compress) -> Vec<u8> {
    let (mut stream, header, payload) = one_lane(events, bytes, compress);
    for thread in 1..=lanes {
        let header = Header { thread, ..header.clone() };
        stream.extend_from_slice(&header.encode(crc32c::crc32c));
        stream.extend_from_slice(&payload);
    }
    stream
}

/// Reads all by time, from memory and from a file. What was read.
#[track_caller]
fn check(what: &str, stream: &[u8]) -> Completeness {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), stream).unwrap();
    let mut found = Vec::new();
    for (from, order) in [("a file", Order::Time), ("memory", Order::Time), ("a file", Order::Stream)] {
        let mut read = None;
        let peak = peak(|| {
            let reader = match from {
                "memory" => Reader::from_slice(stream),
                _ => Reader::open(file.path()).unwrap(),
            };
            let mut events = reader.order(order).events().unwrap();
            let mut last = i64::MIN;
            while let Some(event) = events.next().unwrap() {
                assert!(
                    order == Order::Stream || last <= event.time_ns() || event.session().id != 1,
                    "{what}"
                );
                last = event.time_ns();
            }
            read = Some(events.completeness());
        });
        let (most, len) = (most(stream.len()), stream.len());
        eprintln!("{what}, {from}, {order:?}: {len} bytes take {peak}, at most {most}");
        assert!(peak <= most, "{what}: {len} bytes of {from} take {peak}, expected at most {most}");
        found.push(read.unwrap());
    }
    let events: Vec<u64> = found.iter().map(|found| found.events).collect();
    // What takes more slots at once by time than a program has is read in the order of the stream.
    let is_same = events[0] == events[1] && (events[0] == events[2] || found[0].undecodable_parts > 0);
    assert!(is_same, "{what}: {events:?}");
    found.remove(0)
}

#[track_caller]
fn check_whole(what: &str, stream: &[u8], events: u64) {
    let found = check(what, stream);
    assert_eq!((found.events, found.missing()), (events, 0), "{what}");
}

#[test]
fn compressed_lanes_side_by_side() {
    let _alone = alone();
    check_whole("short blocks", &many_lanes(4_000, 32, 2_000, Compress::All), 4_000 * 32);
    check_whole("long blocks", &many_lanes(400, 300, 2_000, Compress::All), 400 * 300);
}

#[test]
fn long_events_side_by_side() {
    let _alone = alone();
    let text = REGISTRY.replace("max = 2048, ", "max = 16384, ");
    let registry = telemetry_schema::parse(&text).unwrap();
    let mut writer = Writer::new(Vec::new()).block_size(16 << 20).compress(Compress::All).long_runs();
    writer.session(1, &Facts::default(), 0, 0).unwrap();
    let registry = writer.registry(1, &registry).unwrap();
    let long = vec![0; (16 << 20) - 100];
    for ticks in 0..2 {
        for thread in 1..=20 {
            let bytes = if ticks == 0 { &[] } else { &long[..] };
            writer.event(Lane { session: 1, thread, registry }, 1, ticks, &[Value::Bytes(bytes)]).unwrap();
        }
    }
    check_whole("long events", &writer.finish().unwrap(), 40);
}

/// More threads than any program has at once are read whole.
#[test]
fn plain_lanes_side_by_side() {
    let _alone = alone();
    check_whole("plain blocks", &many_lanes(10_000, 30, 300, Compress::Nothing), 10_000 * 30);
    check_whole("short blocks", &many_lanes(50_000, 1, 1, Compress::Nothing), 50_000);
}

/// Each block tells of a lane of its own, more than there may be. What is left out is said.
#[test]
fn lanes_without_end() {
    let _alone = alone();
    let stream = many_lanes(201_000, 1, 1, Compress::Nothing);
    let found = check("lanes without end", &stream);
    assert!(!found.is_complete());
    assert_eq!(found.events + found.undecodable_parts, 201_000);
    assert_eq!(found.bytes.total(), stream.len() as u64);
}

/// As many lanes as there may be, each with a gap between its two blocks.
#[test]
fn lanes_with_gaps() {
    let _alone = alone();
    let (mut stream, header, payload) = one_lane(1, 1, Compress::Nothing);
    for before in [0, 5] {
        for thread in 1..=200_000 {
            let header = Header { thread, before, seq: u32::from(before > 0), ..header.clone() };
            stream.extend_from_slice(&header.encode(crc32c::crc32c));
            stream.extend_from_slice(&payload);
        }
    }
    let found = check("lanes with gaps", &stream);
    assert_eq!(found.lanes.len(), 200_000);
    assert!(found.undecodable_parts > 0, "further gaps are left out");
}

/// A lane has one slot for each parameter that is a delta.
#[test]
fn slots_without_end() {
    let _alone = alone();
    let mut text =
        "[registry]\nname = \"slots\"\nversion = { major = 1, median = 0, minor = 0 }\ndoc = \"d\"\n\
                    [kinds]\nCell = { bit = 0, doc = \"d\" }\n"
            .to_string();
    for code in 1..=400 {
        text += &format!(
            "[[event]]\nname = \"E{code}\"\ncode = {code}\nkind = \"Cell\"\ndoc = \"d\"\nparams = ["
        );
        (0..10).for_each(|param| text += &format!("{{ name = \"p{param}\", sort = \"P\", doc = \"d\" }}, "));
        text += "]\n";
    }
    let registry = telemetry_schema::parse(&text).unwrap();
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, 0).unwrap();
    let registry = writer.registry(1, &registry).unwrap();
    for thread in 1..=3_000 {
        for ticks in 0..2 {
            let values = [Value::Pointer(1); 10];
            writer.event(Lane { session: 1, thread, registry }, 1, ticks, &values).unwrap();
        }
    }
    let found = check("slots without end", &writer.finish().unwrap());
    assert!(found.events > 0);
}

/// A compressed text, and its length before.
struct Packed {
    payload: Vec<u8>,
    unpacked_len: u32,
}

/// Compresses a text, which may be a thousand times as long.
fn pack(text: &str) -> Packed {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
    Packed { payload: encoder.finish().unwrap(), unpacked_len: text.len() as u32 }
}

/// Makes a block of a session's or thread's facts, or of a registry.
fn text_block(block_type: BlockType, number: u32, text: &Packed) -> Vec<u8> {
    let payload = &text.payload;
    let header = Header {
        codec: codec::DEFLATE,
        unpacked_len: text.unpacked_len,
        payload_len: payload.len() as u32,
        payload_crc: crc32c::crc32c(payload),
        flags: flags::LAST,
        thread: if block_type == BlockType::Thread { number } else { 0 },
        ..Header::new(block_type, if block_type == BlockType::Session { u64::from(number) } else { 1 })
    };
    [&header.encode(crc32c::crc32c)[..], payload].concat()
}

#[test]
fn texts_without_end() {
    let _alone = alone();
    let long = pack(&format!("program = \"{}\"\n", "x".repeat(500_000)));
    let many = pack(&(0..40_000).map(|number| format!("a{number}=1\n")).collect::<String>());
    for block_type in [BlockType::Session, BlockType::Thread] {
        for (what, text, count) in [("long", &long, 200), ("many", &many, 4)] {
            let stream: Vec<u8> =
                (1..=count).flat_map(|number| text_block(block_type, number, text)).collect();
            check(&format!("{what} texts of {block_type:?}"), &stream);
        }
    }
    let base = REGISTRY.replace("doc = \"d\"", &format!("doc = \"{}\"", "d".repeat(100_000)));
    let mut registry = telemetry_schema::parse(&base).unwrap();
    let mut stream = Vec::new();
    for number in 0..100 {
        registry.name = format!("many{number}");
        let mut block = text_block(BlockType::Registry, 0, &pack(&registry.to_toml()));
        let mut header = Header::decode(&block, crc32c::crc32c).unwrap();
        header.registry = registry.fingerprint();
        block.splice(..HEADER_LEN, header.encode(crc32c::crc32c));
        stream.extend(block);
    }
    check("registries", &stream);
}

/// What the fuzzers begin with, and the archive of streams.
#[test]
fn seeds_and_archive() {
    let _alone = alone();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = 0;
    for folder in ["fuzz/seeds/stream", "fuzz/seeds/recover", "tests/golden/streams"] {
        let mut folders = vec![root.join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let mut bytes = std::fs::read(&path).unwrap();
                let name = path.display().to_string();
                let whole = peak(|| drop(recover(&bytes)));
                assert!(whole <= most(bytes.len()), "{name}: {whole}");
                let mut random = 7_u64;
                for _ in 0..5 {
                    check_quietly(&name, &bytes);
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if let Some(len) = std::num::NonZero::new(bytes.len()) {
                        bytes[(random >> 20) as usize % len] ^= 1 << (random >> 60 & 7);
                    }
                }
                files += 1;
            }
        }
    }
    assert!(files > 10, "{files} files");
}

fn check_quietly(name: &str, bytes: &[u8]) {
    let peak = peak(|| {
        let mut events = Reader::from_slice(bytes).events().unwrap();
        while events.next().unwrap().is_some() {}
        recover(bytes);
    });
    assert!(peak <= most(bytes.len()), "{name}: {} bytes take {peak}", bytes.len());
}

fn recover(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Reader::from_slice(bytes).recover(&mut out).unwrap();
    out
}
