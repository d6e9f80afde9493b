//! The values of a message: copies of the emitter's arguments, with strings and arrays up to their
//! `max`.
#![allow(unsafe_code)]

use core::convert::Infallible;
use core::fmt;
use core::mem::MaybeUninit;

use telemetry_format::{Label, put};

/// A string of at most `MAX` bytes.
pub type Text<const MAX: usize> = Run<MAX, true>;

/// At most `MAX` bytes.
pub type Bytes<const MAX: usize> = Run<MAX, false>;

/// Bytes of a parameter, which are UTF-8 if `IS_TEXT`.
#[derive(Clone, Copy)]
pub struct Run<const MAX: usize, const IS_TEXT: bool>(List<u8, MAX>);

/// An array of at most `MAX` elements.
#[derive(Clone, Copy)]
pub struct List<T: Copy, const MAX: usize> {
    len: u32,
    elements: [MaybeUninit<T>; MAX],
}

impl<T: Copy, const MAX: usize> List<T, MAX> {
    /// Copies as many of the elements as there is room for.
    #[inline]
    pub fn new(elements: impl IntoIterator<Item = T>) -> Self {
        let mut list = List { len: 0, elements: [const { MaybeUninit::uninit() }; MAX] };
        for (place, element) in list.elements.iter_mut().zip(elements) {
            place.write(element);
            list.len += 1;
        }
        list
    }

    /// Returns the elements.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `len` elements were written, which is at most the capacity.
        unsafe { core::slice::from_raw_parts(self.elements.as_ptr().cast(), self.len as usize) }
    }
}

impl<const MAX: usize> Run<MAX, true> {
    /// Copies the string, truncated between characters.
    #[inline]
    pub fn new(text: &str) -> Self {
        Run(List::bytes(put::truncate(text, MAX).as_bytes()))
    }

    /// Returns the string.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.0.as_slice()).unwrap_or_default()
    }
}

impl<const MAX: usize> Run<MAX, false> {
    /// Copies the bytes, truncated.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        Run(List::bytes(&bytes[..bytes.len().min(MAX)]))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl<const MAX: usize> List<u8, MAX> {
    fn bytes(bytes: &[u8]) -> Self {
        let mut list = List { len: 0, elements: [const { MaybeUninit::uninit() }; MAX] };
        let len = bytes.len().min(MAX);
        list.elements.iter_mut().zip(bytes).for_each(|(element, byte)| _ = element.write(*byte));
        list.len = len as u32;
        list
    }
}

impl<T: Copy + fmt::Debug, const MAX: usize> fmt::Debug for List<T, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl<const MAX: usize, const IS_TEXT: bool> fmt::Debug for Run<MAX, IS_TEXT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth(0) {
            Some(Value::Text(text)) => text.fmt(f),
            _ => self.0.fmt(f),
        }
    }
}

/// One value of a message, for code that knows the parameters by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'v> {
    /// A pointer, address, word, unsigned number or label, or a type that is encoded as one.
    Unsigned(u64),
    /// A signed number, or a type that is encoded as one.
    Signed(i64),
    /// A float.
    Real(f64),
    /// A `bool`.
    Bool(bool),
    /// A `string`.
    Text(&'v str),
    /// A `bytes`.
    Bytes(&'v [u8]),
}

macro_rules! from {
    ($($value:ident of $($ty:ty)*;)*) => {$($(
        impl From<$ty> for Value<'_> {
            fn from(value: $ty) -> Self {
                Value::$value(value.into())
            }
        }
    )*)*};
}

from! {
    Unsigned of u8 u16 u32 u64;
    Signed of i8 i16 i32 i64;
}

/// The values of a parameter in a message.
pub trait Valued {
    /// Returns the number of values: the length of an array, else one.
    fn count(&self) -> usize {
        1
    }
    /// Returns the value with this index.
    fn nth(&self, index: usize) -> Option<Value<'_>>;
}

/// The parameters of a message by name. An end also has those of its begin, unless it has one with
/// the name.
pub trait Values {
    /// Returns the parameter with this name.
    fn find(&self, name: &str) -> Option<&dyn Valued>;
}

/// The values of an end, for messages that have none.
impl Values for Infallible {
    fn find(&self, _: &str) -> Option<&dyn Valued> {
        match *self {}
    }
}

macro_rules! valued {
    ($($ty:ty => $value:ident $convert:expr;)*) => {$(
        impl Valued for $ty {
            fn nth(&self, index: usize) -> Option<Value<'_>> {
                (index == 0).then_some(Value::$value($convert(*self)))
            }
        }
    )*};
}

valued! {
    u8 => Unsigned u64::from;
    u16 => Unsigned u64::from;
    u32 => Unsigned u64::from;
    u64 => Unsigned u64::from;
    i8 => Signed i64::from;
    i16 => Signed i64::from;
    i32 => Signed i64::from;
    i64 => Signed i64::from;
    f32 => Real f64::from;
    f64 => Real f64::from;
    bool => Bool bool::from;
    Label => Unsigned |label: Label| label.0;
}

impl<const MAX: usize, const IS_TEXT: bool> Valued for Run<MAX, IS_TEXT> {
    fn nth(&self, index: usize) -> Option<Value<'_>> {
        let bytes = self.0.as_slice();
        (index == 0).then(|| match IS_TEXT {
            true => Value::Text(core::str::from_utf8(bytes).unwrap_or_default()),
            false => Value::Bytes(bytes),
        })
    }
}

impl<T: Copy + Valued, const MAX: usize> Valued for List<T, MAX> {
    fn count(&self) -> usize {
        self.len as usize
    }

    fn nth(&self, index: usize) -> Option<Value<'_>> {
        self.as_slice().get(index)?.nth(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the values of a parameter, and that there are no more.
    #[track_caller]
    fn check(valued: &dyn Valued, expected: &[Value<'_>]) {
        let values: Vec<_> = (0..expected.len() + 2).map_while(|index| valued.nth(index)).collect();
        assert_eq!(values, expected);
        assert_eq!(valued.count(), expected.len());
    }

    #[test]
    fn a_number_is_one_value() {
        check(&7_u8, &[Value::Unsigned(7)]);
        check(&u64::MAX, &[Value::Unsigned(u64::MAX)]);
        check(&-7_i8, &[Value::Signed(-7)]);
        check(&i64::MIN, &[Value::Signed(i64::MIN)]);
        check(&1.5_f32, &[Value::Real(1.5)]);
        check(&-1.5_f64, &[Value::Real(-1.5)]);
        check(&true, &[Value::Bool(true)]);
        check(&Label(9), &[Value::Unsigned(9)]);
        assert_eq!([Value::from(7_u16), Value::from(-7_i32)], [Value::Unsigned(7), Value::Signed(-7)]);
    }

    #[test]
    fn strings_and_arrays_end_at_their_limit() {
        for (given, expected) in
            [("", ""), ("abcd", "abcd"), ("abcde", "abcd"), ("abcä", "abc"), ("äöü", "äö")]
        {
            let text = Text::<4>::new(given);
            assert_eq!((text.as_str(), format!("{text:?}")), (expected, format!("{expected:?}")));
            check(&text, &[Value::Text(expected)]);
        }
        let bytes = Bytes::<2>::new(&[1, 2, 3]);
        assert_eq!((bytes.as_bytes(), format!("{bytes:?}")), (&[1, 2][..], "[1, 2]".to_owned()));
        check(&bytes, &[Value::Bytes(&[1, 2])]);
        check(&Bytes::<2>::new(&[]), &[Value::Bytes(&[])]);
        let list = List::<u16, 3>::new([1, 2, 3, 4]);
        assert_eq!((list.as_slice(), format!("{list:?}")), (&[1, 2, 3][..], "[1, 2, 3]".to_owned()));
        check(&list, &[Value::Unsigned(1), Value::Unsigned(2), Value::Unsigned(3)]);
        check(&List::<i8, 3>::new([-1]), &[Value::Signed(-1)]);
    }
}
