//! The rows of a table, for programs that read Arrow's format.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use telemetry_columns::{Error, record_batch};
use telemetry_decode::Completeness;

use crate::input::raised;
use crate::reading::Reading;

/// The reason why rows ended before the end of the stream. It is made without the interpreter's
/// lock: other threads of a program may wait for a thread that has it.
pub(crate) enum Failure {
    Read(Error),
    /// The exception of a signal's handler.
    Signal(PyErr),
    /// The stream is not whole, and the table is strict.
    Incomplete(Box<Completeness>),
    /// A mistake of this module.
    Unexpected(String),
}

/// The latest failure, which a table tells. Programs that read Arrow's format see its text only.
pub(crate) type LastFailure = Arc<Mutex<Option<Arc<Failure>>>>;

/// The rows of a table, a batch at a time.
pub(crate) struct Rows {
    /// None after the end.
    reading: Option<Reading>,
    schema: SchemaRef,
    /// The thread that asked for the stream.
    thread: ThreadId,
    /// A stream that is not whole ends with an error.
    is_strict: bool,
    failure: LastFailure,
}

impl Rows {
    pub(crate) fn new(reading: Reading, schema: SchemaRef, is_strict: bool, failure: LastFailure) -> Rows {
        Rows { reading: Some(reading), schema, thread: thread::current().id(), is_strict, failure }
    }

    fn step(&self, reading: &mut Reading) -> Result<Option<RecordBatch>, Failure> {
        let next = if thread::current().id() == self.thread {
            Python::attach(|py| {
                py.check_signals().map_err(Failure::Signal)?;
                Ok(py.detach(|| reading.next()))
            })?
        } else {
            reading.next()
        };
        let Some(batch) = next.map_err(Failure::Read)? else {
            let account = reading.completeness().filter(|account| self.is_strict && !account.is_whole());
            return account.map_or(Ok(None), |account| Err(Failure::Incomplete(Box::new(account))));
        };
        record_batch(batch, &self.schema).map(Some).map_err(|error| Failure::Unexpected(error.to_string()))
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reading = self.reading.take()?;
        // A panic must not reach the program that asks, which is not Rust.
        let step = AssertUnwindSafe(|| self.step(&mut reading));
        match catch_unwind(step).unwrap_or_else(|_| Err(Failure::Unexpected("a panic of the reader".into())))
        {
            Ok(batch) => {
                self.reading = batch.is_some().then_some(reading);
                batch.map(Ok)
            }
            Err(failure) => {
                let text = failure.text();
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(failure));
                Some(Err(ArrowError::ExternalError(text.into())))
            }
        }
    }
}

impl Failure {
    fn text(&self) -> String {
        match self {
            Failure::Read(error) => error.to_string(),
            Failure::Signal(error) => Python::attach(|py| {
                let text = error.to_string();
                if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    interrupt();
                }
                text
            }),
            Failure::Incomplete(completeness) => completeness.to_string(),
            Failure::Unexpected(text) => text.clone(),
        }
    }
}

/// Returns the exception for an error of reading.
pub(crate) fn exception(error: &Error) -> PyErr {
    match error {
        Error::Read(error) => raised(error),
        error => PyOSError::new_err(error.to_string()),
    }
}

/// Returns the exception for an error of a conversion, which is a mistake of this module.
pub(crate) fn unexpected(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Simulates Ctrl-C, which `check_signals` has taken. The interpreter raises it again as soon as
/// the other program returns to it. Nothing may ask for the text of an object before.
#[allow(unsafe_code)]
fn interrupt() {
    // SAFETY: it only sets flags, and may be called at any time.
    unsafe { pyo3::ffi::PyErr_SetInterrupt() }
}
