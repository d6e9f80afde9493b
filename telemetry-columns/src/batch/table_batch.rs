//! Rows of a table.

use std::sync::Arc;

use crate::batch::column::ColumnData;
use crate::model::table::Table;

/// Rows of one table, as columns.
#[derive(Debug, Clone)]
pub struct Batch {
    pub(crate) table: Arc<Table>,
    pub(crate) rows: usize,
    pub(crate) columns: Vec<ColumnData>,
}

impl Batch {
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
