//! In time order, blocks are read in windows if they are in a file or compressed. Events may cross
//! the end of a window, may be longer than one, and may all be filtered.

use std::io::Write;

use telemetry_decode::completeness::Undecodable;
use telemetry_decode::writer::{Compress, Lane, Writer};
use telemetry_decode::{Facts, Filter, Order, RawStr, Reader, Value};
use telemetry_format::{BlockType, codec};

use crate::made::{Random, START, blocks, edit, header};
use crate::read::{Way, assert_same, read_filtered};

const REGISTRY: &str = r#"
    [registry]
    name = "long"
    version = { major = 1, median = 0, minor = 0 }
    doc = "d"
    [kinds]
    Cell = { bit = 0, doc = "d" }
    [[event]]
    name = "Made"
    code = 1
    kind = "Cell"
    doc = "d"
    params = [
      { name = "at", sort = "addr", doc = "d" },
      { name = "text", sort = "string", max = 16384, doc = "d" },
      { name = "size", sort = "word", doc = "d" },
    ]"#;

/// Three lanes with texts. One text in 40 has up to this length.
struct Texts {
    events: u64,
    longest: u64,
    block_size: usize,
}

impl Texts {
    fn stream(&self, compress: Compress) -> Vec<u8> {
        let mut random = Random(11);
        let registry = telemetry_schema::parse(REGISTRY).unwrap();
        let mut writer = Writer::new(Vec::new()).block_size(self.block_size).compress(compress).long_runs();
        writer.session(1, &Facts::default(), 0, START).unwrap();
        let registry = writer.registry(1, &registry).unwrap();
        for ticks in 0..self.events {
            let len = if random.below(40) == 0 { random.below(self.longest + 1) } else { random.below(90) };
            // Varied bytes: a window of compressed bytes must be shorter than a window of events.
            let text: String =
                (0..len).map(|_| char::from(b'a' + (random.bits() & random.bits()) as u8 % 16)).collect();
            let values =
                [Value::Addr(random.bits()), Value::String(RawStr::from(&*text)), Value::Word(ticks)];
            let lane = Lane { session: 1, thread: 1 + random.below(3) as u32, registry };
            writer.event(lane, 1, ticks, &values).unwrap();
        }
        writer.end(1, self.events).unwrap();
        writer.finish().unwrap()
    }
}

/// Reads texts by time, plain and compressed, from memory and files, with and without a filter.
#[track_caller]
fn check(texts: &Texts) {
    let [plain, compressed] = [Compress::Nothing, Compress::All].map(|compress| texts.stream(compress));
    let payloads = blocks(&compressed).into_iter().map(|block| header(&compressed[block]));
    let events = payloads.filter(|header| header.block_type == BlockType::Events);
    assert!(events.clone().count() >= 3 && events.clone().all(|header| header.codec == codec::DEFLATE));
    let late = Filter::default().from_ns(900).until_ns(950);
    for (filter, count) in [(Filter::default(), texts.events), (late, 50)] {
        let (expected, whole) = read_filtered(Way::MemoryByTime, &plain, filter.clone());
        assert_eq!(expected.len() as u64, count);
        assert!(whole.is_complete(), "{whole}");
        for (way, stream) in [
            (Way::FileByTime, &plain),
            (Way::MemoryByTime, &compressed),
            (Way::FileByTime, &compressed),
            (Way::PipeByTime, &compressed),
        ] {
            let (found, in_pieces) = read_filtered(way, stream, filter.clone());
            assert_same(&found, &expected, &format!("{way:?}"));
            assert_eq!(in_pieces.bytes.total(), stream.len() as u64, "{way:?}");
            assert_eq!(format!("{:#?}", in_pieces.lanes), format!("{:#?}", whole.lanes), "{way:?}");
            assert!(in_pieces.is_complete(), "{way:?}: {in_pieces}");
        }
    }
}

#[test]
fn blocks_are_read_in_pieces() {
    for (events, longest, block_size) in [
        // Shorter than a window; short enough to stay whole where compressed; longer.
        (1_000, 300, 8 << 10),
        (1_000, 16_384, 64 << 10),
        (1_500, 16_384, 90_000),
        // Many windows, and events of many windows.
        (6_000, 300, 16 << 20),
        (1_000, 60_000, 16 << 20),
    ] {
        check(&Texts { events, longest, block_size });
    }
}

/// Makes lanes with a compressed block, which has a short event and then one of almost 16 MiB. The
/// last event of a separate lane is as long, and comes later.
fn long_events(lanes: u32) -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let mut writer = Writer::new(Vec::new()).block_size(16 << 20).compress(Compress::All).long_runs();
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let registry = writer.registry(1, &registry).unwrap();
    let long = "y".repeat((16 << 20) - 100);
    let mut event = |thread: u32, ticks: u64, text: &str| {
        let values = [Value::Addr(0), Value::String(RawStr::from(text)), Value::Word(0)];
        writer.event(Lane { session: 1, thread, registry }, 1, ticks, &values).unwrap();
    };
    event(1, 1, "");
    event(1, 10, &long);
    event(9, 11, "");
    event(9, 20, &long);
    let stream = writer.finish().unwrap();
    let mut all = Vec::new();
    for range in blocks(&stream) {
        let mut block = stream[range].to_vec();
        all.extend_from_slice(&block);
        if header(&block).block_type == BlockType::Events && header(&block).thread == 1 {
            for thread in 2..=lanes {
                edit(&mut block, |header| header.thread = thread);
                all.extend_from_slice(&block);
            }
        }
    }
    all
}

/// Reads long events. Returns their number, and the parts that could not be decoded.
fn read_long(reader: Reader, order: Order) -> (u64, Vec<Undecodable>) {
    let mut events = reader.order(order).events().unwrap();
    let mut count = 0;
    while let Some(event) = events.next().unwrap() {
        count += u64::from(event.values().count() == 3);
    }
    let completeness = events.completeness();
    assert_eq!(completeness.events, count);
    assert_eq!(completeness.undecodable_parts, completeness.undecodable.len() as u64);
    let unread: u64 = completeness.undecodable.iter().map(|part| u64::from(part.events)).sum();
    assert_eq!(completeness.missing(), unread);
    (count, completeness.undecodable)
}

/// Events of many lanes at the same time, almost as long as a block may be. All are read, one at a
/// time.
#[test]
fn long_events_of_many_lanes() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for lanes in [4, 6] {
        let stream = long_events(lanes);
        file.as_file().set_len(0).unwrap();
        std::fs::write(file.path(), &stream).unwrap();
        let all = 2 * u64::from(lanes) + 2;
        for by_time in [Reader::from_slice(&stream), Reader::open(file.path()).unwrap()] {
            assert_eq!(read_long(by_time, Order::Time), (all, Vec::new()));
        }
        assert_eq!(read_long(Reader::from_slice(&stream), Order::Stream), (all, Vec::new()));
    }
}

/// A file is replaced while its blocks are read. Unread events are reported, and decompressed ones
/// are still read.
#[test]
fn a_file_that_changes() {
    let texts = Texts { events: 8_000, longest: 90, block_size: 16 << 20 };
    let cut = |_: &mut [u8]| 0;
    let overwrite = |bytes: &mut [u8]| {
        bytes.fill(0xff);
        bytes.len()
    };
    type Change = fn(&mut [u8]) -> usize;
    let cases: [(Compress, Change); 4] = [
        (Compress::All, cut),
        (Compress::All, overwrite),
        (Compress::Nothing, cut),
        (Compress::Nothing, overwrite),
    ];
    for (compress, change) in cases {
        let stream = texts.stream(compress);
        let parts = if compress == Compress::All { 0 } else { 3 };
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&stream).unwrap();
        let mut events = Reader::open(file.path()).unwrap().events().unwrap();
        for _ in 0..100 {
            assert!(events.next().unwrap().is_some());
        }
        let mut changed = stream.clone();
        let len = change(&mut changed);
        file.as_file().set_len(0).unwrap();
        std::fs::write(file.path(), &changed[..len]).unwrap();
        let mut count = 100;
        while events.next().unwrap().is_some() {
            count += 1;
        }
        let completeness = events.completeness();
        let unread: u64 = completeness.undecodable.iter().map(|part| u64::from(part.events)).sum();
        assert_eq!((completeness.undecodable_parts, count + unread), (parts, texts.events));
        assert_eq!(unread > texts.events / 2, parts > 0, "{completeness}");
    }
}
