//! A recording, some steps at a time, so that reading them is no part of what is measured.

use telemetry_decode::replay::{Live, Op, Origin, Step};
use telemetry_decode::{Event, Events};

use crate::exit::Failure;
use crate::input::cannot_read;

/// Most steps of a batch.
const STEPS: usize = 4096;

/// A few steps.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) steps: Vec<BatchStep>,
    /// Number of the last event read.
    number: u64,
}

/// What to do again, and for which event.
pub(super) struct BatchStep {
    pub(super) op: Op,
    pub(super) origin: Origin,
    /// When the event was recorded.
    pub(super) wall_ns: i64,
}

impl Batch {
    /// Reads the next steps, and calls a function with events that are none. False at the end.
    pub(super) fn fill(
        &mut self,
        events: &mut Events<'_>,
        live: &mut Live,
        mut other: impl FnMut(&Event<'_>),
    ) -> Result<bool, Failure> {
        self.steps.clear();
        self.steps.reserve(STEPS);
        while self.steps.len() < STEPS {
            let Some(event) = events.next().map_err(cannot_read)? else { break };
            self.number += 1;
            let Some(step) = Step::of(&event) else {
                other(&event);
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
