//! JSON: texts and numbers.

use std::io::Write;

/// Appends a whole number.
#[inline]
pub(crate) fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a whole number that may be negative.
#[inline]
pub(crate) fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    number(out, value.unsigned_abs());
}

/// Appends nanoseconds as microseconds, with all digits.
#[inline]
pub(crate) fn microseconds(out: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    number(out, ns / 1000);
    let rest = ns % 1000;
    out.extend_from_slice(&[
        b'.',
        b'0' + (rest / 100) as u8,
        b'0' + (rest / 10 % 10) as u8,
        b'0' + (rest % 10) as u8,
    ]);
}

/// Appends an address in hexadecimal, as text.
#[inline]
pub(crate) fn address(out: &mut Vec<u8>, address: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\"0x");
    let digits = (u64::BITS - address.leading_zeros()).div_ceil(4).max(1);
    out.extend((0..digits).rev().map(|digit| DIGITS[(address >> (4 * digit) & 15) as usize]));
    out.push(b'"');
}

/// Appends a float. JSON has no number for those that are not finite.
pub(crate) fn float(out: &mut Vec<u8>, x: f64, text: std::fmt::Arguments<'_>) {
    let written = match x {
        _ if x.is_finite() => out.write_fmt(text),
        _ if x.is_nan() => out.write_all(b"\"NaN\""),
        _ if x > 0.0 => out.write_all(b"\"Infinity\""),
        _ => out.write_all(b"\"-Infinity\""),
    };
    debug_assert!(written.is_ok(), "a list takes everything");
}

/// Appends a text, with U+FFFD for bytes that are not UTF-8.
pub(crate) fn text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        escaped(out, chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out.push(b'"');
}

fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x7f)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            byte => {
                let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts() {
        let written = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&|out| number(out, u64::MAX)), "18446744073709551615");
        assert_eq!(written(&|out| signed(out, i64::MIN)), "-9223372036854775808");
        assert_eq!(written(&|out| microseconds(out, 1_234_056)), "1234.056");
        assert_eq!(written(&|out| microseconds(out, -7)), "-0.007");
        assert_eq!(written(&|out| address(out, 0)), "\"0x0\"");
        assert_eq!(written(&|out| address(out, 0x7f00_1040)), "\"0x7f001040\"");
        assert_eq!(written(&|out| float(out, 1e300, format_args!("{:?}", 1e300))), "1e300");
        assert_eq!(written(&|out| float(out, f64::NAN, format_args!(""))), "\"NaN\"");
        assert_eq!(written(&|out| text(out, b"a\"b\\c\n\xffd")), "\"a\\\"b\\\\c\\n\u{fffd}d\"");
    }
}
