//! The writer of a file.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::writer::SerializedFileWriter;
use telemetry_decode::KnownRegistry;

use crate::batch::error::{Error, Result};
use crate::batch::table_batch::Batch;
use crate::model::table::Table;
use crate::parquet::group::{EncodedRowGroup, Form, RowGroup, failed};
use crate::parquet::{encodings, metadata, schema};

/// The rows of a row group. Its least and greatest values tell a reader which groups it needs, so
/// groups are not too large.
const MAX_ROWS: usize = 256 << 10;

/// The memory of a row group's rows before they are written.
const MAX_HELD: usize = 32 << 20;

/// Writes batches of one table as a Parquet file.
///
/// ```no_run
/// use telemetry_columns::{Batches, ParquetWriter};
/// use telemetry_decode::Reader;
///
/// let mut batches = Batches::new(Reader::open("telemetry.tel")?.events()?);
/// let table = batches.tables().table("Evicted").ok_or("no such table")?;
/// let file = std::fs::File::create("Evicted.parquet")?;
/// let mut writer = ParquetWriter::new(file, table, batches.events().registries());
/// while let Some(batch) = batches.next_batch()? {
///     if batch.table().name == "Evicted" {
///         writer.push(batch)?;
///     }
/// }
/// writer.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Most of the time is for row groups. [`ParquetWriter::add`] gives them to the caller, who can
/// encode them on other threads. The file is the same.
#[must_use = "the file is complete after `finish`"]
pub struct ParquetWriter<W: Write + Send> {
    table: Arc<Table>,
    state: State<W>,
    /// The rows of the next row group.
    batches: Vec<Batch>,
    rows: usize,
    held: usize,
}

/// The file. It begins with the first row group, whose rows choose the encodings.
enum State<W: Write + Send> {
    Waiting(W, Vec<KeyValue>),
    Open(SerializedFileWriter<Output<W>>, Arc<Form>),
    /// The file could not be begun.
    Failed,
}

/// The output, until it is given back. The crate's `into_inner` would tell its errors as text.
struct Output<W>(Option<W>);

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or_else(|| Err(io::Error::other("the file is complete")), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl<W: Write + Send> fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter").field("table", &self.table.name).finish_non_exhaustive()
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Makes the file of a table. These registries are in its footer, as text.
    pub fn new(out: W, table: &Arc<Table>, registries: &[KnownRegistry]) -> ParquetWriter<W> {
        let metadata = metadata::of(table, registries);
        ParquetWriter {
            table: table.clone(),
            state: State::Waiting(out, metadata),
            batches: Vec::new(),
            rows: 0,
            held: 0,
        }
    }

    /// Adds the rows of a batch. Writes a row group if it is complete.
    ///
    /// # Errors
    /// Those of the output. The columns of the batch must be those of the table.
    pub fn push(&mut self, batch: Batch) -> Result<()> {
        match self.add(batch)? {
            Some(group) => self.append(group.encode()?),
            None => Ok(()),
        }
    }

    /// Adds the rows of a batch. Returns a row group if it is complete, for
    /// [`ParquetWriter::append`].
    ///
    /// # Errors
    /// Those of the output. The columns of the batch must be those of the table.
    pub fn add(&mut self, batch: Batch) -> Result<Option<RowGroup>> {
        if !Arc::ptr_eq(&self.table, &batch.table) && self.table.columns != batch.table.columns {
            let text = format!(
                "the columns of `{}` changed after its file was begun, and a file has one list of columns; \
                 help: name all registries first",
                self.table.name
            );
            return Err(Error::Write(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        self.rows += batch.rows;
        self.held += batch.columns.iter().map(|column| column.data().room()).sum::<usize>();
        self.batches.push(batch);
        if self.rows < MAX_ROWS && self.held < MAX_HELD { Ok(None) } else { self.take() }
    }

    /// Returns the memory of the rows that are in no row group yet.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes the rows so far as a row group, if there are any.
    ///
    /// # Errors
    /// Those of the output.
    pub fn take(&mut self) -> Result<Option<RowGroup>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let form = self.open()?.1.clone();
        (self.rows, self.held) = (0, 0);
        Ok(Some(RowGroup { form, batches: std::mem::take(&mut self.batches) }))
    }

    /// Writes a row group of this file. The caller keeps them in order.
    ///
    /// # Errors
    /// Those of the output, and if the row group is not of this file.
    pub fn append(&mut self, group: EncodedRowGroup) -> Result<()> {
        let (file, form) = self.open()?;
        if !Arc::ptr_eq(form, &group.form) {
            let text = format!(
                "the row group is of another file, of `{}`; help: append it to its own",
                group.table().name
            );
            return Err(Error::Write(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        write_group(file, group).map_err(failed)
    }

    /// Writes the rows so far as a row group.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<()> {
        match self.take()? {
            Some(group) => self.append(group.encode()?),
            None => Ok(()),
        }
    }

    /// Writes the rest, and returns the output. A file may have no rows.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.open()?;
        match self.state {
            State::Open(mut file, _) => {
                file.finish().map_err(failed)?;
                file.inner_mut().0.take().ok_or_else(has_failed)
            }
            State::Waiting(..) | State::Failed => Err(has_failed()),
        }
    }

    fn open(&mut self) -> Result<(&mut SerializedFileWriter<Output<W>>, &Arc<Form>)> {
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Waiting(out, metadata) => {
                let begun = begin(out, &self.table, &self.batches, metadata);
                let (file, form) = begun.map_err(failed)?;
                State::Open(file, Arc::new(form))
            }
            state => state,
        };
        match &mut self.state {
            State::Open(file, form) => Ok((file, form)),
            State::Waiting(..) | State::Failed => Err(has_failed()),
        }
    }
}

/// Begins a file. The first rows choose its encodings.
fn begin<W: Write + Send>(
    out: W,
    table: &Arc<Table>,
    first: &[Batch],
    metadata: Vec<KeyValue>,
) -> Result<(SerializedFileWriter<Output<W>>, Form), ParquetError> {
    let schema = schema::of(table)?;
    let properties = encodings::choose(table, first, metadata)?;
    let file = SerializedFileWriter::new(Output(Some(out)), schema, properties.clone())?;
    let schema = Arc::new(file.schema_descr().clone());
    Ok((file, Form { table: table.clone(), schema, properties }))
}

fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    encoded: EncodedRowGroup,
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for (bytes, end) in encoded.columns {
        group.append_column(&bytes, end)?;
    }
    group.close().map(drop)
}

fn has_failed() -> Error {
    Error::Write(io::Error::other("the file has failed"))
}
