//! Rows of a side table, or of a table of the caller's.

use std::sync::Arc;

use crate::batch::column::Growing;
use crate::batch::data::Data;
use crate::batch::table_batch::Batch;
use crate::model::sides::Side;
use crate::model::table::Table;

/// The most rows of a batch, and the bytes of its texts.
const MAX_ROWS: usize = 64 << 10;
const MAX_BYTES: usize = 8 << 20;

/// A value for [`Rows`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// No value.
    None,
    /// The bits of a number.
    Bits(u64),
    /// A text.
    Text(&'a str),
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Cell::Bits(number)
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Cell::Bits(number.into())
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Cell::Bits(number as u64)
    }
}

impl From<bool> for Cell<'_> {
    fn from(truth: bool) -> Self {
        Cell::Bits(truth.into())
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(text)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::None, T::into)
    }
}

/// Collects rows of a table, cell by cell, and gives them as batches. It is for tables of few rows,
/// whose columns are numbers and texts.
///
/// ```
/// use std::sync::Arc;
/// use telemetry_columns::{Column, ColumnType, Rows, Table};
///
/// let name = Column::new("name", ColumnType::Utf8, "the name of the host");
/// let cpus = Column::new("cpus", ColumnType::U32, "the number of its processors");
/// let mut rows = Rows::new(Arc::new(Table::of_columns("host", "the hosts", vec![name, cpus])));
/// rows.push(["h7".into(), 16_u32.into()]);
/// assert_eq!(rows.finish().map(|batch| batch.rows()), Some(1));
/// ```
#[derive(Debug)]
pub struct Rows {
    table: Arc<Table>,
    columns: Vec<Growing>,
    rows: usize,
    /// Bytes of texts since the last batch.
    bytes: usize,
}

impl Rows {
    /// Makes a table without rows.
    pub fn new(table: Arc<Table>) -> Rows {
        let columns = table.columns.iter().map(|column| Growing::new(&column.ty, 0)).collect();
        Rows { table, columns, rows: 0, bytes: 0 }
    }

    pub(crate) fn of_side(side: &Side) -> Rows {
        Rows::new(side.table())
    }

    /// Adds a row, with a cell for each column. Returns a batch if it is complete.
    pub fn push<const N: usize>(&mut self, cells: [Cell<'_>; N]) -> Option<Batch> {
        debug_assert_eq!(N, self.columns.len(), "{}", self.table.name);
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match (cell, &mut column.data) {
                (Cell::None, _) => {
                    column.add_missing(self.rows, 1);
                    continue;
                }
                (Cell::Text(text), Data::Runs(runs)) => {
                    runs.bytes.extend_from_slice(text.as_bytes());
                    runs.end_row();
                    self.bytes += text.len();
                }
                (Cell::Bits(bits), data) => data.push_bits(std::iter::once(bits)),
                (Cell::Text(_), data) => data.push_empty(1),
            }
            column.add_valid(1);
        }
        self.rows += 1;
        if self.rows < MAX_ROWS && self.bytes < MAX_BYTES { None } else { self.finish() }
    }

    /// Returns the rows as a batch, if there are any.
    pub fn finish(&mut self) -> Option<Batch> {
        if self.rows == 0 {
            return None;
        }
        let of = self.columns.iter_mut().zip(&self.table.columns);
        let columns = of.map(|(growing, column)| growing.take(Data::new(&column.ty))).collect();
        let batch = Batch { table: self.table.clone(), rows: self.rows, columns };
        (self.rows, self.bytes) = (0, 0);
        Some(batch)
    }
}
