//! What several targets need.

use telemetry_format::{HEADER_LEN, MAGIC};

/// Returns the first byte of an input, which selects what a target does, and the stream behind it.
/// If that byte is odd, the stream has the checksums that it should have.
pub fn stream(input: &[u8]) -> Option<(u8, Vec<u8>)> {
    let (mode, bytes) = input.split_first()?;
    let mut bytes = bytes.to_vec();
    if mode & 1 != 0 {
        make_checksums_right(&mut bytes);
    }
    Some((*mode, bytes))
}

/// Gives every block the checksums that it should have, as far as its lengths make sense.
pub fn make_checksums_right(bytes: &mut [u8]) {
    let mut at = 0;
    while at + HEADER_LEN <= bytes.len() {
        if bytes[at..at + 8] != MAGIC {
            at += 1;
            continue;
        }
        let header_len = usize::from(u16::from_le_bytes([bytes[at + 10], bytes[at + 11]]));
        let len =
            u32::from_le_bytes([bytes[at + 16], bytes[at + 17], bytes[at + 18], bytes[at + 19]]) as usize;
        let payload = bytes.get(at + header_len..at + header_len + len);
        let crc = payload.map_or(0, crc32c::crc32c);
        let header = &mut bytes[at..at + HEADER_LEN];
        header[136..140].copy_from_slice(&crc.to_le_bytes());
        let crc = crc32c::crc32c(&header[..140]);
        header[140..].copy_from_slice(&crc.to_le_bytes());
        at += HEADER_LEN;
    }
}
