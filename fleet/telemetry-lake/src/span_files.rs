//! The rows of spans of a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use telemetry_columns::{Batch, Runs, Spans};
use telemetry_decode::completeness::Gap;
use telemetry_decode::{Event, KnownRegistry};

use crate::carried;
use crate::catalog;
use crate::continued::Continued;
use crate::files::{ConvertError, File, NewFile};
use crate::layout::Layout;
use crate::missing::{Missing, Why};
use crate::state::SessionState;

/// The spans of each day since 1970. A span is on the day of its end, or without one, on the last
/// day.
pub(crate) struct SpanFiles {
    spans: Spans,
    continued: Continued,
    layout: Layout,
    host: Option<Arc<Runs>>,
    day: i64,
    /// The day of the last event of earlier batches.
    last: i64,
    files: BTreeMap<i64, File>,
}

impl SpanFiles {
    /// Goes on with the spans of the session's earlier batches. `day` is that of the last event so
    /// far.
    pub(crate) fn new(
        (layout, host): (Layout, Option<Arc<Runs>>),
        continued: Continued,
        gaps: Vec<Gap>,
        day: i64,
    ) -> SpanFiles {
        let spans = Spans::new(&continued.without(gaps));
        SpanFiles { spans, continued, layout, host, day, last: day, files: BTreeMap::new() }
    }

    /// Goes on with what the batches before left to be paired.
    pub(crate) fn carry_on(&mut self, state: &mut SessionState, registries: &[&KnownRegistry], hides: bool) {
        if hides {
            self.spans.hide_sensitive();
        }
        self.spans.carry_on(&std::mem::take(&mut state.spans), registries, carried::MAX_KEPT);
    }

    /// Takes an event of a day.
    pub(crate) fn push(&mut self, event: &Event<'_>, day: i64) -> Result<(), ConvertError> {
        self.begin_day(day)?;
        self.spans.push(event).map_or(Ok(()), |batch| self.write(batch))
    }

    /// Replaces the gaps, after more damage was found.
    pub(crate) fn set_gaps(&mut self, gaps: Vec<Gap>) {
        self.spans.set_gaps(&self.continued.without(gaps));
    }

    /// Returns the files. Unless the session has ended and all of it is here, the state keeps what
    /// later batches may pair.
    pub(crate) fn finish(mut self, state: &mut SessionState) -> Result<Vec<NewFile>, ConvertError> {
        // What is not paired yet may belong to the last day of earlier batches.
        self.begin_day(self.day.max(self.last))?;
        let may_go_on = |missing: &Missing| matches!(missing.why, Why::Open | Why::Hole);
        // A session that counts nothing may have more, too.
        if state.written == 0 || state.missing().iter().any(may_go_on) {
            state.spans = self.spans.take_carried(carried::MAX_KEPT);
        }
        while let Some(batch) = self.spans.finish() {
            self.write(batch)?;
        }
        self.files.into_iter().map(|(day, file)| file.finish(day)).collect()
    }

    fn begin_day(&mut self, day: i64) -> Result<(), ConvertError> {
        if day != self.day {
            // All spans so far are of the day before.
            while let Some(batch) = self.spans.take() {
                self.write(batch)?;
            }
            self.day = day;
        }
        Ok(())
    }

    fn write(&mut self, batch: Batch) -> Result<(), ConvertError> {
        let new = || File::new(catalog::of_spans(self.layout), self.host.clone());
        self.files.entry(self.day).or_insert_with(new).push(batch, None, &[])
    }
}
