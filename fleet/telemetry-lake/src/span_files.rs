//! The rows of spans of a session.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use telemetry_columns::{Batch, Data, Runs, Spans};
use telemetry_decode::completeness::Gap;
use telemetry_decode::{Event, KnownRegistry};

use crate::carried;
use crate::catalog;
use crate::continued::Continued;
use crate::files::{ConvertError, DAY_NS, File, NewFile, day_of};
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
    /// The start of the session.
    started_ns: i64,
    /// The nanoseconds of the day of the latest event.
    day: Range<i64>,
    /// The time of the last event of earlier batches.
    last_ns: i64,
    files: BTreeMap<i64, File>,
}

impl SpanFiles {
    /// Goes on with the spans of the session's earlier batches. The times are those of its start
    /// and of the last event so far.
    pub(crate) fn new(
        (layout, host): (Layout, Option<Arc<Runs>>),
        continued: Continued,
        gaps: Vec<Gap>,
        (started_ns, last_ns): (i64, i64),
    ) -> SpanFiles {
        let mut spans = Spans::new(&continued.without(gaps));
        spans.split_by(day_of(started_ns).start.saturating_sub(started_ns), DAY_NS);
        let (day, files) = (day_of(last_ns), BTreeMap::new());
        SpanFiles { spans, continued, layout, host, started_ns, day, last_ns, files }
    }

    /// Goes on with what the batches before left to be paired.
    pub(crate) fn carry_on(&mut self, state: &mut SessionState, registries: &[&KnownRegistry], hides: bool) {
        if hides {
            self.spans.hide_sensitive();
        }
        self.spans.carry_on(&std::mem::take(&mut state.spans), registries, carried::MAX_KEPT);
    }

    /// Takes an event of a time, and whether it may begin or end spans.
    #[inline]
    pub(crate) fn push(&mut self, event: &Event<'_>, ns: i64, is_of_spans: bool) -> Result<(), ConvertError> {
        if !self.day.contains(&ns) {
            self.day = day_of(ns);
        }
        // Most events are of no span.
        match is_of_spans {
            true => self.spans.push(event).map_or(Ok(()), |batch| self.write(batch)),
            false => Ok(()),
        }
    }

    /// Replaces the gaps, after more damage was found.
    pub(crate) fn set_gaps(&mut self, gaps: Vec<Gap>) {
        self.spans.set_gaps(&self.continued.without(gaps));
    }

    /// Returns the files. Unless the session has ended and all of it is here, the state keeps what
    /// later batches may pair.
    pub(crate) fn finish(mut self, state: &mut SessionState) -> Result<Vec<NewFile>, ConvertError> {
        // What is not paired yet may belong to the last day of earlier batches.
        if self.last_ns >= self.day.end {
            self.day = day_of(self.last_ns);
        }
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

    /// Writes spans that ended on one day, or spans without an end.
    fn write(&mut self, batch: Batch) -> Result<(), ConvertError> {
        let ends = batch.column("end_ns").filter(|ends| ends.has_value(0)).map(|ends| ends.data());
        let end = if let Some(Data::I64(ends)) = ends { ends.first() } else { None };
        let end = end.map(|ns| ns.saturating_add(self.started_ns));
        let day = end.map_or(self.day.start, |end| day_of(end).start);
        let new = || File::new(catalog::of_spans(self.layout), self.host.clone());
        self.files.entry(day / DAY_NS).or_insert_with(new).push(batch, None, &[])
    }
}
