//! Rows of a table.

use std::io;
use std::sync::Arc;

use crate::batch::column::ColumnData;
use crate::batch::error::{Error, Result};
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

    /// Refuses a batch whose columns are not those of a file's table.
    #[cfg(any(feature = "ipc", feature = "parquet"))]
    pub(crate) fn expect_columns_of(&self, table: &Arc<Table>) -> Result<()> {
        if Arc::ptr_eq(table, &self.table) || table.columns == self.table.columns {
            return Ok(());
        }
        let text = format!(
            "the columns of `{}` changed after its file was begun, and a file has one list of columns; \
             help: name all registries first",
            table.name
        );
        Err(Error::Write(io::Error::new(io::ErrorKind::InvalidInput, text)))
    }
}
