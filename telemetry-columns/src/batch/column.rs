//! A column of a batch, and its growth.

use std::borrow::Cow;

use telemetry_decode::EnumValue;
use telemetry_schema::{Type, TypeForm};

use crate::batch::data::{Bits, Data, Items};
use crate::batch::names::Names;
use crate::batch::plan::{Fill, NONE};
use crate::model::column::ColumnType;

/// The values of a column of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnData {
    data: Data,
    validity: Option<Bits>,
}

impl ColumnData {
    /// Returns a column for [`Batch::new`](crate::Batch::new). The validity has a bit for each row.
    pub fn new(data: Data, validity: Option<Bits>) -> ColumnData {
        ColumnData { data, validity }
    }

    /// Returns the values. A row without a value has any value there.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Returns a bit for each row that is set if the row has a value; none if all rows have one.
    pub fn validity(&self) -> Option<&Bits> {
        self.validity.as_ref()
    }

    /// Returns true if a row has a value.
    pub fn has_value(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|bits| bits.get(row) == Some(true))
    }

    /// Returns a column of the same type and with as many rows, none of which has a value.
    #[must_use]
    pub fn without_values(self) -> ColumnData {
        let rows = self.data.len();
        let mut data = self.emptied();
        data.push_empty(rows);
        let mut validity = Bits::default();
        (0..rows).for_each(|_| validity.push(false));
        ColumnData { data, validity: Some(validity) }
    }

    /// Removes all rows, and returns the memory of the values.
    pub(crate) fn emptied(mut self) -> Data {
        self.data.clear();
        self.data
    }

    /// Returns the values and the validity by value.
    pub fn into_parts(self) -> (Data, Option<Bits>) {
        (self.data, self.validity)
    }
}

/// A column to which rows are added.
#[derive(Debug)]
pub(crate) struct Growing {
    pub(crate) data: Data,
    pub(crate) validity: Option<Bits>,
    /// The texts, for a column with a dictionary.
    pub(crate) names: Option<Names>,
    /// Memory for the keys of the latest rows.
    keys: Vec<u64>,
}

impl Growing {
    /// Makes a column whose first rows have no value.
    pub(crate) fn new(ty: &ColumnType, missing: usize) -> Growing {
        let has_names = match ty {
            ColumnType::List(items) => **items == ColumnType::Dictionary,
            ty => *ty == ColumnType::Dictionary,
        };
        let names = has_names.then(Names::default);
        let mut growing = Growing { data: Data::new(ty), validity: None, names, keys: Vec::new() };
        growing.add_missing(0, missing);
        growing
    }

    /// Adds rows from the cells of a stage. `before` is the number of earlier rows.
    pub(crate) fn fill(&mut self, fill: &Fill, before: usize, rows: usize, cells: &[impl AsRef<[u64]>]) {
        let cells = |cell: &usize| cells.get(*cell).map_or(&[][..], |cells| &cells.as_ref()[..rows]);
        match fill {
            Fill::Unwanted => {}
            Fill::Missing => self.add_missing(before, rows),
            Fill::Bits(cell) => {
                self.data.push_bits(cells(cell).iter().copied());
                self.add_valid(rows);
            }
            Fill::BitsOrNone(cell) => self.add_bits_or_none(before, cells(cell)),
            Fill::Names { cell, ty } => {
                let Some(names) = &mut self.names else { return };
                let key = |number: &u64| names.key(0, *number, || name(*number, ty));
                let mut keys = std::mem::take(&mut self.keys);
                keys.clear();
                keys.extend(cells(cell).iter().map(key));
                self.add_bits_or_none(before, &keys);
                self.keys = keys;
            }
            Fill::Lengths(cell) => self.add_lengths(before, cells(cell)),
        }
    }

    /// Takes the rows for a batch. The next rows use the memory of `next`.
    pub(crate) fn take(&mut self, next: Data) -> ColumnData {
        let mut data = std::mem::replace(&mut self.data, next);
        if let Some(names) = &mut self.names {
            let texts = names.end_batch();
            match &mut data {
                Data::Dictionary { values, .. } => *values = texts,
                Data::List { items, .. } => {
                    if let Data::Dictionary { values, .. } = &mut items.data {
                        *values = texts;
                    }
                }
                _ => {}
            }
        }
        ColumnData { data, validity: self.validity.take() }
    }

    /// Returns the items of a column of lists.
    pub(crate) fn items(&mut self) -> Option<(&mut Items, Option<&mut Names>)> {
        match &mut self.data {
            Data::List { items, .. } => Some((items, self.names.as_mut())),
            _ => None,
        }
    }

    fn add_bits_or_none(&mut self, before: usize, bits: &[u64]) {
        self.data.push_bits(bits.iter().map(|bits| if *bits == NONE { 0 } else { *bits }));
        self.add_validity(before, bits);
    }

    fn add_lengths(&mut self, before: usize, lengths: &[u64]) {
        let ends = |offsets: &mut Vec<i32>| {
            let mut end = offsets.last().copied().unwrap_or_default();
            offsets.extend(lengths.iter().map(|length| {
                end += if *length == NONE { 0 } else { *length as i32 };
                end
            }));
        };
        match &mut self.data {
            Data::Runs(runs) => ends(&mut runs.offsets),
            Data::List { offsets, .. } => ends(offsets),
            _ => return,
        }
        self.add_validity(before, lengths);
    }

    /// Adds rows to the validity: those with [`NONE`] have no value.
    fn add_validity(&mut self, before: usize, cells: &[u64]) {
        if self.validity.is_none() {
            if !cells.contains(&NONE) {
                return;
            }
            self.validity = Some(Bits::all_set(before));
        }
        if let Some(validity) = &mut self.validity {
            cells.iter().for_each(|cell| validity.push(*cell != NONE));
        }
    }

    pub(crate) fn add_valid(&mut self, rows: usize) {
        if let Some(validity) = &mut self.validity {
            (0..rows).for_each(|_| validity.push(true));
        }
    }

    pub(crate) fn add_missing(&mut self, before: usize, rows: usize) {
        if rows == 0 {
            return;
        }
        self.data.push_empty(rows);
        let validity = self.validity.get_or_insert_with(|| Bits::all_set(before));
        (0..rows).for_each(|_| validity.push(false));
    }
}

impl Items {
    /// Adds a key, or an item without a value.
    pub(crate) fn push_key(&mut self, key: u64) {
        let before = self.data.len();
        if key == NONE && self.validity.is_none() {
            self.validity = Some(Bits::all_set(before));
        }
        self.data.push_bits(std::iter::once(if key == NONE { 0 } else { key }));
        if let Some(validity) = &mut self.validity {
            validity.push(key != NONE);
        }
    }
}

/// Returns the name of a number of an enum, or the names of flags joined by `|`, if it has one.
pub(crate) fn name(bits: u64, ty: &Type) -> Option<Cow<'_, str>> {
    let value = EnumValue::of(bits, Some(ty));
    match value.name() {
        Some(name) => Some(Cow::Borrowed(name)),
        None if ty.form == TypeForm::Flags && bits != 0 => Some(Cow::Owned(value.to_string())),
        None => None,
    }
}
