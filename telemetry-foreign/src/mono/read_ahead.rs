//! The read position of a reader that uses zlib, which reads ahead.

/// zlib's smaller buffer. Its first read has this size, later ones twice that; longer requests are
/// read at once.
const PIECE: u64 = 8192;

/// The file position of a reader that asks zlib for uncompressed bytes. The tool of 2010 prints it
/// as the position of a buffer.
pub(super) struct ReadAhead {
    len: u64,
    /// The end of the requested bytes.
    wanted: u64,
    /// The end of the bytes that were read.
    read: u64,
}

impl ReadAhead {
    pub(super) fn new(len: u64) -> ReadAhead {
        ReadAhead { len, wanted: 0, read: 0 }
    }

    pub(super) fn at(&self) -> u64 {
        self.read
    }

    /// Notes that the reader asks for all bytes up to a position, together.
    pub(super) fn read_to(&mut self, end: u64) {
        self.wanted = end.min(self.len).max(self.wanted);
        while self.read < self.wanted {
            let missing = self.wanted - self.read;
            let next = match missing {
                _ if self.read == 0 => PIECE,
                _ if missing < 2 * PIECE => 2 * PIECE,
                _ => missing,
            };
            self.read = (self.read + next).min(self.len);
        }
    }
}
