//! The values of a column in memory.

use std::sync::Arc;

use crate::model::column::ColumnType;

/// The values of a column. The variant follows from the column's type. A row without a value has a
/// zero, or an empty range.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Data {
    /// Of `Bool`.
    Bool(Bits),
    /// Of `I8`.
    I8(Vec<i8>),
    /// Of `I16`.
    I16(Vec<i16>),
    /// Of `I32`.
    I32(Vec<i32>),
    /// Of `I64` and `Timestamp`.
    I64(Vec<i64>),
    /// Of `U8`.
    U8(Vec<u8>),
    /// Of `U16`.
    U16(Vec<u16>),
    /// Of `U32`.
    U32(Vec<u32>),
    /// Of `U64`.
    U64(Vec<u64>),
    /// Of `F32`, with the bits of each NaN.
    F32(Vec<f32>),
    /// Of `F64`, with the bits of each NaN.
    F64(Vec<f64>),
    /// Of `Utf8` and `Binary`. The bytes of `Utf8` are valid.
    Runs(Runs),
    /// Of `Dictionary`.
    Dictionary {
        /// By row: the index of the text.
        keys: Vec<u32>,
        /// The texts, each once. Batches share them while none is added.
        values: Arc<Runs>,
    },
    /// Of `List`.
    List {
        /// The start of each row in the items, and at last the number of items.
        offsets: Vec<i32>,
        /// The items of all rows.
        items: Box<Items>,
    },
}

/// The items of lists.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Items {
    /// The values.
    pub data: Data,
    /// A bit for each item that is set if the item has a value; none if all have one.
    pub validity: Option<Bits>,
}

/// Bits, eight in a byte, the lowest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

/// Strings or byte strings, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Runs {
    /// The start of each row in the bytes, and at last the number of bytes.
    pub offsets: Vec<i32>,
    /// The bytes of all rows.
    pub bytes: Vec<u8>,
}

impl Data {
    /// Returns no values of a type.
    pub(crate) fn new(ty: &ColumnType) -> Data {
        match ty {
            ColumnType::Bool => Data::Bool(Bits::default()),
            ColumnType::I8 => Data::I8(Vec::new()),
            ColumnType::I16 => Data::I16(Vec::new()),
            ColumnType::I32 => Data::I32(Vec::new()),
            ColumnType::I64 | ColumnType::Timestamp => Data::I64(Vec::new()),
            ColumnType::U8 => Data::U8(Vec::new()),
            ColumnType::U16 => Data::U16(Vec::new()),
            ColumnType::U32 => Data::U32(Vec::new()),
            ColumnType::U64 => Data::U64(Vec::new()),
            ColumnType::F32 => Data::F32(Vec::new()),
            ColumnType::F64 => Data::F64(Vec::new()),
            ColumnType::Utf8 | ColumnType::Binary => Data::Runs(Runs::default()),
            ColumnType::Dictionary => Data::Dictionary { keys: Vec::new(), values: Arc::default() },
            ColumnType::List(items) => {
                let items = Items { data: Data::new(items), validity: None };
                Data::List { offsets: vec![0], items: Box::new(items) }
            }
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Data::Bool(bits) => bits.len,
            Data::I8(all) => all.len(),
            Data::I16(all) => all.len(),
            Data::I32(all) => all.len(),
            Data::I64(all) => all.len(),
            Data::U8(all) => all.len(),
            Data::U16(all) => all.len(),
            Data::U32(all) => all.len(),
            Data::U64(all) => all.len(),
            Data::F32(all) => all.len(),
            Data::F64(all) => all.len(),
            Data::Runs(runs) => runs.len(),
            Data::Dictionary { keys, .. } => keys.len(),
            Data::List { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the allocated memory, without that of shared texts.
    pub(crate) fn room(&self) -> usize {
        match self {
            Data::Bool(bits) => bits.bytes.capacity(),
            Data::I8(all) => all.capacity(),
            Data::U8(all) => all.capacity(),
            Data::I16(all) => all.capacity() * 2,
            Data::U16(all) => all.capacity() * 2,
            Data::I32(all) => all.capacity() * 4,
            Data::U32(all) => all.capacity() * 4,
            Data::F32(all) => all.capacity() * 4,
            Data::I64(all) => all.capacity() * 8,
            Data::U64(all) => all.capacity() * 8,
            Data::F64(all) => all.capacity() * 8,
            Data::Runs(runs) => runs.offsets.capacity() * 4 + runs.bytes.capacity(),
            Data::Dictionary { keys, .. } => keys.capacity() * 4,
            Data::List { offsets, items } => offsets.capacity() * 4 + items.data.room(),
        }
    }

    /// Removes all rows, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        match self {
            Data::Bool(bits) => {
                bits.bytes.clear();
                bits.len = 0;
            }
            Data::I8(all) => all.clear(),
            Data::I16(all) => all.clear(),
            Data::I32(all) => all.clear(),
            Data::I64(all) => all.clear(),
            Data::U8(all) => all.clear(),
            Data::U16(all) => all.clear(),
            Data::U32(all) => all.clear(),
            Data::U64(all) => all.clear(),
            Data::F32(all) => all.clear(),
            Data::F64(all) => all.clear(),
            Data::Runs(runs) => {
                runs.offsets.truncate(1);
                runs.bytes.clear();
            }
            Data::Dictionary { keys, values } => {
                keys.clear();
                *values = Arc::default();
            }
            Data::List { offsets, items } => {
                offsets.truncate(1);
                items.data.clear();
                items.validity = None;
            }
        }
    }

    /// Makes space for further rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        match self {
            Data::Bool(bits) => bits.bytes.reserve(rows / 8 + 1),
            Data::I8(all) => all.reserve(rows),
            Data::I16(all) => all.reserve(rows),
            Data::I32(all) => all.reserve(rows),
            Data::I64(all) => all.reserve(rows),
            Data::U8(all) => all.reserve(rows),
            Data::U16(all) => all.reserve(rows),
            Data::U32(all) => all.reserve(rows),
            Data::U64(all) => all.reserve(rows),
            Data::F32(all) => all.reserve(rows),
            Data::F64(all) => all.reserve(rows),
            Data::Runs(runs) => runs.offsets.reserve(rows),
            Data::Dictionary { keys, .. } => keys.reserve(rows),
            Data::List { offsets, .. } => offsets.reserve(rows),
        }
    }

    /// Adds numbers by their bits. Other data takes none.
    #[inline]
    pub(crate) fn push_bits(&mut self, bits: impl ExactSizeIterator<Item = u64>) {
        match self {
            Data::Bool(all) => bits.for_each(|bits| all.push(bits != 0)),
            Data::I8(all) => all.extend(bits.map(|bits| bits as i8)),
            Data::I16(all) => all.extend(bits.map(|bits| bits as i16)),
            Data::I32(all) => all.extend(bits.map(|bits| bits as i32)),
            Data::I64(all) => all.extend(bits.map(|bits| bits as i64)),
            Data::U8(all) => all.extend(bits.map(|bits| bits as u8)),
            Data::U16(all) => all.extend(bits.map(|bits| bits as u16)),
            Data::U32(all) => all.extend(bits.map(|bits| bits as u32)),
            Data::U64(all) => all.extend(bits),
            Data::F32(all) => all.extend(bits.map(|bits| f32::from_bits(bits as u32))),
            Data::F64(all) => all.extend(bits.map(f64::from_bits)),
            Data::Dictionary { keys, .. } => keys.extend(bits.map(|bits| bits as u32)),
            Data::Runs(_) | Data::List { .. } => {}
        }
    }

    /// Adds rows without values.
    pub(crate) fn push_empty(&mut self, rows: usize) {
        match self {
            Data::Runs(runs) => runs.offsets.resize(runs.offsets.len() + rows, runs.end()),
            Data::List { offsets, .. } => {
                let end = offsets.last().copied().unwrap_or_default();
                offsets.resize(offsets.len() + rows, end);
            }
            _ => self.push_bits(std::iter::repeat_n(0, rows)),
        }
    }
}

impl Bits {
    /// Returns bits that are all set.
    pub(crate) fn all_set(len: usize) -> Bits {
        let mut bits = Bits { bytes: vec![0xff; len / 8], len: len / 8 * 8 };
        (bits.len..len).for_each(|_| bits.push(true));
        bits
    }

    /// Adds a bit.
    #[inline]
    pub(crate) fn push(&mut self, bit: bool) {
        let at = self.len % 8;
        match self.bytes.last_mut() {
            Some(last) if at != 0 => *last |= u8::from(bit) << at,
            _ => self.bytes.push(bit.into()),
        }
        self.len += 1;
    }

    /// Returns the bytes. The bits of the last byte after the last one are 0.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes by value.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a bit by its index.
    pub fn get(&self, index: usize) -> Option<bool> {
        (index < self.len).then(|| self.bytes[index / 8] >> (index % 8) & 1 == 1)
    }
}

impl Default for Runs {
    fn default() -> Self {
        Runs { offsets: vec![0], bytes: Vec::new() }
    }
}

impl Runs {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a row by its index.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = (self.offsets.get(index)?, self.offsets.get(index + 1)?);
        self.bytes.get(*start as usize..*end as usize)
    }

    /// Ends the row whose bytes were added.
    pub(crate) fn end_row(&mut self) {
        let end = self.bytes.len() as i32;
        self.offsets.push(end);
    }

    fn end(&self) -> i32 {
        self.offsets.last().copied().unwrap_or_default()
    }
}
