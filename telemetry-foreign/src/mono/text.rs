//! Numbers and pointers as C prints them, appended to a line.

use crate::common::json;

/// Text under construction.
pub(super) trait Text {
    fn text(&mut self, text: &str) -> &mut Self;
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self;
    /// Appends an unsigned number as `%llu` prints it.
    fn decimal(&mut self, number: u64) -> &mut Self;
    /// Appends a signed number as `%lld` prints it.
    fn signed(&mut self, number: i64) -> &mut Self;
    /// Appends a hexadecimal number as `%llx` prints it.
    fn hex(&mut self, number: u64) -> &mut Self;
    /// Appends a pointer as `%p` prints it.
    fn pointer(&mut self, pointer: u64) -> &mut Self;
}

impl Text for Vec<u8> {
    #[inline]
    fn text(&mut self, text: &str) -> &mut Self {
        self.extend_from_slice(text.as_bytes());
        self
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.extend_from_slice(bytes);
        self
    }

    fn decimal(&mut self, number: u64) -> &mut Self {
        json::number(self, number);
        self
    }

    fn signed(&mut self, number: i64) -> &mut Self {
        if number < 0 {
            self.push(b'-');
        }
        self.decimal(number.unsigned_abs())
    }

    fn hex(&mut self, number: u64) -> &mut Self {
        let len = (67 - (number | 1).leading_zeros()) / 4;
        for digit in (0..len).rev() {
            self.push(b"0123456789abcdef"[(number >> (4 * digit)) as usize & 15]);
        }
        self
    }

    fn pointer(&mut self, pointer: u64) -> &mut Self {
        if pointer == 0 { self.text("(nil)") } else { self.text("0x").hex(pointer) }
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn numbers_are_as_rust_formats_them() {
        for number in [0, 1, 9, 10, 15, 16, 255, 256, u64::MAX, 1 << 60, 0xfff_ffff] {
            let mut out = Vec::new();
            out.decimal(number).text(" ").hex(number).text(" ").signed(number as i64);
            let expected = format!("{number} {number:x} {}", number as i64);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
