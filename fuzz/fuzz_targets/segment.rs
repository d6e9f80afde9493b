//! Cuts arbitrary bytes as a stream into segments. Each is what its name says, can be cut again,
//! and can be shed. Together they have no damage.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::{Completeness, Order, Reader};
use telemetry_format::{Header, MAX_PAYLOAD, codec};
use telemetry_fuzz::stream;

#[path = "../../fleet/telemetry-fleet/src/segment/mod.rs"]
#[expect(dead_code, unused_imports, reason = "this needs a part of it")]
mod segment;

use segment::{Cutter, Host, Inspector, Segment, SegmentName};

fuzz_target!(|data: &[u8]| {
    let Some((mode, bytes)) = stream(data) else { return };
    // A shipper does not look into payloads. A collector refuses those that nothing can decompress.
    let may_be_refused =
        headers(&bytes).any(|header| header.codec != codec::NONE || header.unpacked_len > MAX_PAYLOAD);
    let dir = tempfile::tempdir_in(memory()).unwrap();
    let max_len = 1 << (4 + u32::from(mode >> 1 & 15));
    let sends_sensitive = mode & 32 != 0;
    let segments = cut(dir.path(), &bytes, max_len, sends_sensitive);
    let mut all = Vec::new();
    for Segment { name, path, .. } in &segments {
        let segment = std::fs::read(path).unwrap();
        assert_eq!(name.to_string().parse(), Ok(name.clone()));
        let inspected = inspect(name, &segment);
        assert!(may_be_refused || inspected.is_ok(), "{inspected:?}");
        let again = tempfile::tempdir_in(memory()).unwrap();
        assert!(!cut(again.path(), &segment, u64::MAX, sends_sensitive).is_empty());
        if let Some((left, events)) = segment::shed(path, &host(), again.path()).unwrap() {
            assert!(events > 0);
            let shed = std::fs::read(&left.path).unwrap();
            let inspected = inspect(&left.name, &shed);
            assert!(may_be_refused || inspected.is_ok(), "{inspected:?}");
        }
        all.extend(segment);
    }
    let completeness = read(&all);
    assert!(may_be_refused || completeness.damage.is_empty(), "{completeness}");
});

fn inspect(name: &SegmentName, segment: &[u8]) -> Result<(), String> {
    let mut inspector = Inspector::new(name, u64::MAX);
    inspector.push(segment).and_then(|()| inspector.finish())
}

fn headers(stream: &[u8]) -> impl Iterator<Item = Header> {
    let mut blocks = Blocks::from_slice(stream);
    let next = move || loop {
        match blocks.next().unwrap()? {
            Piece::Block(block) => return Some(block.header),
            Piece::Damage(..) => {}
        }
    };
    std::iter::from_fn(next)
}

fn host() -> Host {
    "h7".parse().unwrap()
}

/// A folder that is no disk.
fn memory() -> &'static Path {
    Path::new("/dev/shm")
}

fn cut(dir: &Path, bytes: &[u8], max_len: u64, sends_sensitive: bool) -> Vec<Segment> {
    let mut cutter = Cutter::new(dir, host(), max_len).send_sensitive(sends_sensitive);
    let (mut blocks, mut segments) = (Blocks::from_slice(bytes), Vec::new());
    while let Some(piece) = blocks.next().unwrap() {
        if let Piece::Block(block) = piece {
            segments.extend(cutter.push(&block).unwrap());
        }
    }
    segments.extend(cutter.finish().unwrap());
    segments
}

fn read(stream: &[u8]) -> Completeness {
    let mut events = Reader::from_slice(stream).order(Order::Stream).events().unwrap();
    while events.next().unwrap().is_some() {}
    events.completeness()
}
