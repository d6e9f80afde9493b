//! Damaged streams: damage costs only the blocks that it is in, and every byte is counted.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use proptest::prelude::*;
use telemetry_decode::completeness::Cause;
use telemetry_decode::{Completeness, Error, Order, Reader};
use telemetry_format::{BlockType, HeaderError};
use telemetry_schema::Registry;

use crate::made::{Made, Plan, Random, blocks, header, make};
use crate::read::{Read, Way, assert_same_lanes, by_lane, read};

const SMALL: &str = r#"
[registry]
name = "small"
version = { major = 1, median = 0, minor = 0 }
doc = "small"
[kinds]
Cell = { bit = 1, doc = "cells" }
[[event]]
name = "Made"
code = 1
kind = "Cell"
doc = "made"
params = [{ name = "at", sort = "addr", doc = "at" }, { name = "name", sort = "string", doc = "name", max = 9 }]
"#;

/// Returns a small registry.
pub(crate) fn registry() -> Registry {
    telemetry_schema::parse(SMALL).unwrap()
}

/// Makes a stream that is short enough to damage it in every place.
pub(crate) fn small(seed: u64) -> Made {
    make(&registry(), &Plan { seed, threads: 2, events: 14, block_size: 50, flush: 4, ..Plan::default() })
}

/// Returns the readable events of the whole blocks.
fn expected(made: &Made, kept: &[Range<usize>], way: Way) -> Vec<Read> {
    let lanes = by_lane(&made.events);
    let headers: Vec<_> = kept.iter().map(|block| header(&made.stream[block.clone()])).collect();
    let is_registry = |block_type| block_type == BlockType::Registry;
    let mut known = way.looks_ahead() && headers.iter().any(|header| is_registry(header.block_type));
    let (mut open, mut events) = (BTreeMap::new(), Vec::new());
    for header in headers {
        known |= is_registry(header.block_type);
        if header.block_type != BlockType::Events || !known {
            continue;
        }
        let lane = (header.session, header.thread, header.registry, header.kind);
        if header.offset > 0 && open.get(&lane) != Some(&(header.seq, header.offset)) {
            continue;
        }
        open.insert(lane, (header.seq, header.offset + header.payload_len));
        let range = header.before as usize..header.before as usize + header.events as usize;
        events.extend(lanes[&lane][range].iter().map(|event| (*event).clone()));
    }
    events
}

/// Reads a damaged stream. `kept` has the former ranges of its whole blocks.
fn check(made: &Made, broken: &[u8], kept: &[Range<usize>], ways: &[Way], context: &str) -> Completeness {
    let mut last = None;
    for &way in ways {
        let context = format!("{context}, {way:?}");
        let (events, completeness) = read(way, broken);
        assert_same_lanes(&events, &expected(made, kept, way), &context);
        assert_eq!(completeness.bytes.total(), broken.len() as u64, "{context}");
        let listed: u64 =
            completeness.damage.iter().map(|damage| damage.range.end - damage.range.start).sum();
        assert_eq!(completeness.bytes.damaged, listed, "{context}");
        last = Some(completeness);
    }
    last.expect("there is a way")
}

const QUICK: [Way; 2] = [Way::MemoryByTime, Way::PipeInStream];

#[test]
fn cut_at_every_byte() {
    let made = small(1);
    let blocks = blocks(&made.stream);
    for len in 0..made.stream.len() {
        let kept: Vec<_> = blocks.iter().filter(|block| block.end <= len).cloned().collect();
        let ways: &[Way] = if len % 101 == 0 { &Way::ALL } else { &QUICK };
        let completeness = check(&made, &made.stream[..len], &kept, ways, &format!("cut at {len}"));
        assert!(!completeness.is_complete(), "cut at {len}");
    }
}

#[test]
fn a_bit_flipped_in_every_byte() {
    let made = small(2);
    let blocks = blocks(&made.stream);
    let mut random = Random(2);
    for at in 0..made.stream.len() {
        let mut broken = made.stream.clone();
        broken[at] ^= 1 << random.below(8);
        let kept: Vec<_> = blocks.iter().filter(|block| !block.contains(&at)).cloned().collect();
        let ways: &[Way] = if at % 101 == 0 { &Way::ALL } else { &QUICK };
        let completeness = check(&made, &broken, &kept, ways, &format!("flipped at {at}"));
        assert_eq!(completeness.damaged_ranges, 1, "flipped at {at}");
        let block = blocks.iter().find(|block| block.contains(&at)).unwrap();
        assert_eq!(completeness.damage[0].range, block.start as u64..block.end as u64, "flipped at {at}");
    }
}

#[test]
fn cut_and_joined() {
    let (one, two) = (small(3), small(4));
    let (one_blocks, two_blocks) = (blocks(&one.stream), blocks(&two.stream));
    // Both streams have the same session id, so the second gets another one here.
    let mut other = two.stream.clone();
    for block in two_blocks {
        crate::made::edit(&mut other[block], |header| header.session = 99);
    }
    for len in (0..one.stream.len()).step_by(7) {
        let joined = [&one.stream[..len], &other].concat();
        let kept: Vec<_> = one_blocks.iter().filter(|block| block.end <= len).cloned().collect();
        for way in QUICK {
            let (events, completeness) = read(way, &joined);
            let (second, first): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| event.session == 99);
            let context = format!("joined at {len}, {way:?}");
            assert_eq!(second.len(), two.events.len(), "{context}");
            // The second stream repeats the registry.
            let mut expected = expected(&one, &kept, Way::PipeInStream);
            if way.looks_ahead() && expected.is_empty() {
                expected = first.clone();
            }
            assert_same_lanes(&first, &expected, &context);
            assert_eq!(completeness.bytes.total(), joined.len() as u64, "{context}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]
    /// Ranges are overwritten, inserted or removed: all other blocks are read.
    #[test]
    fn broken_in_many_places(
        seed in 0..50_u64,
        wounds in prop::collection::vec((any::<prop::sample::Index>(), 0..90_usize, 0..90_usize, any::<u64>()), 1..6),
    ) {
        let made = small(seed);
        let blocks = blocks(&made.stream);
        let mut broken = made.stream.clone();
        for (at, out, put, seed) in wounds {
            let at = at.index(broken.len());
            let end = (at + out).min(broken.len());
            let mut random = Random(seed);
            let put: Vec<u8> = (0..put).map(|_| if random.below(3) == 0 { 0x89 } else { random.bits() as u8 }).collect();
            broken.splice(at..end, put);
        }
        // No two blocks are equal.
        let is_whole = |block: &Range<usize>| {
            let block = &made.stream[block.clone()];
            broken.windows(block.len()).any(|window| window == block)
        };
        let kept: Vec<_> = blocks.into_iter().filter(is_whole).collect();
        check(&made, &broken, &kept, &QUICK, "");
    }
}

#[test]
fn no_stream_at_all() {
    for (broken, ranges) in [(&b""[..], 0), (b"x", 1), (b"\x89TEL\r\n\x1a\n", 1), (&[0x89; 1000], 1)] {
        for way in Way::ALL {
            let (events, completeness) = read(way, broken);
            assert_eq!((events.len(), completeness.damaged_ranges), (0, ranges), "{way:?}");
            assert_eq!(completeness.bytes.total(), broken.len() as u64);
            assert!(!completeness.is_complete());
        }
    }
}

/// The message for each kind of damage.
#[test]
fn causes() {
    let made = small(5);
    let blocks = blocks(&made.stream);
    let last = blocks.last().unwrap().clone();
    let flip = |at: usize| {
        let mut broken = made.stream.clone();
        broken[at] ^= 1;
        read(Way::PipeInStream, &broken).1.damage[0].cause.clone()
    };
    assert_eq!(flip(last.start), Cause::Header(HeaderError::Magic));
    assert_eq!(flip(last.start + 8), Cause::Header(HeaderError::Version(0)));
    assert!(matches!(flip(last.start + 20), Cause::Header(HeaderError::Checksum { .. })));
    assert!(matches!(flip(blocks[1].end - 1), Cause::Payload { .. }));
    let cut = read(Way::PipeInStream, &made.stream[..blocks[1].end - 5]).1;
    let expected = (blocks[1].end - blocks[1].start) as u64;
    assert_eq!(cut.damage[0].cause, Cause::Truncated { found: expected - 5, expected });
}

/// An input of which every other read fails, and the others return a few bytes.
struct Pausing<'a> {
    rest: &'a [u8],
    pauses: bool,
}

impl io::Read for Pausing<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.pauses = !self.pauses;
        if self.pauses {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let most = to.len().min(7);
        io::Read::read(&mut self.rest, &mut to[..most])
    }
}

/// A read that timed out may be repeated. Events and verdict are the same, also in a damaged
/// stream.
#[test]
fn reading_goes_on_after_an_error() {
    let whole = small(1).stream;
    let read = |reader: Reader<'static>| {
        let mut events = reader.order(Order::Stream).events().unwrap();
        let (mut found, mut failed) = (Vec::new(), 0);
        loop {
            match events.next_batch() {
                Ok(Some(batch)) => found.extend(batch.iter().map(|event| (event.ticks(), event.offset()))),
                Ok(None) => break,
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => failed += 1,
                Err(error) => panic!("{error}"),
            }
        }
        (found, format!("{:?}", events.completeness()), failed)
    };
    for stream in [whole.clone(), [&b"no block"[..], &whole[..whole.len() / 2], b"TelEm", &whole].concat()] {
        let stream: &'static [u8] = stream.leak();
        let (expected, verdict, failed) = read(Reader::from_reader(stream));
        assert!(!expected.is_empty() && failed == 0);
        let (found, same, failed) = read(Reader::from_reader(Pausing { rest: stream, pauses: false }));
        assert_eq!((found, same), (expected, verdict));
        assert!(failed > stream.len() / 7, "{failed} failed");
    }
}
