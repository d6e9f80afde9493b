//! The values of a message: copies of what the emitter was given, strings and arrays up to their `max`.
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
    /// As many of the elements as there is room for.
    #[inline]
    pub fn new(elements: impl IntoIterator<Item = T>) -> Self {
        let mut list = List { len: 0, elements: [const { MaybeUninit::uninit() }; MAX] };
        for (place, element) in list.elements.iter_mut().zip(elements) {
            place.write(element);
            list.len += 1;
        }
        list
    }

    /// The elements.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: so many were written, and there are at most so many places.
        unsafe { core::slice::from_raw_parts(self.elements.as_ptr().cast(), self.len as usize) }
    }
}

impl<const MAX: usize> Run<MAX, true> {
    /// The string, cut between characters.
    #[inline]
    pub fn new(text: &str) -> Self {
        Run(List::bytes(put::cut(text, MAX).as_bytes()))
    }

    /// The string.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.0.as_slice()).unwrap_or_default()
    }
}

impl<const MAX: usize> Run<MAX, false> {
    /// The bytes, cut.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        Run(List::bytes(&bytes[..bytes.len().min(MAX)]))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl<const MAX: usize> List<u8, MAX> {
    fn bytes(bytes: &[u8]) -> Self {
        let mut list = List { len: 0, elements: [const { MaybeUninit::uninit() }; MAX] };
        let len = bytes.len().min(MAX);
        list.elements[..len].write_copy_of_slice(&bytes[..len]);
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

/// One value of a message, for those who know its parameters by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'v> {
    /// Of pointers, addresses, words, unsigned numbers, labels, and types that such numbers carry.
    Unsigned(u64),
    /// Of signed numbers, and types that such numbers carry.
    Signed(i64),
    /// Of floats.
    Real(f64),
    /// Of `bool`.
    Bool(bool),
    /// Of `string`.
    Text(&'v str),
    /// Of `bytes`.
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

/// What a parameter has in a message.
pub trait Valued {
    /// How many values there are: of an array its elements, else one.
    fn count(&self) -> usize {
        1
    }
    /// The value of an index.
    fn nth(&self, index: usize) -> Option<Value<'_>>;
}

/// A message's parameters by name: of an end those of its begin too, where it has none of the name itself.
pub trait Values {
    /// The parameter of a name.
    fn find(&self, name: &str) -> Option<&dyn Valued>;
}

/// What ends where nothing does.
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
