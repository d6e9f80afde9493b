//! The events of a type as a table of Arrow.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, ThreadId};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use telemetry_columns::{Batches, Tables, record_batch, schema};
use telemetry_decode::Filter;

use crate::input::{open, raised, reader};

/// The events of a type, as columns. It is read when a program asks for its Arrow stream.
#[pyclass(module = "telemetry_events._native", frozen)]
pub(crate) struct Table {
    files: Arc<Vec<File>>,
    table: Arc<telemetry_columns::Table>,
    schema: SchemaRef,
    /// A stream that is not whole ends with an error.
    is_strict: bool,
}

/// Returns the tables of open files by name: one for each event type of their registries.
#[pyfunction]
pub(crate) fn tables(
    py: Python<'_>,
    descriptors: Vec<i32>,
    is_strict: bool,
) -> PyResult<Vec<(String, Table)>> {
    let files = Arc::new(open(&descriptors)?);
    let input = reader(&files, None)?;
    let index = py.detach(|| input.index()).map_err(raised)?;
    let tables = Tables::of(&index.registries);
    let of = |table: &Arc<telemetry_columns::Table>| Table {
        files: Arc::clone(&files),
        table: Arc::clone(table),
        schema: schema(table),
        is_strict,
    };
    Ok(tables.iter().map(|table| (table.name.clone(), of(table))).collect())
}

#[pymethods]
impl Table {
    /// The name, which no other table of the stream has.
    #[getter]
    fn name(&self) -> &str {
        &self.table.name
    }

    /// The name of the registry.
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

    /// The meaning of the event type.
    #[getter]
    fn doc(&self) -> &str {
        &self.table.doc
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.table.columns.iter().map(|column| column.name.as_str()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<table {} of {}>", self.table.name, self.column_names().join(", "))
    }

    /// Returns the schema for programs that read Arrow's format.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(unexpected)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Returns a new stream of the events in the order of time. It has this table's schema,
    /// whatever the wish.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let name = format!("{}:{}", self.table.registry, self.table.event);
        let input = reader(&self.files, None)?.filter(Filter::default().events([name.as_str()]));
        let events = py.detach(|| input.events()).map_err(raised)?;
        let rows = Rows {
            batches: Some(Batches::new(events)),
            schema: Arc::clone(&self.schema),
            event: Arc::clone(&self.table),
            thread: thread::current().id(),
            is_strict: self.is_strict,
        };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(rows)), c"arrow_array_stream")
    }
}

/// The rows of a table, a batch at a time.
struct Rows {
    /// None after the end.
    batches: Option<Batches<'static>>,
    schema: SchemaRef,
    event: Arc<telemetry_columns::Table>,
    /// The thread that asked for the stream.
    thread: ThreadId,
    is_strict: bool,
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut batches = self.batches.take()?;
        // A panic must not reach the program that asks, which is not Rust.
        let step = AssertUnwindSafe(|| self.step(&mut batches));
        let found = catch_unwind(step).unwrap_or_else(|_| Err(failed("a panic of the reader")));
        if matches!(found, Ok(Some(_))) {
            self.batches = Some(batches);
        }
        found.transpose()
    }
}

impl Rows {
    fn step(&self, batches: &mut Batches<'static>) -> Result<Option<RecordBatch>, ArrowError> {
        // Other threads of a program may wait for a thread that has the interpreter's lock.
        let next = if thread::current().id() == self.thread {
            Python::attach(|py| {
                if let Err(error) = py.check_signals() {
                    // The interpreter raises it again as soon as the other program returns to it.
                    interrupt();
                    return Err(ArrowError::ExternalError(Box::new(error)));
                }
                Ok(py.detach(|| batches.next_batch()))
            })?
        } else {
            batches.next_batch()
        };
        let Some(batch) = next.map_err(|error| ArrowError::ExternalError(Box::new(error)))? else {
            let completeness = batches.events().completeness();
            return match self.is_strict && !completeness.is_whole() {
                true => Err(failed(&completeness.to_string())),
                false => Ok(None),
            };
        };
        if batch.table().name != self.event.name {
            return Err(failed(&format!(
                "found rows of `{}`, expected `{}`",
                batch.table().name,
                self.event.name
            )));
        }
        record_batch(batch, &self.schema).map(Some)
    }
}

fn failed(text: &str) -> ArrowError {
    ArrowError::ExternalError(text.into())
}

fn unexpected(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Simulates Ctrl-C, which `check_signals` has taken.
#[allow(unsafe_code)]
fn interrupt() {
    // SAFETY: it only sets flags, and may be called at any time.
    unsafe { pyo3::ffi::PyErr_SetInterrupt() }
}
