//! Row groups, which are encoded by themselves.

use std::fmt;
use std::io;
use std::sync::Arc;

use ::parquet::column::writer::{ColumnCloseResult, get_column_writer};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::WriterPropertiesPtr;
use ::parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use ::parquet::schema::types::SchemaDescPtr;
use bytes::Bytes;

use crate::batch::error::{self, Error};
use crate::batch::table_batch::Batch;
use crate::model::table::Table;
use crate::parquet::cells;

/// What all row groups of a file share.
pub(super) struct Form {
    pub(super) table: Arc<Table>,
    pub(super) schema: SchemaDescPtr,
    pub(super) properties: WriterPropertiesPtr,
}

/// The rows of a row group. Any thread can encode them.
#[must_use = "its rows are not in the file yet"]
pub struct RowGroup {
    pub(super) form: Arc<Form>,
    pub(super) batches: Vec<Batch>,
}

/// The bytes of a row group, for
/// [`ParquetWriter::append`](crate::ParquetWriter::append).
#[must_use = "its rows are not in the file yet"]
pub struct EncodedRowGroup {
    pub(super) form: Arc<Form>,
    pub(super) columns: Vec<(Bytes, ColumnCloseResult)>,
}

impl fmt::Debug for RowGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowGroup").field("table", &self.form.table.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for EncodedRowGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedRowGroup").field("table", &self.form.table.name).finish_non_exhaustive()
    }
}

impl RowGroup {
    /// Returns the table.
    pub fn table(&self) -> &Arc<Table> {
        &self.form.table
    }

    /// Encodes and compresses the rows.
    ///
    /// # Errors
    /// If the columns are not those of the table.
    pub fn encode(self) -> error::Result<EncodedRowGroup> {
        let RowGroup { form, batches } = self;
        let columns = (0..form.table.columns.len()).map(|index| encode(&form, index, &batches));
        let columns = columns.collect::<Result<_>>().map_err(failed)?;
        Ok(EncodedRowGroup { form, columns })
    }
}

impl EncodedRowGroup {
    /// Returns the table.
    pub fn table(&self) -> &Arc<Table> {
        &self.form.table
    }
}

/// Encodes a column.
fn encode(form: &Form, index: usize, batches: &[Batch]) -> Result<(Bytes, ColumnCloseResult)> {
    let mut bytes = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut bytes));
    let mut out = get_column_writer(form.schema.column(index), form.properties.clone(), pages);
    for batch in batches {
        cells::write(&form.table.columns[index], &batch.columns[index], &mut out)?;
    }
    let end = out.close()?;
    Ok((bytes.into_inner()?.into(), end))
}

/// Returns the error of the output, if it is one.
pub(super) fn failed(error: ParquetError) -> Error {
    let error = match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    };
    Error::Write(error)
}
