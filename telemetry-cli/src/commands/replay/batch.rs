//! A recording in batches of steps, so that the measured time excludes reading.

use telemetry_decode::Events;
use telemetry_decode::replay::{Live, Op, Origin, Step};
use telemetry_schema::Replay;

use crate::input::inputs::{Inputs, cannot_read};
use crate::input::marks::Marks;
use crate::term::ended::Failure;

/// The maximum of steps in a batch.
const MAX_STEPS: usize = 4096;

/// Some steps.
pub(super) struct Batch<'i> {
    pub(super) steps: Vec<BatchStep>,
    marks: Marks<'i>,
    /// Number of the last event read.
    number: u64,
}

/// An allocation to repeat, and its event.
pub(super) struct BatchStep {
    pub(super) op: Op,
    pub(super) origin: Origin,
    /// When the event was recorded.
    pub(super) wall_ns: i64,
}

impl<'i> Batch<'i> {
    pub(super) fn new(inputs: &'i Inputs) -> Batch<'i> {
        Batch { steps: Vec::with_capacity(MAX_STEPS), marks: Marks::new(inputs), number: 0 }
    }

    /// Reads the next steps, and calls a function with events that are not steps. Returns false at
    /// the end.
    pub(super) fn fill(
        &mut self,
        events: &mut Events<'_>,
        live: &mut Live,
        mut other: impl FnMut(Option<&Replay>),
    ) -> Result<bool, Failure> {
        self.steps.clear();
        while self.steps.len() < MAX_STEPS {
            let Some(event) = events.next().map_err(cannot_read)? else { break };
            self.number += 1;
            let mark = self.marks.of(&event);
            let Some(step) = mark.and_then(|mark| Step::marked(&event, mark)) else {
                other(mark);
                continue;
            };
            let origin = Origin::of(self.number, &event);
            if let Some(op) = live.step(step, &origin) {
                self.steps.push(BatchStep { op, origin, wall_ns: event.wall_ns() });
            }
        }
        Ok(!self.steps.is_empty())
    }
}
