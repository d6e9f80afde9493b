//! The rows of a table, for programs that read Arrow's format.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use telemetry_columns::{Error, record_batch};
use telemetry_decode::Completeness;

use crate::input::raised;
use crate::pass::Pass;

/// The reason why rows ended before the end of the stream.
pub(crate) enum Failure {
    /// The input or a conversion failed.
    Error(PyErr),
    /// The stream is not whole, and the table is strict.
    Incomplete(Box<Completeness>),
}

/// The latest failure, which a table tells. Programs that read Arrow's format see its text only.
pub(crate) type LastFailure = Arc<Mutex<Option<Failure>>>;

/// The rows of a table, a batch at a time.
pub(crate) struct Rows {
    /// None after the end.
    pass: Option<Pass>,
    schema: SchemaRef,
    /// The thread that asked for the stream.
    thread: ThreadId,
    /// A stream that is not whole ends with an error.
    is_strict: bool,
    failure: LastFailure,
}

impl Rows {
    pub(crate) fn new(pass: Pass, schema: SchemaRef, is_strict: bool, failure: LastFailure) -> Rows {
        Rows { pass: Some(pass), schema, thread: thread::current().id(), is_strict, failure }
    }

    fn step(&self, pass: &mut Pass) -> Result<Option<RecordBatch>, Failure> {
        // Other threads of a program may wait for a thread that has the interpreter's lock.
        let next = if thread::current().id() == self.thread {
            Python::attach(|py| {
                if let Err(error) = py.check_signals() {
                    // The interpreter raises it again as soon as the other program returns to it.
                    interrupt();
                    return Err(Failure::Error(error));
                }
                Ok(py.detach(|| pass.next()))
            })?
        } else {
            pass.next()
        };
        let Some(batch) = next.map_err(|error| Failure::Error(exception(error)))? else {
            let account = pass.completeness().filter(|account| self.is_strict && !account.is_whole());
            return account.map_or(Ok(None), |account| Err(Failure::Incomplete(Box::new(account))));
        };
        record_batch(batch, &self.schema).map(Some).map_err(|error| Failure::Error(unexpected(error)))
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
        let mut pass = self.pass.take()?;
        // A panic must not reach the program that asks, which is not Rust.
        let step = AssertUnwindSafe(|| self.step(&mut pass));
        match catch_unwind(step).unwrap_or_else(|_| Err(Failure::Error(panicked()))) {
            Ok(batch) => {
                self.pass = batch.is_some().then_some(pass);
                batch.map(Ok)
            }
            Err(failure) => {
                let text = failure.text();
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                Some(Err(ArrowError::ExternalError(text.into())))
            }
        }
    }
}

impl Failure {
    fn text(&self) -> String {
        match self {
            Failure::Error(error) => error.to_string(),
            Failure::Incomplete(completeness) => completeness.to_string(),
        }
    }
}

/// Returns the exception for an error of a pass.
pub(crate) fn exception(error: Error) -> PyErr {
    match error {
        Error::Read(error) => raised(error),
        error => pyo3::exceptions::PyOSError::new_err(error.to_string()),
    }
}

/// Returns the exception for an error of a conversion, which is a mistake of this module.
pub(crate) fn unexpected(error: ArrowError) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(error.to_string())
}

fn panicked() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("a panic of the reader")
}

/// Simulates Ctrl-C, which `check_signals` has taken.
#[allow(unsafe_code)]
fn interrupt() {
    // SAFETY: it only sets flags, and may be called at any time.
    unsafe { pyo3::ffi::PyErr_SetInterrupt() }
}
