//! Numbers in Mono's encoding, LEB128, and a cursor that reads them.

/// A position in the bytes of a buffer. After a failed read it is undefined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'b> {
    pub(super) all: &'b [u8],
    pub(super) at: usize,
}

impl<'b> Bytes<'b> {
    #[inline(always)]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.all.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Reads an unsigned number. Bits beyond 64 are dropped, as in Mono's own reader.
    #[inline(always)]
    pub(super) fn unsigned(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(first.into());
        }
        let second = self.byte()?;
        let two = u64::from(first & 0x7f) | u64::from(second & 0x7f) << 7;
        if second < 0x80 { Some(two) } else { self.unsigned_after(two) }
    }

    /// Reads an unsigned and then a signed number. Nearly all pairs take less than eight bytes,
    /// which are read at once.
    #[inline(always)]
    pub(super) fn unsigned_and_signed(&mut self) -> Option<(u64, u64)> {
        if let Some(bytes) = self.all.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*bytes);
            let (first, len) = match word & 0x8080 {
                0x8080 => return Some((self.unsigned()?, self.signed()?)),
                two if two & 0x80 != 0 => (word & 0x7f | (word & 0x7f00) >> 1, 2),
                _ => (word & 0x7f, 1),
            };
            if let Some((second, more)) = short_signed(word >> (8 * len)) {
                self.at += len + more;
                return Some((first, second));
            }
        }
        Some((self.unsigned()?, self.signed()?))
    }

    /// Reads the rest of an unsigned number, after two bytes.
    #[inline]
    fn unsigned_after(&mut self, two: u64) -> Option<u64> {
        let (mut value, mut shift) = (two, 14);
        loop {
            let byte = self.byte()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
            if shift > MAX_SHIFT {
                return None;
            }
        }
    }

    /// Reads a signed number, as the bits of its two's complement.
    #[inline(always)]
    pub(super) fn signed(&mut self) -> Option<u64> {
        if let Some(bytes) = self.all.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*bytes);
            if let Some((value, len)) = short_signed(word) {
                self.at += len;
                return Some(value);
            }
        }
        self.long_signed()
    }

    fn long_signed(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte < 0x80 {
                if shift < 64 && byte & 0x40 != 0 {
                    value |= u64::MAX << shift;
                }
                return Some(value);
            }
            if shift > MAX_SHIFT {
                return None;
            }
        }
    }

    /// Reads text up to a byte 0. Returns its place, without that byte.
    pub(super) fn text(&mut self) -> Option<(usize, usize)> {
        let from = self.at;
        let len = self.all.get(from..)?.iter().position(|byte| *byte == 0)?;
        self.at = from + len + 1;
        Some((from, from + len))
    }

    pub(super) fn eight(&mut self) -> Option<[u8; 8]> {
        let bytes = *self.all.get(self.at..)?.first_chunk::<8>()?;
        self.at += 8;
        Some(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.all.len()
    }
}

/// Returns a signed number of at most four bytes, the lowest of a word: its value and its bytes.
#[inline(always)]
fn short_signed(word: u64) -> Option<(u64, usize)> {
    let ends = !word & 0x8080_8080;
    if ends == 0 {
        return None;
    }
    // Seven bits of each byte, and the sign from the highest.
    let len = (ends.trailing_zeros() >> 3) + 1;
    let low = word & 0x7f | (word & 0x7f00) >> 1 | (word & 0x7f_0000) >> 2 | (word & 0x7f00_0000) >> 3;
    let unused = 64 - 7 * len;
    Some((((low << unused) as i64 >> unused) as u64, len as usize))
}

/// A number with more bytes is invalid: Mono writes ten at most.
const MAX_SHIFT: u32 = 7 * 16;

/// Appends an unsigned number.
pub(super) fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number, given as the bits of its two's complement.
pub(super) fn put_signed(out: &mut Vec<u8>, value: u64) {
    let mut value = value as i64;
    loop {
        let byte = value as u8 & 0x7f;
        value >>= 7;
        if value == 0 && byte & 0x40 == 0 || value == -1 && byte & 0x40 != 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, put_signed, put_unsigned};

    #[test]
    fn numbers_come_back() {
        let ends = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, !(1 << bit), !((1 << bit) - 1)]);
        for value in ends.chain([0, u64::MAX]) {
            for pad in [0, 8] {
                let mut out = Vec::new();
                put_unsigned(&mut out, value);
                put_signed(&mut out, value);
                let len = out.len();
                out.resize(len + pad, 0xff);
                let mut bytes = Bytes { all: &out, at: 0 };
                let read = (bytes.unsigned(), bytes.signed());
                assert_eq!((read, bytes.at), ((Some(value), Some(value)), len));
                let mut bytes = Bytes { all: &out, at: 0 };
                assert_eq!((bytes.unsigned_and_signed(), bytes.at), (Some((value, value)), len));
            }
        }
    }

    #[test]
    fn spelling_is_that_of_leb128() {
        let signed = |value: i64| {
            let mut out = Vec::new();
            put_signed(&mut out, value as u64);
            out
        };
        assert_eq!(signed(0), [0]);
        assert_eq!(signed(-1), [0x7f]);
        assert_eq!(signed(63), [0x3f]);
        assert_eq!(signed(64), [0xc0, 0]);
        assert_eq!(signed(-64), [0x40]);
        assert_eq!(signed(-65), [0xbf, 0x7f]);
        assert_eq!(signed(i64::MIN), [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f]);
    }

    #[test]
    fn longer_spellings_are_read_and_endless_ones_are_not() {
        let read = |all: &[u8]| {
            let (mut one, mut other) = (Bytes { all, at: 0 }, Bytes { all, at: 0 });
            (one.unsigned(), other.signed())
        };
        assert_eq!(read(&[0x81, 0x80, 0x80, 0]), (Some(1), Some(1)));
        assert_eq!(read(&[0x81, 0x80, 0x80, 0x80, 0x80, 0]), (Some(1), Some(1)));
        assert_eq!(read(&[0xff; 9]), (None, None));
        assert_eq!(read(&[0x80; 100]), (None, None));
        assert_eq!(read(&[]), (None, None));
    }
}
