//! Reads arbitrary bytes as a memory image: no panic, no hang, and the output is a stream without
//! damage.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_decode::{Order, Reader};
use telemetry_format::{MAGIC, memory, state};

fuzz_target!(|data: &[u8]| {
    let mut image = data.to_vec();
    make_checksums_right(&mut image);
    let mut stream = Vec::new();
    let recovered = Reader::from_slice(&image).recover(&mut stream).unwrap();
    assert_eq!(recovered.bytes, stream.len() as u64);
    for thread in &recovered.threads {
        if let Some(event) = recovered.last_event(thread) {
            event.params().for_each(|param| drop(param.value.to_string()));
        }
    }
    let mut events = Reader::from_slice(&stream).order(Order::Stream).events().unwrap();
    while events.next().unwrap().is_some() {}
    let completeness = events.completeness();
    assert_eq!(completeness.damaged_ranges, 0);
    assert_eq!(completeness.bytes.total(), stream.len() as u64);

    // Recovers the output again.
    let mut again = Vec::new();
    let second = Reader::from_slice(&stream).recover(&mut again).unwrap();
    assert_eq!(second.refused.len(), 0);
});

/// Gives every header the checksums that it should have as a block of a stream or, by its length,
/// of memory.
fn make_checksums_right(bytes: &mut [u8]) {
    for at in 0..bytes.len().saturating_sub(memory::HEADER_LEN) {
        if bytes[at..at + 8] != MAGIC {
            continue;
        }
        let header_len = usize::from(u16::from_le_bytes([bytes[at + 10], bytes[at + 11]]));
        let is_live = header_len == memory::HEADER_LEN;
        let len =
            u32::from_le_bytes([bytes[at + 16], bytes[at + 17], bytes[at + 18], bytes[at + 19]]) as usize;
        let payload = bytes.get(at + header_len..at + header_len + len).map_or(0, crc32c::crc32c);
        let crc = if is_live { 0 } else { payload };
        bytes[at + 136..at + 140].copy_from_slice(&crc.to_le_bytes());
        let mut head: [u8; 140] = bytes[at..at + 140].try_into().unwrap();
        if is_live {
            head[state::OFFSET..state::OFFSET + 8].fill(0);
        }
        bytes[at + 140..at + 144].copy_from_slice(&crc32c::crc32c(&head).to_le_bytes());
    }
}
