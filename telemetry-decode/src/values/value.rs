//! The values of an event, borrowed from its block.

use std::fmt;

use telemetry_format::{Cursor, Encoding};
use telemetry_schema::{Sort, Type, TypeForm};

/// One value of a parameter. Its exact type is in the registry, with its name ([`crate::Param`]).
///
/// Two values are equal if they have the same variant and the same bits. So a NaN equals itself.
///
/// ```
/// use telemetry_decode::Value;
///
/// assert_eq!(Value::Word(4096).as_u64(), Some(4096));
/// assert_eq!(Value::Signed(-1).as_u64(), None);
/// assert_eq!(Value::Addr(0x7f00).to_string(), "0x7f00");
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// The address of something.
    Pointer(u64),
    /// An address in managed memory.
    Addr(u64),
    /// A size or count.
    Word(u64),
    /// `u8` to `u64`.
    Unsigned(u64),
    /// `i8` to `i64`.
    Signed(i64),
    /// `f32`.
    F32(f32),
    /// `f64`.
    F64(f64),
    /// `bool`.
    Bool(bool),
    /// Text, usually UTF-8.
    String(RawStr<'a>),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A number that stands for an interned string.
    Label(u64),
    /// A value of an enum or flags.
    Named(EnumValue<'a>),
    /// Several values of one type.
    Array(Array<'a>),
}

impl<'a> Value<'a> {
    /// Returns the value as an integer: pointers, addresses, words, integers, bools, labels, enums
    /// and flags.
    #[inline]
    pub fn as_i128(&self) -> Option<i128> {
        Some(match *self {
            Value::Pointer(n) | Value::Addr(n) | Value::Word(n) | Value::Unsigned(n) | Value::Label(n) => {
                n.into()
            }
            Value::Signed(n) => n.into(),
            Value::Bool(b) => b.into(),
            Value::Named(named) => named.number(),
            Value::F32(_) | Value::F64(_) | Value::String(_) | Value::Bytes(_) | Value::Array(_) => {
                return None;
            }
        })
    }

    /// Returns the value as a `u64`, if it is an integer that fits.
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::Pointer(n) | Value::Addr(n) | Value::Word(n) | Value::Unsigned(n) | Value::Label(n) => {
                Some(n)
            }
            _ => u64::try_from(self.as_i128()?).ok(),
        }
    }

    /// Returns the value as an `i64`, if it is an integer that fits.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Signed(n) => Some(n),
            _ => i64::try_from(self.as_i128()?).ok(),
        }
    }

    /// Returns the value of a `bool`.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Value::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// Returns the value as a float: `f32`, `f64`, or the float nearest to an integer.
    #[inline]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::F32(x) => Some(x.into()),
            Value::F64(x) => Some(x),
            _ => self.as_i128().map(|n| n as f64),
        }
    }

    /// Returns the bytes of a string or byte string.
    #[inline]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Value::String(text) => Some(text.0),
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the text of a string that is UTF-8.
    #[inline]
    pub fn as_str(&self) -> Option<&'a str> {
        match *self {
            Value::String(text) => std::str::from_utf8(text.0).ok(),
            _ => None,
        }
    }

    /// Makes a value of a type: numbers from their bits, strings from their bytes. `ty` is the enum
    /// or flags of a named type. Only the needed argument is evaluated.
    #[inline(always)]
    pub(crate) fn new(
        sort: Sort,
        bits: u64,
        run: impl FnOnce() -> &'a [u8],
        ty: impl FnOnce() -> Option<&'a Type>,
    ) -> Value<'a> {
        match sort {
            Sort::Pointer => Value::Pointer(bits),
            Sort::Addr => Value::Addr(bits),
            Sort::Word => Value::Word(bits),
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Value::Unsigned(bits),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Value::Signed(bits as i64),
            Sort::F32 => Value::F32(f32::from_bits(bits as u32)),
            Sort::F64 => Value::F64(f64::from_bits(bits)),
            Sort::Bool => Value::Bool(bits != 0),
            Sort::String => Value::String(RawStr(run())),
            Sort::Bytes => Value::Bytes(run()),
            Sort::Label => Value::Label(bits),
            Sort::Named(_) => Value::Named(EnumValue::of(bits, ty())),
        }
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits(),
            (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => a == b,
            _ => {
                std::mem::discriminant(self) == std::mem::discriminant(other)
                    && self.as_i128().is_some()
                    && self.as_i128() == other.as_i128()
            }
        }
    }
}

/// Formats for people: addresses in hexadecimal, enums and flags by name, text as it is.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Pointer(n) | Value::Addr(n) => write!(f, "{n:#x}"),
            Value::F32(x) => fmt::Display::fmt(x, f),
            Value::F64(x) => fmt::Display::fmt(x, f),
            Value::Bool(b) => fmt::Display::fmt(b, f),
            Value::String(text) => fmt::Display::fmt(text, f),
            Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::Named(named) => fmt::Display::fmt(named, f),
            Value::Array(array) => {
                f.write_str("[")?;
                for (index, value) in array.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { " " })?;
                    fmt::Display::fmt(&value, f)?;
                }
                f.write_str("]")
            }
            _ => write!(f, "{}", self.as_i128().unwrap_or_default()),
        }
    }
}

/// The bytes of a string, shown as text, with U+FFFD for bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawStr<'a>(pub &'a [u8]);

impl fmt::Display for RawStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("\u{fffd}")?;
            }
        }
        Ok(())
    }
}

impl<'a> From<&'a str> for RawStr<'a> {
    fn from(text: &'a str) -> Self {
        RawStr(text.as_bytes())
    }
}

/// A value of an enum or flags, with its type if known.
#[derive(Debug, Clone, Copy)]
pub struct EnumValue<'a> {
    bits: u64,
    signed: bool,
    ty: Option<&'a Type>,
}

impl<'a> EnumValue<'a> {
    /// Creates a value for [`crate::writer::Writer`], which knows the type by the parameter. The
    /// number has 64 bits: others wrap.
    pub fn new(number: i128) -> Self {
        EnumValue { bits: number as u64, signed: number < 0, ty: None }
    }

    /// Returns the value of a type with these bits.
    #[doc(hidden)]
    #[inline(never)]
    pub fn of(bits: u64, ty: Option<&'a Type>) -> Self {
        let signed = ty.is_some_and(|ty| ty.repr.int_range().is_some_and(|range| *range.start() < 0));
        EnumValue { bits, signed, ty }
    }

    /// Returns the number.
    pub fn number(&self) -> i128 {
        if self.signed { (self.bits as i64).into() } else { self.bits.into() }
    }

    /// Returns the type, for a value that was read from a stream.
    pub fn ty(&self) -> Option<&'a Type> {
        self.ty
    }

    /// Returns the name of an enum's value, or of flags that are exactly one of the named ones.
    /// Returns `None` for a number without a name.
    pub fn name(&self) -> Option<&'a str> {
        self.ty?.value(self.number()).map(|value| value.name.as_str())
    }
}

/// Formats an enum's name, or the names of flags joined by `|`, with the rest as a number.
impl fmt::Display for EnumValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name() {
            return f.write_str(name);
        }
        let Some(ty) = self.ty.filter(|ty| ty.form == TypeForm::Flags && self.bits != 0) else {
            return write!(f, "{}", self.number());
        };
        let (mut rest, mut between) = (self.bits, "");
        for value in &ty.values {
            let mask = value.number as u64;
            if mask != 0 && self.bits & mask == mask {
                write!(f, "{between}{}", value.name)?;
                (rest, between) = (rest & !mask, "|");
            }
        }
        if rest != 0 { write!(f, "{between}{rest:#x}") } else { Ok(()) }
    }
}

/// Several values of one type, decoded on demand.
#[derive(Debug, Clone, Copy)]
pub struct Array<'a>(Form<'a>);

#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    Values(&'a [Value<'a>]),
    Packed(Packed<'a>),
}

/// The elements as in the block. They are already checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) len: usize,
    /// The base of the first element, for a delta type.
    pub(crate) base: u64,
    pub(crate) sort: Sort,
    pub(crate) encoding: Encoding,
    pub(crate) ty: Option<&'a Type>,
}

impl<'a> Array<'a> {
    pub(crate) fn packed(packed: Packed<'a>) -> Self {
        Array(Form::Packed(packed))
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Values(values) => values.len(),
            Form::Packed(packed) => packed.len,
        }
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements in order.
    pub fn iter(&self) -> ArrayIter<'a> {
        ArrayIter(*self)
    }
}

impl<'a> From<&'a [Value<'a>]> for Array<'a> {
    fn from(values: &'a [Value<'a>]) -> Self {
        Array(Form::Values(values))
    }
}

impl PartialEq for Array<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = ArrayIter<'a>;

    fn into_iter(self) -> ArrayIter<'a> {
        ArrayIter(self)
    }
}

/// The elements of an [`Array`].
#[derive(Debug, Clone)]
pub struct ArrayIter<'a>(Array<'a>);

impl<'a> Iterator for ArrayIter<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        match &mut self.0.0 {
            Form::Values(values) => {
                let (first, rest) = values.split_first()?;
                *values = rest;
                Some(*first)
            }
            Form::Packed(packed) => {
                packed.len = packed.len.checked_sub(1)?;
                let mut cursor = Cursor::new(packed.bytes);
                let bits = packed.encoding.bits(&mut cursor, &mut packed.base).ok()?;
                packed.bytes = cursor.rest();
                // Strings cannot be in arrays.
                Some(Value::new(packed.sort, bits, || &[], || packed.ty))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl ExactSizeIterator for ArrayIter<'_> {}
