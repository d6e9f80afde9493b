//! The traits and types that generated decoders use.
//!
//! The stream's registry is compared with the program's once, event by event. Events of the same
//! form are then read by the code that was generated for them.

use std::fmt;
use std::marker::PhantomData;

pub use telemetry_format::{Cursor, Label, Malformed};

use crate::values::raw::Raw;

/// The decoders of a registry. `#[telemetry_event(..., decode)]` generates them, as `Decoder`.
pub trait Typed {
    /// The enum of the registry's events.
    type Event<'a>;

    /// The registry in its canonical form.
    const REGISTRY: &'static str;

    /// Reads the parameters of an event, by its index in the registry, and calls `then` with the
    /// event. The call is in the match arm of the event. So the compiler leaves out the code of
    /// `then` for other events.
    ///
    /// # Errors
    /// If the source's values are not those of the event.
    fn read<'a, S: Source<'a>, T>(
        event: u32,
        source: &mut S,
        then: impl FnOnce(&mut S, Self::Event<'a>) -> T,
    ) -> Result<T, Malformed>;
}

/// A source of an event's parameters, in order: encoded bytes, or an event that was decoded
/// generically.
pub trait Source<'a> {
    /// Returns true if there is a further value. Returns false before a parameter that was appended
    /// after the event was emitted.
    fn has_next(&self) -> bool;
    /// Returns the slots of the event's `N` parameters that are pointers, addresses or words, in
    /// their order. [`Source::keep`] takes them back after the last parameter.
    ///
    /// # Errors
    /// If the lane has fewer slots.
    fn slots<const N: usize>(&self) -> Result<[u64; N], Malformed>;
    /// Stores the slots.
    fn keep<const N: usize>(&mut self, slots: [u64; N]);
    /// Reads a pointer, address or word, and updates its slot.
    ///
    /// # Errors
    /// If the next value has another type, here and below.
    fn delta(&mut self, slot: &mut u64) -> Result<u64, Malformed>;
    /// Reads a delta of a parameter with an alignment, rotated by this number of bits.
    #[allow(missing_docs)]
    fn aligned(&mut self, slot: &mut u64, rotation: u32) -> Result<u64, Malformed>;
    /// Reads any other plain value.
    #[allow(missing_docs)]
    fn value<E: Element>(&mut self) -> Result<E::Item, Malformed>;
    /// Reads a byte string.
    #[allow(missing_docs)]
    fn bytes(&mut self) -> Result<&'a [u8], Malformed>;
    /// Reads a string.
    #[allow(missing_docs)]
    fn str(&mut self) -> Result<&'a str, Malformed>;
    /// Reads an array: of deltas, if it has a slot. If the number of elements is not fixed, their
    /// count comes first.
    #[allow(missing_docs)]
    fn list<E: Element>(
        &mut self,
        slot: Option<&mut u64>,
        count: Option<usize>,
    ) -> Result<List<'a, E>, Malformed>;
}

/// A type of plain values, with its encoding.
pub trait Element {
    /// The decoded type.
    type Item: fmt::Debug;
    /// The encoded number.
    type Repr: Repr;

    /// Converts an encoded number to a value.
    fn item(number: Self::Repr) -> Self::Item;

    /// Formats a value as `Debug` of events shows it.
    #[allow(missing_docs)]
    fn show(item: &Self::Item, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(item, f)
    }
}

/// An encoded number.
pub trait Repr: Sized {
    /// Its minimum length in bytes.
    const MIN_LEN: usize = 1;

    /// Reads a number. `base` is the base of a delta, and is set to the value.
    ///
    /// # Errors
    /// If the bytes are not those of such a number.
    fn read(cursor: &mut Cursor<'_>, base: &mut u64) -> Result<Self, Malformed>;

    /// Converts the bits that generic decoding stores. They are sign-extended for signed numbers.
    fn from_bits(bits: u64) -> Self;
}

/// A value as `Debug` of events shows it.
pub struct Shown<'a, E: Element>(pub &'a E::Item);

impl<E: Element> fmt::Debug for Shown<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        E::show(self.0, f)
    }
}

/// Formats a value of an enum: its name, or the type with a number that has no name.
#[allow(missing_docs)]
pub fn show_enum(
    ty: &str,
    item: &Result<impl fmt::Debug, impl fmt::Debug>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match item {
        Ok(value) => fmt::Debug::fmt(value, f),
        Err(number) => f.debug_tuple(ty).field(number).finish(),
    }
}

/// A number that is encoded as a delta: an element of an array of pointers, addresses or words.
#[derive(Debug, Clone, Copy)]
pub struct Delta(u64);

impl Repr for Delta {
    #[inline(always)]
    fn read(cursor: &mut Cursor<'_>, base: &mut u64) -> Result<Self, Malformed> {
        cursor.delta(base).map(Delta)
    }

    fn from_bits(bits: u64) -> Self {
        Delta(bits)
    }
}

impl Element for Delta {
    type Item = u64;
    type Repr = Delta;

    #[inline(always)]
    fn item(number: Delta) -> u64 {
        number.0
    }
}

impl Element for Label {
    type Item = Label;
    type Repr = u64;

    #[inline(always)]
    fn item(number: u64) -> Label {
        Label(number)
    }
}

macro_rules! plain {
    ($($ty:ident $min_len:literal |$cursor:ident| $read:expr, |$bits:ident| $from_bits:expr;)*) => {$(
        impl Repr for $ty {
            const MIN_LEN: usize = $min_len;

            #[inline(always)]
            fn read($cursor: &mut Cursor<'_>, _base: &mut u64) -> Result<Self, Malformed> {
                $read
            }

            #[inline(always)]
            fn from_bits($bits: u64) -> Self {
                $from_bits
            }
        }

        impl Element for $ty {
            type Item = $ty;
            type Repr = $ty;

            #[inline(always)]
            fn item(number: $ty) -> $ty {
                number
            }
        }
    )*};
}

plain! {
    u8 1 |cursor| cursor.byte(), |bits| bits as u8;
    u16 1 |cursor| cursor.unsigned_as(), |bits| bits as u16;
    u32 1 |cursor| cursor.unsigned_as(), |bits| bits as u32;
    u64 1 |cursor| cursor.unsigned(), |bits| bits;
    i8 1 |cursor| Ok(cursor.byte()? as i8), |bits| bits as i8;
    i16 1 |cursor| cursor.signed_as(), |bits| bits as i16;
    i32 1 |cursor| cursor.signed_as(), |bits| bits as i32;
    i64 1 |cursor| cursor.signed(), |bits| bits as i64;
    f32 4 |cursor| cursor.f32(), |bits| f32::from_bits(bits as u32);
    f64 8 |cursor| cursor.f64(), |bits| f64::from_bits(bits);
    bool 1 |cursor| cursor.bool(), |bits| bits != 0;
}

/// Encoded bytes, and the slots of the lane from the event's first one on.
pub(crate) struct Packed<'a, 's> {
    pub(crate) cursor: Cursor<'a>,
    pub(crate) slots: &'s mut [u64],
    /// A string was not UTF-8. Its bytes are correctly encoded.
    pub(crate) not_utf8: bool,
}

impl<'a> Source<'a> for Packed<'a, '_> {
    /// Encoded bytes are only read in place if the event has the same parameters.
    #[inline(always)]
    fn has_next(&self) -> bool {
        true
    }

    #[inline(always)]
    fn slots<const N: usize>(&self) -> Result<[u64; N], Malformed> {
        self.slots.first_chunk().copied().ok_or(Malformed::Truncated)
    }

    #[inline(always)]
    fn keep<const N: usize>(&mut self, slots: [u64; N]) {
        if let Some(kept) = self.slots.first_chunk_mut() {
            *kept = slots;
        }
    }

    #[inline(always)]
    fn delta(&mut self, slot: &mut u64) -> Result<u64, Malformed> {
        self.cursor.delta(slot)
    }

    #[inline(always)]
    fn aligned(&mut self, slot: &mut u64, rotation: u32) -> Result<u64, Malformed> {
        Ok(self.delta(slot)?.rotate_left(rotation))
    }

    #[inline(always)]
    fn value<E: Element>(&mut self) -> Result<E::Item, Malformed> {
        E::Repr::read(&mut self.cursor, &mut 0).map(E::item)
    }

    #[inline(always)]
    fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        self.cursor.bytes()
    }

    #[inline(always)]
    fn str(&mut self) -> Result<&'a str, Malformed> {
        let text = std::str::from_utf8(self.bytes()?);
        self.not_utf8 |= text.is_err();
        Ok(text.unwrap_or_default())
    }

    #[inline(always)]
    fn list<E: Element>(
        &mut self,
        slot: Option<&mut u64>,
        count: Option<usize>,
    ) -> Result<List<'a, E>, Malformed> {
        List::read(&mut self.cursor, slot.unwrap_or(&mut 0), count)
    }
}

/// An event that was decoded generically.
pub(crate) struct Decoded<'a, 'r> {
    pub(crate) raw: &'r [Raw],
    pub(crate) payload: &'a [u8],
    /// A string was not UTF-8.
    pub(crate) not_utf8: bool,
}

impl<'a, 'r> Decoded<'a, 'r> {
    #[inline(always)]
    fn next(&mut self) -> Result<&'r Raw, Malformed> {
        let (raw, rest) = self.raw.split_first().ok_or(Malformed::Truncated)?;
        self.raw = rest;
        Ok(raw)
    }

    fn run(&self, raw: &Raw) -> Result<&'a [u8], Malformed> {
        self.payload.get(raw.at as usize..raw.end as usize).ok_or(Malformed::Truncated)
    }
}

impl<'a> Source<'a> for Decoded<'a, '_> {
    #[inline(always)]
    fn has_next(&self) -> bool {
        !self.raw.is_empty()
    }

    #[inline(always)]
    fn slots<const N: usize>(&self) -> Result<[u64; N], Malformed> {
        Ok([0; N])
    }

    #[inline(always)]
    fn keep<const N: usize>(&mut self, _: [u64; N]) {}

    #[inline(always)]
    fn delta(&mut self, _: &mut u64) -> Result<u64, Malformed> {
        Ok(self.next()?.bits)
    }

    #[inline(always)]
    fn aligned(&mut self, slot: &mut u64, _: u32) -> Result<u64, Malformed> {
        self.delta(slot)
    }

    #[inline(always)]
    fn value<E: Element>(&mut self) -> Result<E::Item, Malformed> {
        Ok(E::item(E::Repr::from_bits(self.next()?.bits)))
    }

    #[inline(always)]
    fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let raw = self.next()?;
        self.run(raw)
    }

    #[inline(always)]
    fn str(&mut self) -> Result<&'a str, Malformed> {
        let text = std::str::from_utf8(self.bytes()?);
        self.not_utf8 |= text.is_err();
        Ok(text.unwrap_or_default())
    }

    fn list<E: Element>(
        &mut self,
        _: Option<&mut u64>,
        count: Option<usize>,
    ) -> Result<List<'a, E>, Malformed> {
        let raw = self.next()?;
        let mut cursor = Cursor::new(self.run(raw)?);
        let len = match count {
            Some(count) => count,
            None => cursor.count(E::Repr::MIN_LEN)?,
        };
        Ok(List { bytes: cursor.rest(), len, base: raw.bits, element: PhantomData })
    }
}

/// An array in the stream, whose elements are decoded on demand.
pub struct List<'a, E> {
    bytes: &'a [u8],
    len: usize,
    base: u64,
    element: PhantomData<E>,
}

impl<'a, E: Element> List<'a, E> {
    /// Reads an array, with a fixed number of elements or after their count.
    ///
    /// # Errors
    /// If the bytes are not those of such an array.
    #[inline(always)]
    pub fn read(cursor: &mut Cursor<'a>, slot: &mut u64, count: Option<usize>) -> Result<Self, Malformed> {
        let len = match count {
            Some(count) => count,
            None => cursor.count(E::Repr::MIN_LEN)?,
        };
        let (start, base) = (cursor.rest(), *slot);
        let mut last = base;
        for index in 0..len {
            E::Repr::read(cursor, &mut last)?;
            if index == 0 {
                *slot = last;
            }
        }
        let bytes = &start[..start.len() - cursor.rest().len()];
        Ok(List { bytes, len, base, element: PhantomData })
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the elements.
    pub fn iter(&self) -> ListIter<'a, E> {
        ListIter { cursor: Cursor::new(self.bytes), last: self.base, left: self.len, element: PhantomData }
    }
}

impl<E> Clone for List<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for List<'_, E> {}

impl<E: Element> fmt::Debug for List<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for item in self.iter() {
            list.entry(&Shown::<E>(&item));
        }
        list.finish()
    }
}

impl<E: Element<Item: PartialEq>> PartialEq for List<'_, E> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, E: Element> IntoIterator for List<'a, E> {
    type Item = E::Item;
    type IntoIter = ListIter<'a, E>;

    fn into_iter(self) -> ListIter<'a, E> {
        self.iter()
    }
}

/// The elements of a [`List`].
pub struct ListIter<'a, E> {
    cursor: Cursor<'a>,
    last: u64,
    left: usize,
    element: PhantomData<E>,
}

impl<E: Element> Iterator for ListIter<'_, E> {
    type Item = E::Item;

    fn next(&mut self) -> Option<E::Item> {
        self.left = self.left.checked_sub(1)?;
        // The bytes were read before, so they are well-formed.
        E::Repr::read(&mut self.cursor, &mut self.last).ok().map(E::item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<E: Element> ExactSizeIterator for ListIter<'_, E> {}

/// Returns the error for an index without an event.
#[cold]
pub fn unknown(event: u32) -> Malformed {
    Malformed::Value(event.into())
}
