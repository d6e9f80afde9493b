//! The compiled part of the Python package `telemetry_events`: `telemetry_events._native`.
//!
//! The Python files of the package say what a stream is to its users. This module reads events for
//! them: as objects of the classes that they give it, or as Arrow columns.
//! `docs/design/python.md` in the repository says how the two live together.

mod account;
mod batches;
mod input;
mod maker;
mod objects;
mod reading;
mod rows;
mod slots;
mod table;

use pyo3::prelude::*;

/// The number of this interface. Python files that expect another one do not use this module.
const INTERFACE: u32 = 6;

/// Reads the events of streams for the package `telemetry_events`.
#[pymodule(gil_used = true)]
mod _native {
    use super::*;

    #[pymodule_export]
    use account::completeness;
    #[pymodule_export]
    use batches::Batches;
    #[pymodule_export]
    use objects::Objects;
    #[pymodule_export]
    use table::{Table, tables};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("INTERFACE", INTERFACE)
    }
}
