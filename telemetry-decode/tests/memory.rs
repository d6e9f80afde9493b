//! The memory of reading, in a separate process that counts allocations.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use telemetry_decode::completeness::Reason;
use telemetry_decode::writer::{Compress, Lane, Writer};
use telemetry_decode::{Facts, Order, Reader, Value};
use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, flags};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator, and its results are returned unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises that the system's allocator needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

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

const LANES: u32 = 40;
const EVENTS: u64 = 1_000;

/// Makes lanes whose events alternate, each with one compressed block of 2 MB.
fn stream() -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let mut writer = Writer::new(Vec::new()).block_size(16 << 20).compress(Compress::All);
    writer.session(1, &Facts::default(), 0, 0).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    for ticks in 0..EVENTS {
        writer.event(lane, 1, ticks, &[Value::Bytes(&[0; 2_000])]).unwrap();
    }
    let mut stream = writer.finish().unwrap();
    let mut at = 0;
    while at < stream.len() {
        let header = Header::decode(&stream[at..], crc32c::crc32c).unwrap();
        let end = at + header.block_len() as usize;
        if header.block_type == BlockType::Events {
            let payload = stream[at + HEADER_LEN..end].to_vec();
            for thread in 2..=LANES {
                let header = Header { thread, ..header.clone() };
                stream.extend_from_slice(&header.encode(crc32c::crc32c));
                stream.extend_from_slice(&payload);
            }
            return stream;
        }
        at = end;
    }
    panic!("no events in the stream");
}

/// Lets one test run at a time: memory of other tests would be counted too.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a stream, and checks its completeness. Returns the highest increase of allocated memory.
fn peak(reader: Reader, events: u64, missing: u64) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut found = reader.events().unwrap();
    let mut count = 0;
    while found.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, events);
    assert_eq!(found.completeness().missing(), missing);
    PEAK.load(Ordering::Relaxed) - before
}

/// The blocks have 80 MB decompressed. Each lane holds about 64 KiB, and all lanes together two
/// blocks for checking.
#[test]
fn compressed_blocks_are_not_held_whole() {
    let _alone = alone();
    let stream = stream();
    assert!(stream.len() < 1 << 20);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &stream).unwrap();
    let most = LANES as usize * (64 << 10) + 2 * 2_100_000;
    for (name, reader) in
        [("memory", Reader::from_slice(&stream)), ("a file", Reader::open(file.path()).unwrap())]
    {
        let peak = peak(reader, u64::from(LANES) * EVENTS, 0);
        assert!(peak < most, "{peak} bytes held, reading from {name}, expected at most {most}");
    }
}

/// Makes a block of one lane without events.
fn empty_block(number: u32) -> [u8; HEADER_LEN] {
    let (ticks, flags) = (u64::from(number), flags::LAST);
    let times = Header { base_ticks: ticks, end_ticks: ticks, ..Header::new(BlockType::Events, 1) };
    Header { flags, thread: 1, seq: number, ..times }.encode(crc32c::crc32c)
}

/// A list of more blocks than fit into its memory is in a file.
#[test]
fn a_long_list_of_blocks_takes_no_more_memory() {
    const BLOCKS: u32 = 300_000;
    let _alone = alone();
    let stream: Vec<u8> = (0..BLOCKS).flat_map(empty_block).collect();
    let peak = peak(Reader::from_slice(&stream), 0, 0);
    assert!(peak < 24 << 20, "{peak} bytes held");
}

/// Gaps and losses are listed up to a number. What is behind further gaps is left out, and said.
#[test]
fn gaps_without_end() {
    const BLOCKS: u64 = 160_000;
    let _alone = alone();
    let block = |number: u64| {
        let header = Header {
            flags: flags::LAST,
            thread: 1,
            seq: number as u32,
            before: number * 4,
            base_ticks: number,
            end_ticks: number,
            lost: Loss { pool: number, ..Loss::default() },
            events: 1,
            ..Header::new(BlockType::Events, 1)
        };
        header.encode(crc32c::crc32c)
    };
    let stream: Vec<u8> = (0..BLOCKS).flat_map(block).collect();
    let mut found = Reader::from_slice(&stream).events().unwrap();
    assert!(found.next().unwrap().is_none());
    let found = found.completeness();
    let left_out = found.undecodable.iter().filter(|part| part.reason == Reason::TooManyGaps).count();
    assert!(left_out > 0 && !found.is_whole(), "{found}");
    assert_eq!(found.bytes.total(), stream.len() as u64);
    assert_eq!(found.lost().pool, BLOCKS - 1);
    assert_eq!(found.missing(), (BLOCKS - 1) * 4 + 1);
}

/// A block costs an entry in the list of blocks. If it has a gap or a loss before it, it costs an
/// entry in the lists of these too. Each block takes the length of a header from the input.
#[test]
fn lists_of_blocks_and_gaps_are_in_proportion_to_the_input() {
    const BLOCKS: u64 = 40_000;
    let _alone = alone();
    for (what, gap, times) in [("blocks", 0, 2), ("blocks with gaps and losses", 3, 5)] {
        let block = |number: u64| {
            let header = Header {
                flags: flags::LAST,
                thread: 1,
                seq: number as u32,
                before: number * (1 + gap),
                base_ticks: number * 10,
                end_ticks: number * 10 + 5,
                lost: Loss { pool: number * gap, ..Loss::default() },
                events: 1,
                ..Header::new(BlockType::Events, 1)
            };
            header.encode(crc32c::crc32c)
        };
        let stream: Vec<u8> = (0..BLOCKS).flat_map(block).collect();
        for order in [Order::Stream, Order::Time] {
            let missing = (BLOCKS - 1) * (1 + gap) + 1;
            let peak = peak(Reader::from_slice(&stream).order(order), 0, missing);
            let most = (1 << 20) + times * stream.len();
            assert!(peak < most, "{what}: {peak} bytes held, expected at most {most}");
        }
    }
}
