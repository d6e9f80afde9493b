//! Streams that Python has opened.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use telemetry_decode::{Error, Filter, Input, Reader};
use telemetry_filter::Condition;

/// Opens files again by their descriptors. They are independent of the files of Python, which may
/// be closed.
pub(crate) fn open(descriptors: &[i32]) -> io::Result<Vec<File>> {
    descriptors.iter().map(|descriptor| duplicate(*descriptor)).collect()
}

#[cfg(unix)]
fn duplicate(descriptor: i32) -> io::Result<File> {
    use std::os::fd::BorrowedFd;
    if descriptor < 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a file that is closed"));
    }
    // SAFETY: the descriptor is not -1. It is that of a file object that Python holds during the
    // call. A number that is not open makes the duplication fail.
    let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
    file.try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn duplicate(_: i32) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "descriptors of files, which this system does not have"))
}

/// Returns a reader of open files as one stream. It hides sensitive values, unless they are shown.
pub(crate) fn reader(
    files: &[File],
    registry: Option<&str>,
    shows_sensitive: bool,
) -> PyResult<Reader<'static>> {
    let files = files.iter().map(|file| file.try_clone().map(Input::File)).collect::<io::Result<_>>()?;
    let reader = Reader::from_inputs(files).map_err(|error| raised(&error))?.show_sensitive(shows_sensitive);
    let Some(text) = registry else { return Ok(reader) };
    let registry = telemetry_schema::parse_embedded(text).map_err(|invalid| {
        let first = invalid.diagnostics.first().map_or("it is empty", |first| &first.message);
        PyValueError::new_err(format!("the registry of the module is invalid: {first}"))
    })?;
    Ok(reader.registry(registry))
}

/// Adds a condition on the values of events to a filter.
pub(crate) fn with_condition(filter: Filter, condition: Option<&str>) -> PyResult<Filter> {
    let Some(condition) = condition else { return Ok(filter) };
    let condition = Condition::parse(condition).map_err(|error| not_fitting(&error.to_string()))?;
    Ok(filter.condition(Arc::new(condition) as Arc<dyn telemetry_decode::condition::Condition>))
}

fn not_fitting(error: &str) -> PyErr {
    PyValueError::new_err(format!("in where: {error}"))
}

/// Returns the exception for an error of the input.
pub(crate) fn raised(error: &Error) -> PyErr {
    match error {
        // With a number it becomes an exception of that error's own class.
        Error::Io(error) => match error.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string())),
            None => io::Error::new(error.kind(), error.to_string()).into(),
        },
        Error::Filter(error) => not_fitting(error),
        error => PyOSError::new_err(error.to_string()),
    }
}
