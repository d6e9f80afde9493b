//! The head of a ring file is read as it was written, and other bytes are not a head.

use proptest::prelude::*;
use telemetry_format::{RING_MAGIC, RING_START, RingHead};

proptest! {
    #[test]
    fn heads_are_read_as_they_are_written(pid: u32, session: u64, at in 0..RingHead::LEN, bit in 0..8_u32) {
        let head = RingHead { pid, session };
        let mut bytes = head.encode(crc32c::crc32c);
        prop_assert!(bytes.starts_with(&RING_MAGIC));
        prop_assert_eq!(RingHead::decode(&bytes, crc32c::crc32c), Some(head));
        prop_assert_eq!(RingHead::decode(&bytes[..at], crc32c::crc32c), None, "cut to {} bytes", at);
        bytes[at] ^= 1 << bit;
        prop_assert_eq!(RingHead::decode(&bytes, crc32c::crc32c), None, "bit {} of byte {}", bit, at);
    }
}

#[test]
fn the_head_has_pages_of_its_own() {
    const LARGEST_PAGE: u64 = 64 << 10;
    assert_eq!(RING_START % LARGEST_PAGE, 0);
    assert!(RING_START >= RingHead::LEN as u64);
}
