//! Memory images to streams: ring files, core dumps, anything that has blocks in it.
//!
//! Blocks are found by their magic number alone. What a program was writing when it ended stands in blocks of
//! memory, whose headers say how far each was committed; what it had written before stands in them too, or in
//! whole blocks. All copies of a block are put together, and what comes out is a normal stream.

use std::io::{self, Write};

use super::recovered::Recovered;
use super::{scan, write};
use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;

/// Writes what a memory image holds as a stream.
pub(crate) fn recover(
    source: &Source<'_>,
    mut decoder: Decoder,
    out: &mut dyn Write,
) -> io::Result<Recovered> {
    let found = scan::scan(source, &mut decoder)?;
    decoder.known.settle();
    write::write(source, decoder, found, out)
}
