//! Blocks of text that are longer than a datagram: written in parts, and read whole.

use telemetry_format::{BlockType, flags};

use crate::made::{Plan, blocks, edit, header, make, registry, shuffle};
use crate::read::{Way, assert_same_lanes, read};

/// Splits the blocks of text of a stream into parts of at most `max` bytes.
fn in_parts(stream: &[u8], max: usize) -> Vec<u8> {
    let mut parts = Vec::new();
    for range in blocks(stream) {
        let block = &stream[range];
        let whole = header(block);
        if matches!(whole.block_type, BlockType::Events | BlockType::Sync) {
            parts.extend_from_slice(block);
            continue;
        }
        let (head, payload) = block.split_at(whole.header_len.into());
        for (number, bytes) in payload.chunks(max).enumerate() {
            let offset = number * max;
            let start = parts.len();
            parts.extend_from_slice(head);
            parts.extend_from_slice(bytes);
            edit(&mut parts[start..], |header| {
                (header.payload_len, header.unpacked_len) = (bytes.len() as u32, bytes.len() as u32);
                header.offset = offset as u32;
                header.flags = if offset + bytes.len() == payload.len() { flags::LAST } else { 0 };
            });
        }
    }
    parts
}

fn parts_of_registry(stream: &[u8]) -> Vec<std::ops::Range<usize>> {
    let all = blocks(stream).into_iter();
    all.filter(|block| header(&stream[block.clone()]).block_type == BlockType::Registry).collect()
}

#[test]
fn parts_are_put_together() {
    let made = make(&registry(), &Plan { sessions: 2, ..Plan::default() });
    for max in [1, 100, 1_000, 1 << 20] {
        let parts = in_parts(&made.stream, max);
        for way in Way::ALL {
            let (events, completeness) = read(way, &parts);
            assert_same_lanes(&events, &made.events, &format!("{max}, {way:?}"));
            assert!(completeness.is_complete(), "{max}, {way:?}: {completeness}");
        }
        // If the whole stream is scanned first, their order does not matter.
        let (events, completeness) = read(Way::FileByTime, &shuffle(&parts, 3));
        assert_same_lanes(&events, &made.events, &format!("{max}, shuffled"));
        assert!(completeness.is_complete(), "{max}, shuffled: {completeness}");
    }
}

/// A damaged part costs its copy of the text. The part may come from another copy, which is split
/// differently.
#[test]
fn a_missing_part_comes_from_another_copy() {
    let made = make(&registry(), &Plan::default());
    let mut stream = in_parts(&made.stream, 500);
    let registry = parts_of_registry(&stream);
    assert!(registry.len() > 3);
    stream[registry[1].start + 150] ^= 1;
    stream[registry[2].start + 150] ^= 1;
    for way in Way::ALL {
        let (events, completeness) = read(way, &stream);
        assert_eq!((events.len(), completeness.damaged_ranges), (0, 2), "{way:?}");
        let at = registry[0].start as u64;
        let expected = (at, "registry block: parts of its text are missing".to_string());
        assert_eq!(completeness.unreadable, [expected], "{way:?}");
    }
    let other = in_parts(&made.stream, 700);
    let copy: Vec<u8> =
        parts_of_registry(&other).iter().flat_map(|part| other[part.clone()].to_vec()).collect();
    stream.splice(registry[0].start..registry[0].start, copy);
    for way in Way::ALL {
        let (events, completeness) = read(way, &stream);
        assert_same_lanes(&events, &made.events, &format!("{way:?}"));
        assert_eq!((completeness.damaged_ranges, completeness.unreadable.len()), (2, 0), "{way:?}");
    }
}

/// The beginning of a registry's text may be a valid registry, but is not taken for it.
#[test]
fn a_beginning_is_no_registry() {
    let made = make(&registry(), &Plan::default());
    let stream = in_parts(&made.stream, 1 << 20);
    let block = parts_of_registry(&stream).remove(0);
    let text = &stream[block.start + 144..block.end];
    let last_event = text.windows(9).rposition(|bytes| bytes == b"[[event]]").unwrap();
    let parts = in_parts(&made.stream, last_event);
    let registry = parts_of_registry(&parts);
    assert_eq!(registry.len(), 2);
    for is_last in [false, true] {
        let mut cut = parts.clone();
        let change = if is_last { flags::LAST } else { 0 };
        edit(&mut cut[registry[0].clone()], |header| header.flags = change);
        cut.drain(registry[1].clone());
        for way in Way::ALL {
            let (events, completeness) = read(way, &cut);
            assert_eq!(events.len(), 0, "{way:?}");
            let (at, why) = &completeness.unreadable[0];
            assert_eq!(*at, registry[0].start as u64);
            assert!(why.starts_with("registry block: a text of fingerprint "), "{why}");
        }
    }
}

/// Parts of many incomplete texts take limited memory and time.
#[test]
fn texts_that_never_become_whole() {
    let made = make(&registry(), &Plan { events: 3, ..Plan::default() });
    let part = |registry: u64, offset: u32, last: bool, bytes: &[u8]| {
        let template = parts_of_registry(&made.stream).remove(0);
        let mut block = made.stream[template.start..template.start + 144].to_vec();
        block.extend_from_slice(bytes);
        let (len, last) = (bytes.len() as u32, if last { flags::LAST } else { 0 });
        edit(&mut block, |header| {
            (header.payload_len, header.unpacked_len) = (len, len);
            (header.registry, header.offset, header.flags) = (registry, offset, last);
        });
        block
    };
    let mut stream = part(7, 1 << 23, true, b"the end");
    for n in 0..40_000 {
        stream.extend(part(7, n * 2, false, b"abc"));
    }
    let large = vec![b'#'; 1 << 20];
    for n in 0..100 {
        stream.extend(part(100 + n, 5, false, &large));
    }
    stream.extend(part(9, u32::MAX - 3, true, b"far beyond the end"));
    stream.extend_from_slice(&made.stream);
    let (events, completeness) = read(Way::MemoryByTime, &stream);
    assert_eq!(events.len(), made.events.len());
    assert!(!completeness.is_complete());
}
