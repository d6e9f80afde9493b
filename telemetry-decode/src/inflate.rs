//! A compressed payload, unpacked from its start on as it is asked for.

use std::io;
use std::ops::Range;

use flate2::{Decompress, FlushDecompress, Status};

use crate::source::Source;

/// Packed bytes that are read at once.
const PIECE: usize = 4 << 10;

/// Unpacks a payload of one raw deflate stream, which need not be in memory whole, packed or unpacked.
pub(crate) struct Inflater {
    /// Holds the last 32 KiB that were unpacked.
    state: Decompress,
    /// Packed bytes that were read, and how many of them were unpacked.
    packed: Vec<u8>,
    used: usize,
    /// Where in the source those stand that were not read yet.
    place: Range<u64>,
}

impl Inflater {
    /// Before the first byte of a payload that stands, packed, at a place of the source.
    pub(crate) fn new(place: Range<u64>) -> Inflater {
        Inflater { state: Decompress::new(false), packed: Vec::new(), used: 0, place }
    }

    /// Unpacks the next bytes; less than fit `to` only at the end, or where the bytes are no deflate stream.
    pub(crate) fn read(&mut self, source: &Source<'_>, to: &mut [u8]) -> io::Result<usize> {
        let mut made = 0;
        while made < to.len() {
            if self.used == self.packed.len() {
                self.read_piece(source)?;
            }
            let (packed, room) = (&self.packed[self.used..], &mut to[made..]);
            let before = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(packed, room, FlushDecompress::None);
            let used = (self.state.total_in() - before.0) as usize;
            let more = (self.state.total_out() - before.1) as usize;
            (self.used, made) = (self.used + used, made + more);
            if !matches!(status, Ok(Status::Ok | Status::BufError)) || used + more == 0 {
                break;
            }
        }
        Ok(made)
    }

    fn read_piece(&mut self, source: &Source<'_>) -> io::Result<()> {
        let left = self.place.end - self.place.start;
        self.packed.resize(left.min(PIECE as u64) as usize, 0);
        let read = source.read_all_at(self.place.start, &mut self.packed)?;
        self.packed.truncate(read);
        self.used = 0;
        self.place.start += read as u64;
        Ok(())
    }
}
