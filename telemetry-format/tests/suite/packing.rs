//! `Cursor` reads what `put` writes.

use proptest::prelude::*;
use telemetry_format::put::{self, MAX_VARINT};
use telemetry_format::{Cursor, Malformed};

/// Writes a value and reads it: alone, with other bytes after it, and truncated. A truncated value
/// is not read, and the cursor stays.
fn check<T: PartialEq + std::fmt::Debug>(
    value: T,
    write: impl Fn(&mut Vec<u8>, &T),
    read: impl for<'a> Fn(&mut Cursor<'a>) -> Result<T, Malformed>,
) {
    let mut bytes = Vec::new();
    write(&mut bytes, &value);
    let len = bytes.len();
    for behind in 0..12 {
        bytes.resize(len + behind, 0x5a);
        let mut cursor = Cursor::new(&bytes);
        assert_eq!(read(&mut cursor).as_ref(), Ok(&value));
        assert_eq!(cursor.rest(), &bytes[len..], "{value:?} with {behind} bytes behind it");
    }
    for cut in 0..len {
        let mut cursor = Cursor::new(&bytes[..cut]);
        let error = read(&mut cursor).expect_err("it is cut");
        assert!(matches!(error, Malformed::Truncated | Malformed::Length(_)), "{error}");
        assert_eq!(cursor.rest().len(), cut, "{value:?} cut to {cut} bytes");
    }
}

/// Returns numbers of every length, and those at the limits between lengths.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![
        (any::<u64>(), 0..64_u32).prop_map(|(bits, shift)| bits >> shift),
        (0..64_u32, -1..=1_i64).prop_map(|(shift, by)| (1_u64 << shift).wrapping_add_signed(by)),
        Just(u64::MAX),
    ]
}

proptest! {
    #[test]
    fn unsigned(value in numbers()) {
        check(value, |out, n| _ = put::unsigned(out, *n), |cursor| cursor.unsigned());
    }

    #[test]
    fn pairs(first in numbers(), second in numbers()) {
        let mut bytes = Vec::new();
        put::unsigned(put::unsigned(&mut bytes, first), second);
        let len = bytes.len();
        for behind in 0..12 {
            bytes.resize(len + behind, 0x5a);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.two_unsigned(), Ok((first, second)));
            assert_eq!(cursor.rest(), &bytes[len..]);
        }
        for cut in 0..len {
            assert_eq!(Cursor::new(&bytes[..cut]).two_unsigned(), Err(Malformed::Truncated));
        }
    }

    #[test]
    fn signed(value in numbers()) {
        check(value as i64, |out, n| _ = put::signed(out, *n), |cursor| cursor.signed());
        assert_eq!(put::unzigzag(put::zigzag(value as i64)), value as i64);
        assert_eq!(put::zigzag(put::unzigzag(value)), value);
    }

    #[test]
    fn delta(slot in numbers(), value in numbers()) {
        check(value, |out, n| _ = put::delta(out, slot, *n), |cursor| {
            let mut place = slot;
            let read = cursor.delta(&mut place);
            // The slot then contains the value, or is unchanged.
            assert_eq!(place, read.unwrap_or(slot));
            read
        });
    }

    #[test]
    fn floats(bits in any::<u64>()) {
        let write = |out: &mut Vec<u8>, n: &u64| _ = put::f64(out, f64::from_bits(*n));
        check(bits, write, |cursor| cursor.f64().map(f64::to_bits));
        let write = |out: &mut Vec<u8>, n: &u32| _ = put::f32(out, f32::from_bits(*n));
        check(bits as u32, write, |cursor| cursor.f32().map(f32::to_bits));
        check(bits.to_le_bytes(), |out, n| out.extend_from_slice(n), |cursor| cursor.array());
    }

    #[test]
    fn bytes_and_bools(byte in any::<u8>(), boolean in any::<bool>()) {
        check(byte, |out, n| _ = put::byte(out, *n), |cursor| cursor.byte());
        check(boolean, |out, b| _ = put::byte(out, (*b).into()), |cursor| cursor.bool());
        let mut cursor = Cursor::new(std::slice::from_ref(&byte));
        assert_eq!(cursor.bool().is_ok(), byte < 2);
        assert_eq!(cursor.is_empty(), byte < 2);
    }

    #[test]
    fn runs(text in "\\PC{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(text, |out, s| _ = put::bytes(out, s.as_bytes()), |cursor| cursor.str().map(str::to_string));
        let is_text = std::str::from_utf8(&bytes).is_ok();
        let mut packed = Vec::new();
        put::bytes(&mut packed, &bytes);
        assert_eq!(Cursor::new(&packed).str().is_ok(), is_text);
        check(bytes, |out, b| _ = put::bytes(out, b), |cursor| cursor.bytes().map(<[u8]>::to_vec));
    }

    /// The short forms of the hot path are the same bytes.
    #[test]
    fn short_forms(value in numbers(), slot in numbers(), run in prop::collection::vec(any::<u8>(), 0..80)) {
        fn same(value: u64, whole: impl Fn(&mut Vec<u8>), short: impl Fn(&mut Vec<u8>) -> bool) {
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            whole(&mut expected);
            if short(&mut found) {
                assert_eq!(found, expected, "{value}");
            } else {
                assert!(expected.len() > 4, "{value} is short");
            }
        }
        fn check<const USUAL: usize>(value: u64, slot: u64) {
            let signed = value as i64;
            let short = |out: &mut Vec<u8>| put::short_unsigned::<USUAL, _>(out, value).is_some();
            same(value, |out| _ = put::unsigned(out, value), short);
            let short = |out: &mut Vec<u8>| put::short_signed::<USUAL, _>(out, signed).is_some();
            same(value, |out| _ = put::signed(out, signed), short);
            let short = |out: &mut Vec<u8>| put::short_delta::<USUAL, _>(out, slot, value).is_some();
            same(value, |out| _ = put::delta(out, slot, value), short);
        }
        check::<1>(value, slot);
        check::<2>(value, slot);
        check::<3>(value, slot);
        check::<4>(value, slot);
        let first = slot as u16 >> (slot >> 60);
        same(
            value,
            |out| _ = put::unsigned(put::unsigned(out, first.into()), value),
            |out| put::short_pair(out, first, value).is_some(),
        );
        same(value, |out| _ = put::bytes(out, &run), |out| put::short_bytes(out, &run).is_some());
    }

    /// A number that does not fit into the type is refused, and the cursor stays.
    #[test]
    fn narrow_numbers(value in numbers()) {
        fn narrow<T: TryFrom<u64> + TryFrom<i64> + PartialEq + std::fmt::Debug>(value: u64) {
            let mut bytes = Vec::new();
            put::unsigned(&mut bytes, value);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.unsigned_as::<T>().ok(), T::try_from(value).ok());
            assert_eq!(cursor.is_empty(), T::try_from(value).is_ok());
            let mut cursor = Cursor::new(&bytes);
            let signed = put::unzigzag(value);
            assert_eq!(cursor.signed_as::<T>().ok(), T::try_from(signed).ok());
            assert_eq!(cursor.is_empty(), T::try_from(signed).is_ok());
        }
        narrow::<u8>(value);
        narrow::<u16>(value);
        narrow::<u32>(value);
        narrow::<i16>(value);
        narrow::<i32>(value);
    }

    /// A count is limited to elements that fit into the rest.
    #[test]
    fn counts(count in numbers(), size in 1..9_usize, left in 0..100_usize) {
        let mut bytes = Vec::new();
        put::unsigned(&mut bytes, count);
        let len = bytes.len();
        bytes.resize(len + left, 0);
        let mut cursor = Cursor::new(&bytes);
        let fits = count.checked_mul(size as u64).is_some_and(|all| all <= left as u64);
        let expected = if fits { Ok(count as usize) } else { Err(Malformed::Length(count)) };
        assert_eq!(cursor.count(size), expected);
        assert_eq!(cursor.rest().len(), if fits { left } else { len + left });
    }

    /// Any bytes are read as something or refused.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let cursor = Cursor::new(&bytes);
        let moved = [
            { let mut c = cursor; c.unsigned().map(|_| c) },
            { let mut c = cursor; c.signed().map(|_| c) },
            { let mut c = cursor; c.bytes().map(|_| c) },
            { let mut c = cursor; c.str().map(|_| c) },
            { let mut c = cursor; c.bool().map(|_| c) },
            { let mut c = cursor; c.count(3).map(|_| c) },
            { let mut c = cursor; c.delta(&mut 5).map(|_| c) },
        ];
        for cursor in moved.into_iter().flatten() {
            assert!(bytes.ends_with(cursor.rest()) && cursor.rest().len() < bytes.len());
        }
    }

    #[test]
    fn cut_at_a_border(text in "\\PC{0,40}", max in 0..60_usize) {
        let cut = put::truncate(&text, max);
        assert!(text.starts_with(cut) && cut.len() <= max);
        // No more could be kept.
        let next = text[cut.len()..].chars().next();
        assert!(next.is_none_or(|next| cut.len() + next.len_utf8() > max));
    }
}

/// The table in `docs/format.md`.
#[test]
fn lengths_of_numbers() {
    for len in 1..=8_u32 {
        let (least, most) = (if len == 1 { 0 } else { 1_u64 << (7 * (len - 1)) }, (1_u64 << (7 * len)) - 1);
        for value in [least, most] {
            let mut bytes = Vec::new();
            put::unsigned(&mut bytes, value);
            assert_eq!(bytes.len(), len as usize, "{value}");
            assert_eq!(bytes[0].trailing_zeros() + 1, len, "{value}");
        }
    }
    for value in [1 << 56, u64::MAX] {
        let mut bytes = Vec::new();
        put::unsigned(&mut bytes, value);
        assert_eq!((bytes.len(), bytes[0]), (MAX_VARINT, 0), "{value}");
    }
}

/// Forms that are longer than needed are read, too.
#[test]
fn forms_that_are_not_the_shortest() {
    for value in [0, 5, 127] {
        for len in 1..=8 {
            let word: u64 = value << len | 1 << (len - 1);
            let mut bytes = word.to_le_bytes().to_vec();
            bytes.truncate(len);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.unsigned(), Ok(value));
            assert!(cursor.is_empty());
        }
        let bytes = [&[0][..], &value.to_le_bytes()].concat();
        assert_eq!(Cursor::new(&bytes).unsigned(), Ok(value));
    }
}

#[test]
fn the_length_of_a_number_is_known_before_it_is_written() {
    for bits in 0..=64_u32 {
        let largest = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
        for value in [largest, largest.wrapping_add(1)] {
            let mut out = Vec::new();
            put::unsigned(&mut out, value);
            assert_eq!(put::unsigned_len(value), out.len(), "{value:#x}");
        }
    }
}

/// Every first number, and second ones at the limits between lengths.
#[test]
fn short_pairs() {
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for second in [0, 0x7f, 0x80, 0x3fff, 0x4000, 0x1f_ffff, 0x20_0000, 0xfff_ffff, 0x1000_0000, u64::MAX] {
        for first in 0..=u16::MAX {
            expected.clear();
            found.clear();
            put::unsigned(put::unsigned(&mut expected, first.into()), second);
            let is_short = put::short_pair(&mut found, first, second).is_some();
            assert_eq!(is_short, second < 1 << 28, "{first} {second}");
            assert!(!is_short || found == expected, "{first} {second}");
        }
    }
}
