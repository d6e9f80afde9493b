//! Compression of payloads, each block separately.

use std::borrow::Cow;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use telemetry_format::{Header, MAX_PAYLOAD, codec};

use crate::report::completeness::Reason;

/// The highest compression ratio of deflate. A block that states a higher one is wrong.
const MAX_RATIO: u64 = 1032;

/// Decompresses the payload of a block, and returns it with the header that it would then have.
/// Takes no more memory than the payload can decompress to.
pub(crate) fn unpack<'p>(header: &Header, payload: &'p [u8]) -> Result<(Header, Cow<'p, [u8]>), Reason> {
    if header.codec == codec::NONE {
        return Ok((header.clone(), Cow::Borrowed(payload)));
    }
    if header.codec != codec::DEFLATE {
        return Err(Reason::Codec(header.codec));
    }
    let len = header.unpacked_len;
    let most = (payload.len() as u64).saturating_mul(MAX_RATIO).min(MAX_PAYLOAD.into());
    if u64::from(len) > most {
        return Err(Reason::Unpacked(len));
    }
    let mut unpacked = Vec::with_capacity(len as usize);
    let mut state = Decompress::new(false);
    let status = state.decompress_vec(payload, &mut unpacked, FlushDecompress::Finish);
    let is_whole = matches!(status, Ok(Status::StreamEnd)) && state.total_in() == payload.len() as u64;
    if !is_whole || unpacked.len() != len as usize {
        return Err(Reason::Unpacked(len));
    }
    let header = Header { codec: codec::NONE, payload_len: len, ..header.clone() };
    Ok((header, Cow::Owned(unpacked)))
}

/// Returns the payload of a block as it was before compression, or `None` if it cannot be
/// decompressed. Takes no more memory than the payload can decompress to, and never more than
/// [`MAX_PAYLOAD`].
pub fn unpacked<'p>(header: &Header, payload: &'p [u8]) -> Option<Cow<'p, [u8]>> {
    unpack(header, payload).ok().map(|(_, payload)| payload)
}

/// Compresses a payload. Returns `None` if it would not become shorter.
pub(crate) fn pack(payload: &[u8]) -> Option<Vec<u8>> {
    let mut packed = Vec::with_capacity(payload.len());
    let mut state = Compress::new(Compression::default(), false);
    // The buffer has only the payload's own length, so a longer result does not finish.
    let status = state.compress_vec(payload, &mut packed, FlushCompress::Finish);
    (matches!(status, Ok(Status::StreamEnd)) && packed.len() < payload.len()).then_some(packed)
}

#[cfg(test)]
mod tests {
    use telemetry_format::BlockType;

    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        let text = [b'x'; 100];
        let packed = pack(&text).unwrap();
        let header =
            |codec, unpacked_len| Header { codec, unpacked_len, ..Header::new(BlockType::Registry, 1) };
        let check = |header: &Header, payload: &[u8], expected: Option<&[u8]>| {
            assert_eq!(unpacked(header, payload).as_deref(), expected, "{header:?}");
        };
        check(&header(codec::NONE, 0), &text, Some(&text[..]));
        check(&header(codec::DEFLATE, 100), &packed, Some(&text[..]));
        check(&header(codec::DEFLATE, 99), &packed, None);
        check(&header(codec::DEFLATE, 100), &packed[..packed.len() - 1], None);
        check(&header(9, 100), &packed, None);
    }
}
