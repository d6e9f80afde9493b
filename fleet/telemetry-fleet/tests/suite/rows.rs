//! The events of streams, to compare.

use std::ops::Range;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::{Order, Reader};
use telemetry_format::{BlockType, flags};

/// An event: session, thread, kind, position in its lane, and its text.
pub(crate) type Row = (u64, u32, u8, u64, String);

/// Reads all events, in stream order. Every block must be whole and decodable.
pub(crate) fn rows(stream: &[u8]) -> Vec<Row> {
    let mut events = Reader::from_slice(stream).order(Order::Stream).show_sensitive(true).events().unwrap();
    let mut rows = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let values: Vec<_> =
            event.params().map(|param| format!("{}={}", param.schema.name, param.value)).collect();
        let text = format!("{} {} {}", event.time_ns(), event.name(), values.join(" "));
        let position = event.position().expect("a position in its lane");
        rows.push((event.session().id, event.thread(), event.kind().bit, position, text));
    }
    let completeness = events.completeness();
    assert!(completeness.damage.is_empty() && completeness.undecodable.is_empty(), "{completeness}");
    rows
}

/// A lane: session, thread, kind.
pub(crate) type Lane = (u64, u32, u8);

/// The intervals that shippers shed.
pub(crate) fn shed_of(stream: &[u8]) -> Vec<(Lane, Range<u64>)> {
    let (mut blocks, mut found, mut begin) = (Blocks::from_slice(stream), Vec::new(), 0);
    while let Some(piece) = blocks.next().unwrap() {
        let Piece::Block(block) = piece else { panic!("damage") };
        let header = block.header;
        if header.block_type == BlockType::Events && header.flags & flags::SHED != 0 {
            found.push(((header.session, header.thread, header.kind), begin..header.before));
        }
        begin = header.before;
    }
    found
}
