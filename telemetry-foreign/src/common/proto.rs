//! Protobuf: fields of numbers, of bytes, and of messages.

/// Appends a number in groups of seven bits, the lowest first.
#[inline]
pub(crate) fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a field with an integer. Negative ones are given as two's complement.
#[inline]
pub(crate) fn number(out: &mut Vec<u8>, field: u32, number: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, number);
}

/// Appends a field of eight bytes.
#[inline]
pub(crate) fn fixed(out: &mut Vec<u8>, field: u32, bits: u64) {
    varint(out, u64::from(field) << 3 | 1);
    out.extend_from_slice(&bits.to_le_bytes());
}

/// Appends a field of bytes or text.
#[inline]
pub(crate) fn bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a field with a message.
#[inline]
pub(crate) fn message(out: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
    varint(out, u64::from(field) << 3 | 2);
    // Most messages are short, so that their length takes one byte.
    let at = out.len();
    out.push(0);
    write(out);
    let len = out.len() - at - 1;
    match out.get_mut(at) {
        Some(first) if len < 0x80 => *first = len as u8,
        _ => {
            let mut encoded = Vec::with_capacity(10);
            varint(&mut encoded, len as u64);
            out.splice(at..at + 1, encoded);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_protobuf() {
        let written = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            out
        };
        // The first is the example in protobuf's description of its encoding.
        assert_eq!(written(&|out| number(out, 1, 150)), [0x08, 0x96, 0x01]);
        assert_eq!(written(&|out| bytes(out, 2, b"testing")), *b"\x12\x07testing");
        assert_eq!(written(&|out| message(out, 3, |out| number(out, 1, 150))), [0x1a, 3, 0x08, 0x96, 1]);
        assert_eq!(written(&|out| fixed(out, 1, 1)), [9, 1, 0, 0, 0, 0, 0, 0, 0]);
        let minus = written(&|out| number(out, 1, -1_i64 as u64));
        assert_eq!(minus, [&[8][..], &[0xff; 9], &[1]].concat());
        let long = written(&|out| message(out, 3, |out| out.extend([7; 300])));
        assert_eq!(long, [&[0x1a, 0xac, 2][..], &[7; 300]].concat());
    }
}
