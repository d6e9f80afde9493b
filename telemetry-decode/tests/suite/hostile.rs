//! Streams that no correct writer makes: every reader finishes, in limited time and memory, and
//! reports the errors.

use std::time::Duration;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::completeness::Reason;
use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, MAX_PAYLOAD, codec, flags, put};
use telemetry_testing::processor_time::takes_at_most;

use crate::made::{Plan, Random, blocks, edit, header, make, registry};
use crate::read::{Way, read};

fn block(change: impl FnOnce(&mut Header), payload: &[u8]) -> Vec<u8> {
    let mut header = Header::new(BlockType::Events, 1);
    header.payload_len = payload.len() as u32;
    header.payload_crc = crc32c::crc32c(payload);
    change(&mut header);
    [&header.encode(crc32c::crc32c)[..], payload].concat()
}

/// Makes a stream with one events block of the test registry's kind `Space`.
fn with_block(change: impl FnOnce(&mut Header), payload: &[u8]) -> Vec<u8> {
    let made = make(&registry(), &Plan { events: 0, ..Plan::default() });
    let registry = registry().fingerprint();
    let ours = |header: &mut Header| {
        (header.registry, header.thread, header.events, header.flags) = (registry, 1, 1, flags::LAST);
        change(header);
    };
    [made.stream, block(ours, payload)].concat()
}

/// Reads in every way, and returns the reason why an events block could not be decoded.
fn reason(stream: &[u8]) -> (u64, u32, Reason) {
    let mut reasons = Vec::new();
    for way in Way::ALL {
        let (events, completeness) = read(way, stream);
        assert_eq!(completeness.bytes.total(), stream.len() as u64);
        assert_eq!(completeness.undecodable_parts, 1, "{way:?}");
        assert!(!completeness.is_complete());
        let part = &completeness.undecodable[0];
        reasons.push((events.len() as u64, part.events, part.reason));
    }
    assert!(reasons.iter().all(|reason| *reason == reasons[0]), "{reasons:?}");
    reasons[0]
}

#[test]
fn reasons() {
    let nothing = [0x03, 0x01];
    assert_eq!(put::unsigned(&mut Vec::new(), 1).as_slice(), [0x03]);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("no registry", with_block(|header| header.registry = 5, &nothing)),
        ("no kind", with_block(|header| header.kind = 1, &nothing)),
        ("kind beyond 63", with_block(|header| header.kind = 200, &nothing)),
        ("codec", with_block(|header| header.codec = 3, &nothing)),
        ("compressed, no deflate", with_block(deflated(2), &nothing)),
        ("compressed, cut", with_block(deflated(2), &[0x63, 0x66])),
        ("compressed, promises less", with_block(deflated(1), &[0x63, 0x66, 0x04, 0x00])),
        ("compressed, promises more", with_block(deflated(3), &[0x63, 0x66, 0x04, 0x00])),
        ("compressed, promises far more", with_block(deflated(u32::MAX), &[0x63, 0x66, 0x04, 0x00])),
        ("compressed, and more", with_block(deflated(2), &[0x63, 0x66, 0x04, 0x00, 0])),
        ("no predecessor", with_block(|header| header.offset = 7, &nothing)),
        ("unknown event", with_block(|header| header.events = 3, &[3, 1, 0x0f, 1, 3, 1])),
        ("event of another kind", with_block(|_| {}, &[0x02, 0x04, 1, 1, 1])),
        ("huge event code", with_block(|_| {}, &[0, 255, 255, 255, 255, 255, 255, 255, 255, 1])),
        ("fewer events", with_block(|header| header.events = 9, &nothing)),
        ("more bytes", with_block(|_| {}, &[3, 1, 3, 1])),
        ("cut event", with_block(|_| {}, &[5, 1, 7])),
        ("bool of 2", with_block(|_| {}, &numbers(2))),
        ("no bytes", with_block(|header| header.events = u32::MAX, &[])),
    ];
    let text: String = cases
        .iter()
        .map(|(name, stream)| {
            let (read, events, reason) = reason(stream);
            format!("{name}: {read} read, {events} not: {reason}\n")
        })
        .collect();
    insta::assert_snapshot!(text);
}

/// Returns a change to the header of a block: its payload is compressed, with this decompressed
/// length.
fn deflated(unpacked_len: u32) -> impl Fn(&mut Header) {
    move |header| (header.codec, header.unpacked_len) = (codec::DEFLATE, unpacked_len)
}

#[test]
fn a_payload_that_is_compressed_by_hand_is_one() {
    let stream = with_block(deflated(2), &[0x63, 0x66, 0x04, 0x00]);
    let (events, completeness) = read(Way::PipeInStream, &stream);
    assert_eq!((events.len(), completeness.undecodable_parts), (1, 0), "{completeness:?}");
}

/// Encodes an event `Numbers` with this byte for its bool.
fn numbers(boolean: u8) -> Vec<u8> {
    let mut payload = vec![5, 1, 0, 1, 1, 1, 0, 1, 1, 1];
    payload.extend([0; 12]);
    payload.extend([boolean, 1]);
    payload
}

#[test]
fn the_hand_made_event_is_one() {
    let (events, completeness) = read(Way::PipeInStream, &with_block(|_| {}, &numbers(1)));
    assert_eq!((events.len(), completeness.undecodable_parts), (1, 0), "{completeness:?}");
}

#[test]
fn unknown_block_types_are_counted() {
    let mut stream = make(&registry(), &Plan::default()).stream;
    let events = read(Way::PipeInStream, &stream).0.len();
    for code in [0, 77, 77, 255] {
        stream.splice(0..0, block(|header| header.block_type = BlockType::Unknown(code), b"what is this"));
    }
    for way in Way::ALL {
        let (read, completeness) = read(way, &stream);
        assert_eq!(read.len(), events);
        assert_eq!(completeness.unknown_blocks.into_iter().collect::<Vec<_>>(), [(0, 1), (77, 2), (255, 1)]);
        assert_eq!(completeness.bytes.unknown, 4 * (HEADER_LEN as u64 + 12));
    }
}

/// Headers of a later version are longer. Their new fields are skipped.
#[test]
fn longer_headers() {
    let made = make(&registry(), &Plan::default());
    let mut longer = Vec::new();
    for range in blocks(&made.stream) {
        let old = &made.stream[range];
        let head = Header { header_len: 200, ..header(old) };
        longer.extend_from_slice(&head.encode(crc32c::crc32c));
        longer.extend_from_slice(&[0xee; 56]);
        longer.extend_from_slice(&old[HEADER_LEN..]);
    }
    for way in Way::ALL {
        let (events, completeness) = read(way, &longer);
        assert_eq!(events.len(), made.events.len(), "{way:?}");
        assert!(completeness.is_complete(), "{way:?}");
    }
}

/// Headers with an impossible version, length, count or clock.
#[test]
fn impossible_headers() {
    let made = make(&registry(), &Plan { lose: 5, ..Plan::default() });
    let mut random = Random(3);
    for _ in 0..300 {
        let mut stream = made.stream.clone();
        for range in blocks(&made.stream) {
            if random.below(4) > 0 {
                continue;
            }
            let extreme = [0, 1, u64::MAX, 1 << 63, random.bits()][random.below(5) as usize];
            let which = random.below(15);
            edit(&mut stream[range], |header| match which {
                0 => header.block_type = BlockType::from_code(extreme as u8),
                1 => header.kind = extreme as u8,
                2 => header.flags = extreme as u8,
                3 => header.events = extreme as u32,
                4 => header.session = extreme,
                5 => header.thread = extreme as u32,
                6 => header.seq = extreme as u32,
                7 => header.offset = extreme as u32,
                8 => header.unpacked_len = extreme as u32,
                9 => header.base_ticks = extreme,
                10 => header.base_wall = extreme,
                11 => header.end_ticks = extreme,
                12 => header.before = extreme,
                13 => header.excluded = extreme,
                _ => {
                    header.lost =
                        Loss { pool: extreme, reentrant: extreme, sink: extreme, truncated: extreme }
                }
            });
        }
        for way in [Way::MemoryByTime, Way::MemoryInStream, Way::PipeInStream] {
            let (_, completeness) = read(way, &stream);
            assert_eq!(completeness.bytes.total(), stream.len() as u64);
            let _ = completeness.to_string();
        }
    }
}

/// The header has a length of 4 GB and a correct checksum. No memory is allocated for it.
#[test]
fn a_length_of_four_gigabytes() {
    let made = make(&registry(), &Plan::default());
    for len in [u32::MAX, MAX_PAYLOAD + 1, MAX_PAYLOAD] {
        let stream = [block(|header| header.payload_len = len, b"short"), made.stream.clone()].concat();
        for way in Way::ALL {
            let (events, completeness) = read(way, &stream);
            assert_eq!(events.len(), made.events.len(), "{way:?}");
            assert_eq!((completeness.damaged_ranges, completeness.bytes.damaged), (1, HEADER_LEN as u64 + 5));
        }
    }
}

/// Headers are nested in payloads, each with a long length, and many bytes that are not a block
/// follow. The work stays in proportion to the input.
#[test]
fn nested_headers_take_no_time() {
    let check = |stream: &[u8], way: Way| {
        let limit = Duration::from_secs(20);
        let (events, completeness) = takes_at_most(limit, &format!("{way:?}"), || read(way, stream));
        assert_eq!((events.len(), completeness.bytes.damaged), (0, stream.len() as u64));
    };
    let len = 1 << 20;
    let one = block(|header| (header.payload_len, header.payload_crc) = (len, 7), b"");
    let nested = one.repeat(3 * len as usize / one.len());
    let one = block(|header| (header.payload_len, header.payload_crc) = (300_000, 7), b"");
    let before_noise = [one.repeat(700), vec![0; 4 << 20]].concat();
    for way in [Way::PipeInStream, Way::MemoryByTime, Way::FileByTime] {
        check(&nested, way);
        check(&before_noise, way);
    }
}

/// Blocks without the blocks that they refer to.
#[test]
fn pieces() {
    let made = make(&registry(), &Plan::default());
    let stream = [b"noise", &made.stream[..], b"\x89TEL\r\n\x1a\n"].concat();
    let (mut whole, mut damaged, mut end) = (0, 0, 0);
    let mut pieces = Blocks::from_slice(&stream);
    while let Some(piece) = pieces.next().unwrap() {
        let range = match piece {
            Piece::Block(block) => {
                whole += 1;
                assert_eq!(crc32c::crc32c(block.payload), block.header.payload_crc);
                block.at..block.at + block.header.block_len()
            }
            Piece::Damage(damage, header) => {
                damaged += 1;
                assert!(header.is_none());
                damage.range
            }
        };
        assert_eq!(range.start, end);
        end = range.end;
    }
    assert_eq!((whole, damaged, end), (blocks(&made.stream).len(), 2, stream.len() as u64));
}
