//! Recovers streams from memory images: ring files, core dumps, any bytes with blocks in them.
//!
//! Blocks are found only by their magic number. The latest events of a program are in blocks of
//! memory, whose headers state how much is committed. Earlier events are in such blocks too, or in
//! whole blocks. All copies of a block are joined, and the result is a normal stream.

use std::io::{self, Write};

use super::recovered::Recovered;
use super::{scan, write};
use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;

/// Writes the events of a memory image as a stream.
pub(crate) fn recover(
    source: &Source<'_>,
    mut decoder: Decoder,
    out: &mut dyn Write,
) -> io::Result<Recovered> {
    let found = scan::scan(source, &mut decoder)?;
    decoder.state.settle();
    write::write(source, decoder, found, out)
}
