//! The memory of reading by time, in a separate process that counts allocations.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use telemetry_decode::writer::{Compress, Lane, Writer};
use telemetry_decode::{Facts, Reader, Value};
use telemetry_format::{BlockType, HEADER_LEN, Header};

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

const RELATION: &str = r#"
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
    let registry = telemetry_schema::parse(RELATION).unwrap();
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

/// Reads by time. Returns the highest increase of allocated memory.
fn peak(reader: Reader) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut events = reader.events().unwrap();
    let mut count = 0;
    while events.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, u64::from(LANES) * EVENTS);
    assert!(events.completeness().missing() == 0);
    PEAK.load(Ordering::Relaxed) - before
}

/// The blocks have 80 MB decompressed. Each lane holds about 64 KiB, and all lanes together two
/// blocks for checking.
#[test]
fn compressed_blocks_are_not_held_whole() {
    let stream = stream();
    assert!(stream.len() < 1 << 20);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &stream).unwrap();
    let most = LANES as usize * (64 << 10) + 2 * 2_100_000;
    for (name, reader) in
        [("memory", Reader::from_slice(&stream)), ("a file", Reader::open(file.path()).unwrap())]
    {
        let peak = peak(reader);
        assert!(peak < most, "{peak} bytes held, reading from {name}, expected at most {most}");
    }
}
