//! Arguments of emitters that are called from C: runs and lists as a pointer and a length.
//!
//! A pointer may be null, a length may be beyond every limit, and a string may not be UTF-8. Then
//! what can be used is recorded, and the parameter is counted as truncated.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ffi::c_void;

use crate::model::fields::Fields;
use crate::model::raw::{Ahead, Raw};

/// A field whose argument could not be used as it was given, if the second value is true.
#[derive(Clone, Copy)]
pub struct Given<F>(pub F, pub bool);

// SAFETY: writes what the field writes.
unsafe impl<const SLOTS: usize, F: Fields<SLOTS>> Fields<SLOTS> for Given<F> {
    const IS_FIXED: bool = F::IS_FIXED;
    #[inline(always)]
    fn bound(&self) -> usize {
        self.0.bound()
    }
    #[inline(always)]
    fn put(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Raw {
        self.0.put(out, slots)
    }
    #[inline(always)]
    fn put_short(&self, out: Ahead, slots: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        if self.1 { None } else { self.0.put_short(out, slots) }
    }
    #[inline(always)]
    fn keep(&self, slots: &[Cell<u64>; SLOTS]) {
        self.0.keep(slots);
    }
    #[inline(always)]
    fn truncated(&self) -> u64 {
        self.0.truncated().max(u64::from(self.1))
    }
}

/// Returns at most `MAX` elements of a list, and whether that is less than was given. A length that
/// no list can have, such as a negative number, gives an empty list.
///
/// # Safety
/// `at` must be null, or point to the smaller of `len` and `MAX` elements.
#[inline(always)]
pub unsafe fn list<'a, T: Copy, const MAX: usize>(at: *const T, len: usize) -> (&'a [T], bool) {
    if at.is_null() || len > isize::MAX as usize {
        return (&[], len > 0);
    }
    // SAFETY: by the contract of this function.
    (unsafe { core::slice::from_raw_parts(at, len.min(MAX)) }, len > MAX)
}

/// Returns at most `MAX` bytes, as [`list`] does.
///
/// # Safety
/// As for [`list`].
#[inline(always)]
pub unsafe fn bytes<'a, const MAX: usize>(at: *const u8, len: usize) -> (&'a [u8], bool) {
    // SAFETY: by the contract of this function.
    unsafe { list::<u8, MAX>(at, len) }
}

/// Returns the array of `N` elements at a pointer. A null pointer gives zeros, and true.
///
/// # Safety
/// `at` must be null, or point to `N` elements.
#[inline(always)]
pub unsafe fn array<T: Zero, const N: usize>(at: *const T) -> ([T; N], bool) {
    if at.is_null() {
        return ([T::ZERO; N], true);
    }
    // SAFETY: by the contract of this function.
    (unsafe { at.cast::<[T; N]>().read() }, false)
}

/// Returns the beginning of a string that is UTF-8 and at most `MAX` bytes long, and whether that
/// is less than was given.
///
/// # Safety
/// As for [`list`], with bytes.
#[inline(always)]
pub unsafe fn text<'a, const MAX: usize>(at: *const u8, len: usize) -> (&'a str, bool) {
    // SAFETY: by the contract of this function.
    let (bytes, is_cut) = unsafe { list::<u8, MAX>(at, len) };
    if is_ascii(bytes) {
        // SAFETY: bytes of ASCII are UTF-8.
        return (unsafe { core::str::from_utf8_unchecked(bytes) }, is_cut);
    }
    let (text, is_short) = beginning(bytes);
    (text, is_cut || is_short)
}

/// Returns true if all bytes are ASCII. Names are short, so they are looked at without a loop: the
/// first and the last bytes, which may overlap.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u128 = u128::from_le_bytes([0x80; 16]);
    let ends = match bytes.len() {
        4..8 => ends::<4>(bytes).map(|ends| ends.map(|end| u32::from_le_bytes(end).into())),
        8..16 => ends::<8>(bytes).map(|ends| ends.map(|end| u64::from_le_bytes(end).into())),
        16..=32 => ends::<16>(bytes).map(|ends| ends.map(u128::from_le_bytes)),
        _ => None,
    };
    match ends {
        Some([first, last]) => (first | last) & HIGH == 0,
        None => bytes.is_ascii(),
    }
}

/// Returns the first and the last `N` bytes.
#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> Option<[[u8; N]; 2]> {
    Some([*bytes.first_chunk()?, *bytes.last_chunk()?])
}

/// Converts a list of at most `MAX` elements, for a message. Returns the values, of which the first
/// `usize` count. The rest has the value `rest`. Returns `None` if an element has no value.
#[inline(always)]
pub fn converted<T: Copy, R: Copy, const MAX: usize>(
    list: &[R],
    rest: T,
    convert: impl Fn(R) -> Option<T>,
) -> Option<([T; MAX], usize)> {
    let mut all = [rest; MAX];
    for (place, &value) in all.iter_mut().zip(list) {
        *place = convert(value)?;
    }
    Some((all, list.len().min(MAX)))
}

/// Returns the beginning that is UTF-8, and whether it is shorter.
#[cold]
#[inline(never)]
fn beginning(bytes: &[u8]) -> (&str, bool) {
    match core::str::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (core::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(), true),
    }
}

/// A type with the value that stands for an element that is not there.
pub trait Zero: Copy + 'static {
    /// That value.
    const ZERO: Self;
}

macro_rules! zeros {
    ($($type:ty = $zero:expr;)*) => {$(
        impl Zero for $type {
            const ZERO: Self = $zero;
        }
    )*};
}

zeros! {
    u8 = 0; u16 = 0; u32 = 0; u64 = 0; i8 = 0; i16 = 0; i32 = 0; i64 = 0; f32 = 0.0; f64 = 0.0;
    *const c_void = core::ptr::null();
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::Given;
    use crate::model::fields::{Delta, Fields, Text};
    use crate::model::raw::Ahead;

    #[test]
    fn what_of_a_string_can_be_used() {
        let check = |bytes: &[u8], len: usize, expected: (&str, bool)| {
            // SAFETY: `len` is the length of the bytes, or beyond the limit, as they are.
            assert_eq!(unsafe { super::text::<8>(bytes.as_ptr(), len) }, expected, "{bytes:?} {len}");
        };
        check(b"", 0, ("", false));
        check(b"exactly8", 8, ("exactly8", false));
        check(b"longer than 8", 13, ("longer t", true));
        check(b"longer than 8", isize::MAX as usize, ("longer t", true));
        check(b"negative", (-1_isize) as usize, ("", true));
        check("Größe".as_bytes(), 7, ("Größe", false));
        check("1234567ö".as_bytes(), 9, ("1234567", true));
        check(b"cut\xff", 4, ("cut", true));
        check(b"12345\xff78", 8, ("12345", true));
        check(b"1234567\xff", 8, ("1234567", true));
        check("123456ö".as_bytes(), 8, ("123456ö", false));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { super::text::<8>(core::ptr::null(), 3) }, ("", true));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { super::text::<8>(core::ptr::null(), 0) }, ("", false));
    }

    #[test]
    fn each_byte_of_a_string_is_looked_at() {
        for len in 0..40 {
            let mut bytes = vec![b'a'; len];
            assert!(super::is_ascii(&bytes), "{len} bytes");
            for at in 0..len {
                bytes[at] = 0x80;
                assert!(!super::is_ascii(&bytes), "byte {at} of {len}");
                bytes[at] = 0x7f;
            }
        }
    }

    #[test]
    fn a_field_is_truncated_if_its_argument_was() {
        let check = |field: Given<Text<'_, 2>>, truncated: u64, is_short: bool| {
            let (mut room, slots): ([u8; 64], [Cell<u64>; 0]) = ([0; 64], []);
            let short = Fields::<0>::put_short(&field, Ahead::new(room.as_mut_ptr()), &slots);
            assert_eq!((Fields::<0>::truncated(&field), short.is_some()), (truncated, is_short));
            assert_eq!(Fields::<0>::bound(&field), Fields::<0>::bound(&field.0));
        };
        check(Given(Text("ab"), false), 0, true);
        check(Given(Text("ab"), true), 1, false);
        check(Given(Text("abc"), false), 1, false);
        check(Given(Text("abc"), true), 1, false);
        let slots = [Cell::new(0)];
        Given(Delta::<0>(7), false).keep(&slots);
        assert_eq!(slots[0].get(), 7);
    }

    #[test]
    fn a_list_is_converted_as_a_whole() {
        let check = |list: &[u8], expected: Option<([u8; 3], usize)>| {
            let convert = |value: u8| (value < 10).then_some(value + 100);
            assert_eq!(super::converted::<u8, u8, 3>(list, 7, convert), expected, "{list:?}");
        };
        check(&[], Some(([7, 7, 7], 0)));
        check(&[1, 2], Some(([101, 102, 7], 2)));
        check(&[1, 2, 3], Some(([101, 102, 103], 3)));
        check(&[1, 2, 3, 10], Some(([101, 102, 103], 3)));
        check(&[1, 10], None);
    }

    #[test]
    fn what_of_a_list_can_be_used() {
        let three = [1_u32, 2, 3];
        // SAFETY: there are as many elements, or more than the limit, or the pointer is null.
        unsafe {
            assert_eq!(super::list::<u32, 4>(three.as_ptr(), 3), (&three[..], false));
            assert_eq!(super::list::<u32, 2>(three.as_ptr(), 3), (&three[..2], true));
            assert_eq!(super::list::<u32, 2>(three.as_ptr(), usize::MAX), (&[][..], true));
            assert_eq!(super::list::<u32, 2>(core::ptr::null(), 1), (&[][..], true));
            assert_eq!(super::array::<u32, 3>(three.as_ptr()), (three, false));
            assert_eq!(super::array::<u32, 3>(core::ptr::null()), ([0; 3], true));
        }
    }
}
