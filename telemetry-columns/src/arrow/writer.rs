//! The writer of files and streams.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use telemetry_decode::KnownRegistry;

use crate::arrow::arrays::record_batch;
use crate::arrow::plain;
use crate::arrow::schema::schema;
use crate::batch::error::{Error, Result};
use crate::batch::table_batch::Batch;
use crate::model::meaning;
use crate::model::table::Table;

/// Writes batches of one table as an Arrow file or stream, which is also called IPC or Feather.
///
/// A stream has the rows one after the other, for pipes. A file can be read from any place.
///
/// ```no_run
/// use telemetry_columns::{ArrowWriter, Batches};
/// use telemetry_decode::Reader;
///
/// let mut batches = Batches::new(Reader::open("telemetry.tel")?.events()?);
/// let table = batches.tables().table("Evicted").ok_or("no such table")?;
/// let file = std::fs::File::create("Evicted.arrow")?;
/// let mut writer = ArrowWriter::file(file, table, batches.events().registries())?;
/// while let Some(batch) = batches.next_batch()? {
///     if batch.table().name == "Evicted" {
///         writer.push(batch)?;
///     }
/// }
/// writer.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the file is complete after `finish`"]
pub struct ArrowWriter<W: Write> {
    table: Arc<Table>,
    /// The schema of our batches, and of the written ones.
    own: SchemaRef,
    written: SchemaRef,
    out: Out<W>,
}

enum Out<W: Write> {
    File(FileWriter<W>),
    Stream(StreamWriter<W>),
}

impl<W: Write> fmt::Debug for ArrowWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowWriter").field("table", &self.table.name).finish_non_exhaustive()
    }
}

impl<W: Write> ArrowWriter<W> {
    /// Begins the file of a table. These registries are in its metadata, as text.
    ///
    /// # Errors
    /// Those of the output.
    pub fn file(out: W, table: &Arc<Table>, registries: &[KnownRegistry]) -> Result<ArrowWriter<W>> {
        let written = written(table, registries);
        let out = FileWriter::try_new(out, &written).map_err(failed)?;
        Ok(ArrowWriter { table: Arc::clone(table), own: schema(table), written, out: Out::File(out) })
    }

    /// Begins the stream of a table, with the same metadata.
    ///
    /// # Errors
    /// Those of the output.
    pub fn stream(out: W, table: &Arc<Table>, registries: &[KnownRegistry]) -> Result<ArrowWriter<W>> {
        let written = written(table, registries);
        let out = StreamWriter::try_new(out, &written).map_err(failed)?;
        Ok(ArrowWriter { table: Arc::clone(table), own: schema(table), written, out: Out::Stream(out) })
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    /// Those of the output. The columns of the batch must be those of the table.
    pub fn push(&mut self, batch: Batch) -> Result<()> {
        if !Arc::ptr_eq(&self.table, &batch.table) && self.table.columns != batch.table.columns {
            let text = format!(
                "the columns of `{}` changed after its file was begun, and a file has one list of columns; \
                 help: name all registries first",
                self.table.name
            );
            return Err(Error::Write(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        let batch = record_batch(batch, &self.own).map_err(failed)?;
        for batch in plain::batches(&batch, &self.written).map_err(failed)? {
            match &mut self.out {
                Out::File(out) => out.write(&batch),
                Out::Stream(out) => out.write(&batch),
            }
            .map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the end, and returns the output. A file may have no rows.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(self) -> Result<W> {
        match self.out {
            Out::File(out) => out.into_inner(),
            Out::Stream(out) => out.into_inner(),
        }
        .map_err(failed)
    }
}

/// Returns the schema of a table's file.
fn written(table: &Table, registries: &[KnownRegistry]) -> SchemaRef {
    let mut schema = plain::schema(&schema(table));
    schema.metadata.extend(meaning::of_registries(table, registries));
    Arc::new(schema)
}

/// Returns the error of the output, if it is one.
fn failed(error: ArrowError) -> Error {
    Error::Write(match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    })
}
