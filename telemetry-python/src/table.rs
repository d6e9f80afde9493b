//! Tables of Arrow.

use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use telemetry_columns::{Tables, schema};
use telemetry_decode::Order;

use crate::account;
use crate::input::{open, raised, reader};
use crate::reading::Reading;
use crate::rows::{Failure, LastFailure, Rows, exception, unexpected};

/// The events of a type as columns, or a side table.
#[pyclass(module = "telemetry_events._native", frozen)]
pub(crate) struct Table {
    table: Arc<telemetry_columns::Table>,
    schema: SchemaRef,
    content: Content,
}

/// Where the rows of a table are.
enum Content {
    /// In a stream, which is read when a program asks for the rows.
    Stream(Stream),
    Memory(Vec<RecordBatch>),
}

/// A stream, which is read for each use of a table.
pub(crate) struct Stream {
    pub(crate) files: Arc<Vec<File>>,
    /// A function of Python: the account of a stream that is not whole to an exception. Without it,
    /// the table has the rows that could be read.
    incomplete: Option<Py<PyAny>>,
    failure: LastFailure,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) shows_sensitive: bool,
}

/// Returns the tables of open files by name: one for each event type of their registries, and the
/// side tables.
#[pyfunction]
pub(crate) fn tables(
    py: Python<'_>,
    descriptors: Vec<i32>,
    incomplete: Option<Py<PyAny>>,
    threads: Option<NonZeroUsize>,
    shows_sensitive: bool,
) -> PyResult<Vec<(String, Table)>> {
    let files = Arc::new(open(&descriptors)?);
    let input = reader(&files, None, shows_sensitive)?;
    // The headers of blocks alone would give the registries with nothing hidden.
    let events = py.detach(|| input.order(Order::Stream).events()).map_err(|error| raised(&error))?;
    let tables = Tables::of(events.registries());
    let of = |table: Arc<telemetry_columns::Table>| {
        let incomplete = incomplete.as_ref().map(|function| function.clone_ref(py));
        let content = Stream {
            files: Arc::clone(&files),
            incomplete,
            failure: LastFailure::default(),
            threads,
            shows_sensitive,
        };
        (table.name.clone(), Table { schema: schema(&table), table, content: Content::Stream(content) })
    };
    Ok(tables.iter().cloned().chain(Tables::sides()).map(of).collect())
}

impl Table {
    /// Makes a table of rows in memory.
    pub(crate) fn in_memory(
        table: Arc<telemetry_columns::Table>,
        schema: SchemaRef,
        rows: Vec<RecordBatch>,
    ) -> Table {
        Table { table, schema, content: Content::Memory(rows) }
    }

    pub(crate) fn table(&self) -> &Arc<telemetry_columns::Table> {
        &self.table
    }

    /// Returns the stream, unless the table is in memory.
    pub(crate) fn stream(&self) -> Option<&Stream> {
        match &self.content {
            Content::Stream(stream) => Some(stream),
            Content::Memory(_) => None,
        }
    }
}

#[pymethods]
impl Table {
    /// The name, which no other table of the stream has.
    #[getter]
    fn name(&self) -> &str {
        &self.table.name
    }

    /// The name of the registry. Empty for a side table, as are event type and kind.
    #[getter]
    fn registry(&self) -> &str {
        &self.table.registry
    }

    /// The name of the event type.
    #[getter]
    fn event(&self) -> &str {
        &self.table.event
    }

    /// The name of the event type's kind.
    #[getter]
    fn kind(&self) -> &str {
        &self.table.kind
    }

    /// The meaning of the rows.
    #[getter]
    fn doc(&self) -> &str {
        &self.table.doc
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.table.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// The exception that ended the latest reading; `None` if there was none.
    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Content::Stream(Stream { incomplete, failure, .. }) = &self.content else { return Ok(None) };
        // Python may run another thread, which must not wait here.
        let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(match (failure.as_deref(), incomplete) {
            (Some(Failure::Incomplete(account)), Some(exception)) => {
                Some(exception.bind(py).call1((account::fields(py, account)?,))?)
            }
            (None | Some(Failure::Incomplete(_)), _) => None,
            (Some(Failure::Read(error)), _) => Some(exception(error).into_bound_py_any(py)?),
            (Some(Failure::Signal(error)), _) => Some(error.clone_ref(py).into_bound_py_any(py)?),
            (Some(Failure::Unexpected(text)), _) => {
                Some(PyRuntimeError::new_err(text.clone()).into_bound_py_any(py)?)
            }
        })
    }

    fn __repr__(&self) -> String {
        format!("<table {} of {}>", self.table.name, self.column_names().join(", "))
    }

    /// Returns the schema for programs that read Arrow's format.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(unexpected)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Returns a new stream of all rows, those of events in the order of time. It has this table's
    /// schema, whatever the wish.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let schema = Arc::clone(&self.schema);
        let rows: Box<dyn RecordBatchReader + Send> = match &self.content {
            Content::Memory(rows) => {
                Box::new(RecordBatchIterator::new(rows.clone().into_iter().map(Ok), schema))
            }
            Content::Stream(Stream { files, incomplete, failure, threads, shows_sensitive }) => {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
                let tables = std::slice::from_ref(&self.table);
                let reading = py.detach(|| Reading::new(files, tables, None, *threads, *shows_sensitive))?;
                Box::new(Rows::new(reading, schema, incomplete.is_some(), Arc::clone(failure)))
            }
        };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(rows), c"arrow_array_stream")
    }
}
