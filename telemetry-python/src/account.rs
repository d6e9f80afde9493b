//! What was read and what was missing, as the fields of Python's `Completeness`.

use std::num::NonZeroUsize;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use telemetry_decode::{Completeness, Order};

use crate::input::{open, raised, reader};
use crate::reading::read_all;

/// Reads open files on this many threads, or on all cores, and returns the fields of their account.
#[pyfunction]
pub(crate) fn completeness<'py>(
    py: Python<'py>,
    descriptors: Vec<i32>,
    threads: Option<NonZeroUsize>,
) -> PyResult<Bound<'py, PyDict>> {
    let input = reader(&open(&descriptors)?, None, false)?.order(Order::Stream);
    let read = || {
        let mut events = input.events()?;
        read_all(&mut events, threads)?;
        Ok(events.completeness())
    };
    fields(py, &py.detach(read).map_err(|error| raised(&error))?)
}

/// Returns the fields by name.
pub(crate) fn fields<'py>(py: Python<'py>, read: &Completeness) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    let lost = read.lost();
    let unread = read.lanes.iter().map(|lane| lane.unread).fold(0, u64::saturating_add);
    let filtered = read.lanes.iter().map(|lane| lane.filtered).fold(0, u64::saturating_add);
    for (name, number) in [
        ("events", read.events),
        ("filtered", filtered),
        ("blocks", read.blocks),
        ("damaged_bytes", read.bytes.damaged),
        ("lost_pool", lost.pool),
        ("lost_reentrant", lost.reentrant),
        ("lost_sink", lost.sink),
        ("truncated", lost.truncated),
        ("missing", read.missing()),
        ("unread", unread),
        ("excluded", read.excluded()),
        ("damaged_ranges", read.damaged_ranges),
        ("undecodable_parts", read.undecodable_parts),
        ("without_end_mark", read.without_end_mark),
    ] {
        fields.set_item(name, number)?;
    }
    let damage = read.damage.iter().map(|one| (one.range.start, one.range.end, one.cause.to_string()));
    fields.set_item("damage", damage.collect::<Vec<_>>())?;
    let parts = read.undecodable.iter().map(|one| (one.range.start, one.range.end, one.reason.to_string()));
    fields.set_item("undecodable", parts.collect::<Vec<_>>())?;
    fields.set_item("unknown_blocks", &read.unknown_blocks)?;
    fields.set_item("unreadable", &read.unreadable)?;
    fields.set_item("sessions", &read.sessions)?;
    Ok(fields)
}
