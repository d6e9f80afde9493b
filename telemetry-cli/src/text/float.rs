//! Floating-point numbers, digit by digit as `printf` of glibc writes them.

use std::io::Write;

/// Appends a number as `%.10G`.
pub(crate) fn general_10(out: &mut Vec<u8>, x: f64) {
    general::<10>(out, x, Style { exponent: b'E', names: [b"INF", b"NAN"], keep_zeros: false });
}

/// Appends a number as `%#8.3g`.
pub(crate) fn general_3(out: &mut Vec<u8>, x: f64) {
    let start = out.len();
    general::<3>(out, x, Style { exponent: b'e', names: [b"inf", b"nan"], keep_zeros: true });
    let padding = 8_usize.saturating_sub(out.len() - start);
    out.splice(start..start, std::iter::repeat_n(b' ', padding));
}

/// Returns the number that [`general_10`] wrote.
pub(crate) fn rounded_10(x: f64) -> f64 {
    let mut text = Vec::with_capacity(24);
    general_10(&mut text, x);
    std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).unwrap_or(x)
}

struct Style {
    exponent: u8,
    /// Infinity and NaN.
    names: [&'static [u8]; 2],
    /// The `#` flag: keeps trailing zeros and the decimal point.
    keep_zeros: bool,
}

/// Appends a number as `%g`, with a number of significant digits.
fn general<const DIGITS: usize>(out: &mut Vec<u8>, x: f64, style: Style) {
    if x.is_sign_negative() {
        out.push(b'-');
    }
    if !x.is_finite() {
        out.extend_from_slice(style.names[usize::from(x.is_nan())]);
        return;
    }
    let (digits, exponent) = decimal::<DIGITS>(x.abs());
    let last = digits.iter().rposition(|digit| *digit != b'0').unwrap_or(0);
    // If only rounding gives a number its exponent, glibc omits the zeros: 999.5 is `1.e+03`.
    let rounded_up = exponent == DIGITS as i32 && x.abs() < 10_f64.powi(exponent);
    let significant = if style.keep_zeros && !rounded_up { DIGITS } else { last + 1 };
    let digits = &digits[..significant];
    if exponent < -4 || exponent >= DIGITS as i32 {
        let (first, rest) = digits.split_at(1);
        out.extend_from_slice(first);
        fraction(out, rest, &style);
        out.extend_from_slice(&[style.exponent, if exponent < 0 { b'-' } else { b'+' }]);
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        super::decimal(out, exponent.unsigned_abs().into());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-1 - exponent) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let whole = exponent as usize + 1;
        let (before, after) = digits.split_at(whole.min(digits.len()));
        out.extend_from_slice(before);
        out.resize(out.len() + whole - before.len(), b'0');
        fraction(out, after, &style);
    }
}

fn fraction(out: &mut Vec<u8>, digits: &[u8], style: &Style) {
    if !digits.is_empty() || style.keep_zeros {
        out.push(b'.');
        out.extend_from_slice(digits);
    }
}

/// Returns the first digits of a number, correctly rounded, and the power of ten of the first
/// digit.
fn decimal<const DIGITS: usize>(x: f64) -> ([u8; DIGITS], i32) {
    // `d.ddde-308`
    let mut text = [0_u8; 32];
    let mut rest = &mut text[..];
    let _ = write!(rest, "{x:.*e}", DIGITS - 1);
    let unused = rest.len();
    let text = &text[..text.len() - unused];
    let mut digits = [b'0'; DIGITS];
    digits[0] = text[0];
    digits[1..].copy_from_slice(&text[2..1 + DIGITS]);
    let exponent = std::str::from_utf8(&text[2 + DIGITS..]).ok().and_then(|exponent| exponent.parse().ok());
    (digits, exponent.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits, `%.10G` and `%#8.3g` of numbers of all sizes, as `printf` of glibc writes them. Ties
    /// are among them, and numbers that round to one more digit.
    const TABLE: &str = include_str!("../../tests/data/floats.tsv");

    #[test]
    fn numbers_are_as_printf_writes_them() {
        let written = |write: fn(&mut Vec<u8>, f64), x| {
            let mut out = Vec::new();
            write(&mut out, x);
            String::from_utf8(out).unwrap()
        };
        assert!(TABLE.lines().count() > 100);
        for line in TABLE.lines() {
            let [bits, ten, three] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let x = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
            assert_eq!(written(general_10, x), ten, "{x:?}");
            assert_eq!(written(general_3, x), three, "{x:?}");
            let rounded = rounded_10(x);
            if rounded.is_infinite() {
                continue; // The largest numbers are below what they round to.
            }
            assert_eq!(written(general_10, rounded), ten, "{x:?}");
            assert_eq!(rounded.is_sign_negative(), x.is_sign_negative(), "{x:?}");
        }
    }

    #[test]
    fn the_column_of_a_number_grows_with_it() {
        let mut out = b"x:".to_vec();
        general_3(&mut out, -1.25e-300);
        assert_eq!(out, b"x:-1.25e-300");
    }
}
