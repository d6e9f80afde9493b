//! Several tables of a stream that is read once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use telemetry_columns::{record_batch, schema};

use crate::account;
use crate::reading::Reading;
use crate::rows::{exception, unexpected};
use crate::table::Table;

/// Reads tables of one stream, which is read once. It iterates over some rows of a table at a time,
/// each a table in memory. A condition selects events by their values.
#[pyclass(module = "telemetry_events._native")]
pub(crate) struct Batches {
    /// Python may use this on any thread.
    reading: Mutex<Reading>,
    /// The tables in the order of the caller.
    tables: Vec<Arc<telemetry_columns::Table>>,
    schemas: HashMap<String, SchemaRef>,
    is_at_end: bool,
}

#[pymethods]
impl Batches {
    #[new]
    fn new(py: Python<'_>, tables: Vec<PyRef<'_, Table>>, condition: Option<&str>) -> PyResult<Batches> {
        let stream = tables.first().and_then(|table| table.stream());
        let stream = stream.ok_or_else(|| PyValueError::new_err("found no table of a stream"))?;
        let (files, threads, shows_sensitive) =
            (stream.files.clone(), stream.threads, stream.shows_sensitive);
        let tables: Vec<_> = tables.iter().map(|table| table.table().clone()).collect();
        let reading = py.detach(|| Reading::new(&files, &tables, condition, threads, shows_sensitive))?;
        let schemas = tables.iter().map(|table| (table.name.clone(), schema(table))).collect();
        Ok(Batches { reading: Mutex::new(reading), tables, schemas, is_at_end: false })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Table>> {
        let next = self.next(py)?;
        Ok(next.map(|(table, schema, rows)| Table::in_memory(table, schema, vec![rows])))
    }

    /// Reads the remaining rows. Returns all tables, in the order of the call that made this.
    fn read(&mut self, py: Python<'_>) -> PyResult<Vec<(String, Table)>> {
        let mut rows: HashMap<String, Vec<RecordBatch>> = HashMap::new();
        while let Some((table, _, batch)) = self.next(py)? {
            rows.entry(table.name.clone()).or_default().push(batch);
        }
        let of = |table: &Arc<telemetry_columns::Table>| {
            let name = table.name.clone();
            let batches = rows.remove(&name).unwrap_or_default();
            let schema = self.schemas.get(&name).cloned().unwrap_or_else(|| schema(table));
            (name, Table::in_memory(Arc::clone(table), schema, batches))
        };
        Ok(self.tables.iter().map(of).collect())
    }

    /// Returns the fields of the account of what was read so far; `None` if no table needs events.
    fn completeness<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.reading().completeness().map(|account| account::fields(py, &account)).transpose()
    }
}

type Rows = (Arc<telemetry_columns::Table>, SchemaRef, RecordBatch);

impl Batches {
    fn reading(&mut self) -> &mut Reading {
        self.reading.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next rows of a table; `None` at the end.
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Rows>> {
        if self.is_at_end {
            return Ok(None);
        }
        py.check_signals()?;
        let reading = self.reading();
        let Some(batch) = py.detach(|| reading.next()).map_err(|error| exception(&error))? else {
            self.is_at_end = true;
            return Ok(None);
        };
        let table = Arc::clone(batch.table());
        let schema = self.schemas.entry(table.name.clone()).or_insert_with(|| schema(&table)).clone();
        let rows = record_batch(batch, &schema).map_err(unexpected)?;
        Ok(Some((table, schema, rows)))
    }
}
