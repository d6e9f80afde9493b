//! One block of a stream: its header, with lengths and checksums, and its payload.

use std::io::Write;

use telemetry_format::{HEADER_LEN, Header, MAX_PAYLOAD};

use super::error::{WriteError, refused};

/// Writes a block, and sets the lengths and checksums in its header.
pub(crate) fn write_block(
    out: &mut (impl Write + ?Sized),
    header: Header,
    payload: &[u8],
) -> Result<(), WriteError> {
    let Some(len) = u32::try_from(payload.len()).ok().filter(|len| *len <= MAX_PAYLOAD) else {
        return refused(format!("a payload of {} bytes, expected at most {MAX_PAYLOAD}", payload.len()));
    };
    let payload_crc = crc32c::crc32c(payload);
    let unpacked_len = if header.codec == 0 { len } else { header.unpacked_len };
    let header = Header { payload_len: len, unpacked_len, payload_crc, ..header };
    let mut block = Vec::with_capacity(HEADER_LEN + payload.len());
    block.extend_from_slice(&header.encode(crc32c::crc32c));
    block.extend_from_slice(payload);
    Ok(out.write_all(&block)?)
}
