//! How far a reader that goes through zlib has read ahead.

/// zlib's smaller buffer: its first read is one of these, later ones are of two, and longer wishes are read at once.
const PIECE: u64 = 8192;

/// The place in the file of a reader that asks zlib for uncompressed bytes. The tool of 2010 prints it as the place of
/// a buffer.
pub(super) struct ReadAhead {
    len: u64,
    /// What was asked for up to here.
    wanted: u64,
    /// What was read up to here.
    read: u64,
}

impl ReadAhead {
    pub(super) fn new(len: u64) -> ReadAhead {
        ReadAhead { len, wanted: 0, read: 0 }
    }

    pub(super) fn at(&self) -> u64 {
        self.read
    }

    /// The reader asks for all bytes up to a place, together.
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
