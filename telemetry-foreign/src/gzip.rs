//! Logs that are compressed with gzip as a whole.

use std::io::{BufRead, Read};

use flate2::bufread::MultiGzDecoder;

/// True if bytes begin as gzip does (RFC 1952).
pub(crate) fn is_gzip(first: &[u8]) -> bool {
    first.starts_with(&[0x1f, 0x8b])
}

/// What was compressed, a piece at a time.
pub(crate) fn gunzip(input: impl BufRead) -> impl Read {
    MultiGzDecoder::new(input)
}
