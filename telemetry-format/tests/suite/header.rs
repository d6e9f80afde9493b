//! Headers are decoded as they were encoded, and other bytes are not headers.

use proptest::prelude::*;
use telemetry_format::{
    BlockType, FORMAT_VERSION, HEADER_LEN, Header, HeaderError, Loss, MAGIC, MAX_PAYLOAD, state,
};

fn headers() -> impl Strategy<Value = Header> {
    let small = (any::<u8>(), HEADER_LEN as u16.., any::<[u8; 3]>(), 0..=MAX_PAYLOAD);
    (small, any::<[u32; 6]>(), any::<[u64; 7]>(), any::<[u64; 4]>()).prop_map(
        |(small, halves, words, lost)| {
            let (block_type, header_len, [kind, flags, codec], payload_len) = small;
            let [events, thread, seq, offset, unpacked_len, payload_crc] = halves;
            let [session, registry, base_ticks, base_wall, end_ticks, before, excluded] = words;
            let [pool, reentrant, sink, truncated] = lost;
            Header {
                block_type: BlockType::from_code(block_type),
                header_len,
                kind,
                flags,
                codec,
                payload_len,
                events,
                session,
                registry,
                thread,
                seq,
                offset,
                unpacked_len,
                base_ticks,
                base_wall,
                end_ticks,
                before,
                lost: Loss { pool, reentrant, sink, truncated },
                excluded,
                payload_crc,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn round_trip(header in headers(), behind in prop::collection::vec(any::<u8>(), 0..9)) {
        let bytes = [&header.encode(crc32c::crc32c)[..], &behind].concat();
        assert_eq!(Header::decode(&bytes, crc32c::crc32c), Ok(header.clone()));
        assert_eq!(header.block_len(), u64::from(header.header_len) + u64::from(header.payload_len));
        let word = u64::from_le_bytes(bytes[state::OFFSET..state::OFFSET + 8].try_into().unwrap());
        assert_eq!(state::unpack(word), (header.payload_len, header.events));
        assert_eq!(state::pack(header.payload_len, header.events), word);
    }

    #[test]
    fn every_flipped_bit_is_refused(header in headers()) {
        let bytes = header.encode(crc32c::crc32c);
        for bit in 0..8 * HEADER_LEN {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = Header::decode(&flipped, crc32c::crc32c).expect_err("a bit is flipped");
            match bit / 8 {
                0..8 => assert_eq!(error, HeaderError::Magic, "bit {bit}"),
                8 => assert_eq!(error, HeaderError::Version(flipped[8]), "bit {bit}"),
                _ => assert!(matches!(error, HeaderError::Checksum { .. }), "bit {bit}: {error}"),
            }
        }
    }

    #[test]
    fn every_truncation_is_refused(header in headers()) {
        let bytes = header.encode(crc32c::crc32c);
        for len in 0..HEADER_LEN {
            assert_eq!(Header::decode(&bytes[..len], crc32c::crc32c), Err(HeaderError::Truncated), "{len} bytes");
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let expected =
            if bytes.len() < 8 && MAGIC.starts_with(&bytes) { HeaderError::Truncated } else { HeaderError::Magic };
        assert_eq!(Header::decode(&bytes, crc32c::crc32c), Err(expected));
    }
}

/// Encodes a header, changes a few bytes, and sets a checksum that fits.
fn with(at: usize, bytes: &[u8]) -> Result<Header, HeaderError> {
    let mut all = Header::new(BlockType::Events, 1).encode(crc32c::crc32c);
    all[at..at + bytes.len()].copy_from_slice(bytes);
    let crc = crc32c::crc32c(&all[..140]);
    all[140..].copy_from_slice(&crc.to_le_bytes());
    Header::decode(&all, crc32c::crc32c)
}

#[test]
fn lengths_that_cannot_be() {
    assert_eq!(with(10, &143_u16.to_le_bytes()), Err(HeaderError::HeaderLen(143)));
    assert_eq!(with(10, &[0, 0]), Err(HeaderError::HeaderLen(0)));
    assert_eq!(with(16, &u32::MAX.to_le_bytes()), Err(HeaderError::PayloadLen(u32::MAX)));
    assert_eq!(with(16, &(MAX_PAYLOAD + 1).to_le_bytes()), Err(HeaderError::PayloadLen(MAX_PAYLOAD + 1)));
    assert!(with(16, &MAX_PAYLOAD.to_le_bytes()).is_ok());
    assert_eq!(with(8, &[FORMAT_VERSION + 1]), Err(HeaderError::Version(FORMAT_VERSION + 1)));
}

#[test]
fn counts_that_cannot_be() {
    let with_events = |before: u64, block_type: u8| {
        let mut header = Header { events: 2, before, ..Header::new(BlockType::Events, 1) };
        header.block_type = BlockType::from_code(block_type);
        Header::decode(&header.encode(crc32c::crc32c), crc32c::crc32c)
    };
    let most = u64::MAX - 2;
    assert!(with_events(most, 4).is_ok());
    let error = with_events(most + 1, 4).unwrap_err();
    assert_eq!(error, HeaderError::Events { before: most + 1, events: 2 });
    assert_eq!(
        error.to_string(),
        "2 events behind 18,446,744,073,709,551,614, expected fewer than 2^64 in all"
    );
    // The field counts something else there.
    assert!(with_events(u64::MAX, 5).is_ok());
}

/// Reserved bytes may get a meaning later, so readers ignore them.
#[test]
fn reserved_bytes_are_not_looked_at() {
    let plain = with(0, &[]);
    assert!(plain.is_ok());
    for at in [15, 128] {
        assert_eq!(with(at, &[0xff]), plain);
    }
}

/// Every number is one type, and every type is one number.
#[test]
fn block_types() {
    let types: Vec<BlockType> = (0..=u8::MAX).map(BlockType::from_code).collect();
    for (code, block_type) in types.iter().enumerate() {
        assert_eq!(usize::from(block_type.code()), code);
        assert_eq!(matches!(block_type, BlockType::Unknown(_)), !(1..=5).contains(&code));
    }
}

/// The checksum is the one in `docs/format.md`.
#[test]
fn the_checksum_is_crc_32c() {
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn numbers_of_the_format_stay() {
    use telemetry_format::{MAX_PAYLOAD, flags};
    assert_eq!(MAX_PAYLOAD, 16_777_216);
    assert_eq!([flags::LAST, flags::END, flags::SHED, flags::WITHHELD], [1, 2, 4, 8]);
}

/// A block is withheld if its flag says so and it has no payload. Damage may leave only one of the
/// two.
#[test]
fn withheld_blocks_have_a_flag_and_no_payload() {
    use telemetry_format::flags::{END, LAST, SHED, WITHHELD};
    let of = |flags, payload_len, payload_crc| {
        let header = Header { flags, payload_len, payload_crc, ..Header::new(BlockType::Events, 0) };
        header.is_withheld()
    };
    assert!(of(WITHHELD, 0, 0));
    assert!(of(WITHHELD | LAST | END, 0, 0));
    assert!(!of(0, 0, 0));
    assert!(!of(LAST | END | SHED, 0, 0));
    assert!(!of(WITHHELD, 1, 0));
    assert!(!of(WITHHELD, 0, 1));
    assert!(!of(WITHHELD, 1, 1));
}
