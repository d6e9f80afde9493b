//! Whole numbers as digits.

/// Returns a number as `%08X`.
#[inline]
pub(crate) fn hex_8(number: u32) -> [u8; 8] {
    eight_digits(number.swap_bytes().into(), UPPER).to_le_bytes()
}

/// Returns a number as `%016X`.
#[inline]
pub(crate) fn hex_16(number: u64) -> [u8; 16] {
    digits(number, UPPER)
}

/// Appends a number as `%X`.
#[inline]
pub(crate) fn hex(out: &mut Vec<u8>, number: u64) {
    unpadded(out, number, UPPER);
}

/// Appends a number as `%x`.
#[inline]
pub(crate) fn hex_lower(out: &mut Vec<u8>, number: u64) {
    unpadded(out, number, LOWER);
}

/// Appends a number as `%4X`.
#[inline]
pub(crate) fn hex_4_spaces(out: &mut Vec<u8>, number: u16) {
    let mut four = hex_4_of(number);
    let zeros = (number | 1).leading_zeros() as usize / 4;
    four[..zeros].fill(b' ');
    out.extend_from_slice(&four);
}

/// Appends a number as `%04X`.
#[inline]
pub(crate) fn hex_4(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&hex_4_of(number));
}

/// Appends each byte as `%02X`.
pub(crate) fn hex_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend_from_slice(&hex_4_of((*byte).into())[2..]);
    }
}

/// Appends each byte as `%02x`.
pub(crate) fn hex_bytes_lower(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend_from_slice(&digits((*byte).into(), LOWER)[14..]);
    }
}

/// Appends each byte as `%02X`, with a space between two.
pub(crate) fn hex_bytes_spaced(out: &mut Vec<u8>, bytes: &[u8]) {
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        hex_bytes_lower(out, &[*byte]);
    }
}

/// Appends a number as `%d`.
#[inline]
pub(crate) fn signed_decimal(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    decimal(out, number.unsigned_abs());
}

/// Appends a sign, and the magnitude as `%X`.
#[inline]
pub(crate) fn signed_hex(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    hex(out, number.unsigned_abs());
}

/// Appends a number as `%u`.
#[inline]
pub(crate) fn decimal(out: &mut Vec<u8>, number: u64) {
    const ROOM: usize = 20;
    // As many bytes follow the digits, so that a copy has the same length for any number. That
    // takes less work than a copy of the right length.
    let mut text = [0; 2 * ROOM];
    let mut start = ROOM;
    let mut rest = number;
    while rest >= 100 {
        start -= 2;
        text[start..start + 2].copy_from_slice(pair(rest % 100));
        rest /= 100;
    }
    if rest >= 10 {
        start -= 2;
        text[start..start + 2].copy_from_slice(pair(rest));
    } else {
        start -= 1;
        text[start] = b'0' + rest as u8;
    }
    let len = out.len();
    out.extend_from_slice(&text[start..start + ROOM]);
    out.truncate(len + ROOM - start);
}

/// Appends a number in groups of three, right-aligned in at least `width` columns: `1,234,567`.
pub(crate) fn grouped(out: &mut Vec<u8>, number: i64, width: usize) {
    let mut text = [0; 28];
    let mut start = text.len();
    let mut rest = number.unsigned_abs();
    while rest >= 1000 {
        let (tens, ones) = (pair(rest % 1000 / 10), b'0' + (rest % 10) as u8);
        start -= 4;
        text[start..start + 4].copy_from_slice(&[b',', tens[0], tens[1], ones]);
        rest /= 1000;
    }
    loop {
        start -= 1;
        text[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        start -= 1;
        text[start] = b'-';
    }
    let digits = &text[start..];
    out.resize(out.len() + width.saturating_sub(digits.len()), b' ');
    out.extend_from_slice(digits);
}

/// The upper half of a number of more than 32 bits, and its digits. Most addresses have that of the
/// address before.
#[derive(Clone, Copy)]
pub(crate) struct UpperHalf {
    half: u32,
    digits: [u8; 8],
    /// The number of digits, less one.
    more: usize,
}

impl UpperHalf {
    pub(crate) fn new(half: u32) -> UpperHalf {
        let zeros = (half | 1).leading_zeros() / 4;
        let digits = eight_digits((half << (4 * zeros)).swap_bytes().into(), UPPER).to_le_bytes();
        UpperHalf { half, digits, more: 7 - zeros as usize }
    }
}

/// The digits of the numbers of one byte as `%X`, and how many there are. Most sizes and counts are
/// so small.
static BYTES: [([u8; 2], u8); 256] = {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut bytes = [([0; 2], 1); 256];
    let mut number = 0;
    while number < bytes.len() {
        let (first, second) = (DIGITS[number / 16], DIGITS[number % 16]);
        bytes[number] = if number < 16 { ([second, 0], 1) } else { ([first, second], 2) };
        number += 1;
    }
    bytes
};

/// Stores a space and a number as `%X` at the start of a place that has room for the longest.
/// Returns the number of bytes. Keeps the upper half for the next number.
#[inline(always)]
pub(crate) fn hex_at(place: &mut [u8; 17], number: u64, upper: &mut UpperHalf) -> usize {
    place[0] = b' ';
    if let Ok(number) = u8::try_from(number) {
        let (digits, len) = BYTES[usize::from(number)];
        place[1..3].copy_from_slice(&digits);
        return 1 + usize::from(len);
    }
    let (half, lower) = ((number >> 32) as u32, number as u32);
    if half == 0 {
        // As in `unpadded`.
        let zeros = (lower | 1).leading_zeros() / 4;
        let bytes = (lower << (4 * zeros)).swap_bytes();
        place[1..9].copy_from_slice(&eight_digits(bytes.into(), UPPER).to_le_bytes());
        return 9 - zeros as usize;
    }
    if half != upper.half {
        *upper = UpperHalf::new(half);
    }
    place[1..9].copy_from_slice(&upper.digits);
    let at = 2 + upper.more % 8;
    place[at..at + 8].copy_from_slice(&eight_digits(lower.swap_bytes().into(), UPPER).to_le_bytes());
    at + 8
}

/// The distance of letters from digits, beside `0`.
const UPPER: u64 = 7;
const LOWER: u64 = 39;

#[inline(always)]
fn unpadded(out: &mut Vec<u8>, number: u64, letters: u64) {
    // The digits move to the front, and all 16 bytes are stored. That takes less work than a copy
    // of the right length.
    let zeros = (number | 1).leading_zeros() / 4;
    let len = out.len();
    out.extend_from_slice(&digits(number << (4 * zeros), letters));
    out.truncate(len + 16 - zeros as usize);
}

/// Returns the 16 digits of a number.
#[inline(always)]
fn digits(number: u64, letters: u64) -> [u8; 16] {
    let bytes = number.swap_bytes();
    // Both halves take each step together, so that the compiler makes it one of a vector.
    let mut halves = [bytes & 0xffff_ffff, bytes >> 32];
    for step in [spread_to_16, spread_to_8, spread_to_4] {
        halves = halves.map(step);
    }
    let [first, last] = halves.map(|half| in_letters(half, letters).to_le_bytes());
    let mut all = [0; 16];
    all[..8].copy_from_slice(&first);
    all[8..].copy_from_slice(&last);
    all
}

/// Returns the eight digits of four bytes: one per byte, the first in the lowest.
#[inline(always)]
fn eight_digits(bytes: u64, letters: u64) -> u64 {
    in_letters(spread_to_4(spread_to_8(spread_to_16(bytes))), letters)
}

/// Moves the two halves of 32 bits apart, each into one of 32 bits.
#[inline(always)]
fn spread_to_16(bytes: u64) -> u64 {
    (bytes << 16 | bytes) & 0x0000_ffff_0000_ffff
}

/// Moves the bytes of each 16 bits apart.
#[inline(always)]
fn spread_to_8(bytes: u64) -> u64 {
    (bytes << 8 | bytes) & 0x00ff_00ff_00ff_00ff
}

/// Moves the digits of each byte apart, the first into the lower byte.
#[inline(always)]
fn spread_to_4(bytes: u64) -> u64 {
    (bytes << 8 | bytes >> 4) & 0x0f0f_0f0f_0f0f_0f0f
}

/// Converts the numbers below 16 in all bytes to digits.
#[inline(always)]
fn in_letters(digits: u64, letters: u64) -> u64 {
    let above_nine = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    // A multiplication by 7 or 39, which vectors do not have.
    let above_nine = match letters {
        UPPER => (above_nine << 3) - above_nine,
        _ => (above_nine << 5) + (above_nine << 3) - above_nine,
    };
    digits + 0x3030_3030_3030_3030 + above_nine
}

#[inline(always)]
fn hex_4_of(number: u16) -> [u8; 4] {
    (eight_digits(number.swap_bytes().into(), UPPER) as u32).to_le_bytes()
}

/// Returns the two digits of a number below 100.
#[inline(always)]
fn pair(number: u64) -> &'static [u8] {
    const PAIRS: [[u8; 2]; 100] = {
        let mut pairs = [[0; 2]; 100];
        let mut number = 0;
        while number < 100 {
            pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
            number += 1;
        }
        pairs
    };
    &PAIRS[number as usize % 100]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = b">".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_as_the_standard_library_formats_them() {
        let near = |n: u64| [n.wrapping_sub(1), n, n.wrapping_add(1)];
        let twos = (0..64).flat_map(|bit| near(1 << bit));
        let tens = (0..20).flat_map(|power| near(10_u64.pow(power)));
        let digits = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210];
        let mut upper = UpperHalf::new(0);
        for n in twos.chain(tens).chain(digits) {
            assert_eq!(text(|out| out.extend(hex_16(n))), format!(">{n:016X}"));
            for _ in 0..2 {
                let mut place = [0; 17];
                let len = hex_at(&mut place, n, &mut upper);
                assert_eq!(place[..len], *format!(" {n:X}").as_bytes());
            }
            assert_eq!(text(|out| hex(out, n)), format!(">{n:X}"));
            assert_eq!(text(|out| hex_lower(out, n)), format!(">{n:x}"));
            assert_eq!(text(|out| hex_4_spaces(out, n as u16)), format!(">{:4X}", n as u16));
            assert_eq!(text(|out| hex_4(out, n as u16)), format!(">{:04X}", n as u16));
            assert_eq!(text(|out| hex_bytes(out, &[n as u8])), format!(">{:02X}", n as u8));
            assert_eq!(text(|out| decimal(out, n)), format!(">{n}"));
            assert_eq!(text(|out| signed_decimal(out, n as i64)), format!(">{}", n as i64));
            let sign = if (n as i64) < 0 { "-" } else { "" };
            assert_eq!(
                text(|out| signed_hex(out, n as i64)),
                format!(">{sign}{:X}", (n as i64).unsigned_abs())
            );
            let grouped_text = text(|out| grouped(out, n as i64, 0));
            assert_eq!(grouped_text.replace(',', ""), format!(">{}", n as i64));
        }
    }

    #[test]
    fn groups_are_of_three_and_aligned() {
        let table = [
            (0, ">         0"),
            (999, ">       999"),
            (1_000, ">     1,000"),
            (-1_000, ">    -1,000"),
            (1_002_003, "> 1,002,003"),
            (123_456_789_000, ">123,456,789,000"),
            (i64::MIN, ">-9,223,372,036,854,775,808"),
        ];
        for (number, expected) in table {
            assert_eq!(text(|out| grouped(out, number, 10)), expected);
        }
    }
}
