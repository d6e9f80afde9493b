//! Rows of a table.

use std::sync::Arc;

use crate::batch::column::ColumnData;
use crate::batch::data::Data;
use crate::model::column::Column;
use crate::model::table::Table;

/// Rows of one table, as columns.
#[derive(Debug, Clone)]
pub struct Batch {
    pub(crate) table: Arc<Table>,
    pub(crate) rows: usize,
    pub(crate) columns: Vec<ColumnData>,
}

impl Batch {
    /// Makes rows of a table of the caller's. Returns `None` if the columns are not those of the
    /// table, differ in length, or have no rows.
    pub fn new(table: &Arc<Table>, columns: Vec<ColumnData>) -> Option<Batch> {
        let rows = columns.first()?.data().len();
        let is_of = |(data, column): (&ColumnData, &Column)| {
            let is_typed =
                std::mem::discriminant(data.data()) == std::mem::discriminant(&Data::new(&column.ty));
            let has_validity = data.validity().is_none_or(|bits| bits.len() == rows && column.is_nullable);
            is_typed && has_validity && data.data().len() == rows
        };
        let is_whole = rows > 0 && columns.len() == table.columns.len();
        let fits = is_whole && columns.iter().zip(&table.columns).all(is_of);
        fits.then(|| Batch { table: table.clone(), rows, columns })
    }

    /// Returns the table, with the columns that the batch has.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the number of rows, which is at least 1.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the columns in the order of the table's.
    pub fn columns(&self) -> &[ColumnData] {
        &self.columns
    }

    /// Returns a column by its name.
    pub fn column(&self, name: &str) -> Option<&ColumnData> {
        let index = self.table.columns.iter().position(|column| column.name == name)?;
        self.columns.get(index)
    }

    /// Returns the columns by value, in the order of the table's.
    pub fn into_columns(self) -> Vec<ColumnData> {
        self.columns
    }
}
