//! Values of counters whose events carry changes.

use std::collections::VecDeque;

use telemetry_decode::Event;
use telemetry_decode::counters::DefinedCounters;

use crate::batch::table_batch::Batch;
use crate::model::sides::COUNTERS;
use crate::side::rows::{Cell, Rows};

/// Collects the rows of the table `counter_value`. The events of each lane must come in their
/// order.
///
/// It has counters whose events carry changes, as those of Mono's profiler do. A value is the sum
/// of the changes that were taken. Other counters have tables of their own, as their events have
/// their values.
pub struct CounterValues {
    counters: DefinedCounters,
    rows: Rows,
    /// Batches that are complete.
    ready: VecDeque<Batch>,
}

impl std::fmt::Debug for CounterValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CounterValues").finish_non_exhaustive()
    }
}

impl Default for CounterValues {
    fn default() -> Self {
        CounterValues {
            counters: DefinedCounters::default(),
            rows: Rows::of_side(&COUNTERS),
            ready: VecDeque::new(),
        }
    }
}

impl CounterValues {
    /// Takes an event. Returns a batch if one is complete.
    #[inline]
    pub fn push(&mut self, event: &Event<'_>) -> Option<Batch> {
        if DefinedCounters::has(event) { self.add(event) } else { None }
    }

    /// Returns the next of the last batches, after all events; `None` at the end.
    pub fn finish(&mut self) -> Option<Batch> {
        self.ready.pop_front().or_else(|| self.rows.finish())
    }

    #[cold]
    fn add(&mut self, event: &Event<'_>) -> Option<Batch> {
        let of = self.counters.take(event)?;
        let start = event.wall_ns().saturating_sub(event.time_ns());
        for (time, value) in &of.values {
            let batch = self.rows.push([
                event.session().id.into(),
                time.saturating_sub(start).into(),
                (*time).into(),
                event.registry().name.as_str().into(),
                of.name.into(),
                Some(of.unit).filter(|unit| !unit.is_empty()).into(),
                value.as_f64().map(|value| Cell::Bits(value.to_bits())).into(),
            ]);
            self.ready.extend(batch);
        }
        self.ready.pop_front()
    }
}
