//! The events of a stream as objects.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use telemetry_decode::{Events, Filter, Order};

use crate::account;
use crate::input::{open, raised, reader, with_condition};
use crate::maker::Maker;
use crate::reading::number_of;

/// The events that are skipped before other threads may run and signals are looked at.
const PATIENCE: u32 = 1 << 16;

/// Reads the events of open files as objects, in batches.
///
/// `forms_of` is called with the fingerprint of a registry. It returns, by the code of each wanted
/// event, its class and its slots. `lane_of` is called with a session's id, a thread, a fingerprint
/// and the bit of a kind. It returns the lane of events. A condition selects events by their
/// values. What is hidden has an object of Python for all values.
#[pyclass(module = "telemetry_events._native")]
pub(crate) struct Objects {
    /// Python may use this on any thread.
    events: Mutex<Events<'static>>,
    maker: Maker,
    /// Events that had no class.
    #[pyo3(get)]
    others: u64,
}

#[pymethods]
impl Objects {
    #[new]
    // What Python passes.
    #[allow(clippy::too_many_arguments)]
    fn new(
        descriptors: Vec<i32>,
        order: &str,
        threads: Option<NonZeroUsize>,
        registry: Option<&str>,
        forms_of: Py<PyAny>,
        lane_of: Py<PyAny>,
        condition: Option<&str>,
        shows_sensitive: bool,
    ) -> PyResult<Objects> {
        let order = match order {
            "time" => Order::Time,
            "stream" => Order::Stream,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "found the order `{order}`, expected `time` or `stream`"
                )));
            }
        };
        let filter = with_condition(Filter::default(), condition)?;
        let input = reader(&open(&descriptors)?, registry, shows_sensitive)?.order(order).filter(filter);
        let mut events = input.events().map_err(|error| raised(&error))?;
        events.decode_ahead(number_of(threads));
        Ok(Objects { events: Mutex::new(events), maker: Maker::new(forms_of, lane_of), others: 0 })
    }

    /// Returns the next events, at most `most`. There are none only at the end.
    fn batch<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyList>> {
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        let batch = PyList::empty(py);
        let mut skipped = 0;
        while batch.len() < most {
            let Some(event) = events.next().map_err(|error| raised(&error))? else { break };
            if let Some(object) = self.maker.make(py, &event)? {
                batch.append(object)?;
                continue;
            }
            self.others += 1;
            skipped += 1;
            if skipped % PATIENCE == 0 {
                py.detach(|| {});
                py.check_signals()?;
            }
        }
        Ok(batch)
    }

    /// Returns the fields of the account of what was read so far.
    fn completeness<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        account::fields(py, &events.completeness())
    }
}
