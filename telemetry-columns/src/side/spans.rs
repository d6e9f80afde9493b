//! Pairs of begins and ends.

use std::collections::VecDeque;

use telemetry_decode::completeness::Gap;
use telemetry_decode::{Event, EventBatch, KnownRegistry, Registry};
use telemetry_report::spans::{Found, Gaps, Key, Pairing, may_have_role};

use crate::batch::table_batch::Batch;
use crate::model::sides::SPANS;
use crate::side::carried_spans::{CarriedSpans, UNCERTAIN};
use crate::side::rows::Rows;

/// The most open spans, which take 120 MB.
const MAX_OPEN: usize = 500_000;

/// Collects the rows of the table `span`. Its events must come by time.
///
/// A begin without an end has a row without the columns of the end, and vice versa. So has a begin
/// that was dropped because too many spans were open.
pub struct Spans {
    pairing: Pairing,
    found: Vec<Found>,
    /// Pairs that have no row yet.
    waiting: VecDeque<Found>,
    gaps: Gaps,
    rows: Rows,
    /// The begin of a period and its length, if a batch has only spans that ended in one.
    periods: Option<(i64, i64)>,
    /// The number of that of the rows so far.
    period: Option<i64>,
    /// Those without an end, if there are periods.
    endless: Rows,
    /// Parts of spans whose registries are not known here.
    unknown: CarriedSpans,
}

impl std::fmt::Debug for Spans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spans").finish_non_exhaustive()
    }
}

impl Spans {
    /// Makes the table for events with these gaps
    /// ([`Events::gaps`](telemetry_decode::Events::gaps)).
    pub fn new(gaps: &[Gap]) -> Spans {
        Spans {
            pairing: Pairing::new(MAX_OPEN, &[], false),
            found: Vec::new(),
            waiting: VecDeque::new(),
            gaps: Gaps::new(gaps),
            rows: Rows::of_side(&SPANS),
            periods: None,
            period: None,
            endless: Rows::of_side(&SPANS),
            unknown: CarriedSpans::default(),
        }
    }

    /// Shows no sensitive values in the names of spans, if the events still have them. Call it
    /// before the first event.
    pub fn hide_sensitive(&mut self) {
        self.pairing.hides_sensitive = true;
    }

    /// Gives each batch only spans that ended in one period, such as a day, or only spans without
    /// an end. A period begins at `from_ns`, in nanoseconds since the session's start, and has
    /// `len_ns` nanoseconds. Others are before and after it.
    pub fn split_by(&mut self, from_ns: i64, len_ns: i64) {
        self.periods = Some((from_ns, len_ns.max(1)));
    }

    /// Returns true if an event type, by its index in the registry, may begin or end spans. Other
    /// events may be left out.
    pub fn needs(registry: &Registry, event: usize) -> bool {
        may_have_role(registry, event)
    }

    /// Replaces the gaps, after the first event after them was taken. That is when
    /// [`Events::damages`](telemetry_decode::Events::damages) has grown.
    pub fn set_gaps(&mut self, gaps: &[Gap]) {
        self.gaps = Gaps::new(gaps);
    }

    /// Goes on with the spans of earlier events of the sessions. Call it before the first event and
    /// after [`Spans::hide_sensitive`]. Of two texts of a registry, the first counts. Spans
    /// that none of them has stay as they are.
    ///
    /// Later events may still have the begins of up to `most` ends. Those ends have no row until
    /// [`Spans::finish`].
    pub fn carry_on(&mut self, carried: &CarriedSpans, registries: &[&KnownRegistry], most: usize) {
        self.unknown = carried.give(&mut self.pairing, registries, most);
    }

    /// Returns the spans of which later events may have the other part, and makes no rows of them.
    /// Call it after all events, before [`Spans::finish`]. If more than `most` spans are open,
    /// those that began first get rows without an end.
    pub fn take_carried(&mut self, most: usize) -> CarriedSpans {
        let mut carried = CarriedSpans::take(&mut self.pairing, &self.gaps, most, &mut self.found);
        self.waiting.extend(self.found.drain(..));
        carried.append(std::mem::take(&mut self.unknown));
        carried
    }

    /// Takes an event. Returns a batch if one is complete.
    ///
    /// The rows of its spans are made with the next call: damage before this event may become known
    /// with it.
    pub fn push(&mut self, event: &Event<'_>) -> Option<Batch> {
        let batch = self.add();
        self.pairing.take(event, &mut self.found);
        // Most events are no ends of spans.
        if !self.found.is_empty() {
            self.waiting.extend(self.found.drain(..));
        }
        batch
    }

    /// Takes some events, as [`Spans::push`] does.
    pub fn push_batch(&mut self, events: &EventBatch<'_>) -> Option<Batch> {
        let batch = self.add();
        self.pairing.take_batch(events, &mut self.found);
        self.waiting.extend(self.found.drain(..));
        batch
    }

    /// Returns a batch of the spans that have ended since the last batch; `None` if there are none.
    pub fn take(&mut self) -> Option<Batch> {
        self.add().or_else(|| self.rows.finish()).or_else(|| self.endless.finish())
    }

    /// Returns the next of the last batches, after all events; `None` at the end.
    pub fn finish(&mut self) -> Option<Batch> {
        self.pairing.finish(|found| self.waiting.push_back(found));
        self.take()
    }

    /// Makes rows of pairs, until a batch is complete.
    fn add(&mut self) -> Option<Batch> {
        while let Some(found) = self.waiting.pop_front() {
            let period = self.periods.zip(found.end());
            let period = period.map(|((from, len), end)| end.ns.saturating_sub(from).div_euclid(len));
            let is_endless = self.periods.is_some() && period.is_none();
            if !is_endless && period != self.period {
                if let Some(batch) = self.rows.finish() {
                    self.waiting.push_front(found);
                    return Some(batch);
                }
                self.period = period;
            }
            let rows = if is_endless { &mut self.endless } else { &mut self.rows };
            let batch = add(rows, &self.pairing, &self.gaps, &found);
            if batch.is_some() {
                return batch;
            }
        }
        None
    }
}

fn add(rows: &mut Rows, pairing: &Pairing, gaps: &Gaps, found: &Found) -> Option<Batch> {
    let (which, begin, end, self_ns) = match found {
        Found::Whole { which, begin, end, self_ns, .. } => (which, Some(begin), Some(end), Some(*self_ns)),
        Found::NoEnd(which, begin, _) => (which, Some(begin), None, None),
        Found::NoBegin(which, end) => (which, None, Some(end), None),
        Found::Begun(which, _) | Found::Dropped(which, _) => (which, None, None, None),
    };
    let def = pairing.defs.get(which.def)?;
    let (number, text) = match &which.key {
        Key::None => (None, None),
        Key::Number(number) => (Some(*number), None),
        Key::Text(text) => (None, Some(String::from_utf8_lossy(text))),
    };
    let both = begin.zip(end);
    let is_certain = both.is_some_and(|(begin, end)| {
        let is_carried_certain = begin.marks != UNCERTAIN && end.marks != UNCERTAIN;
        is_carried_certain && gaps.are_not_in(def, which, begin, end)
    });
    rows.push([
        def.span.name.as_str().into(),
        def.registry.as_str().into(),
        which.session.into(),
        begin.map(|begin| begin.thread).into(),
        number.into(),
        text.as_deref().into(),
        begin.map(|begin| begin.ns).into(),
        end.map(|end| end.ns).into(),
        both.map(|(begin, end)| end.since(begin)).into(),
        self_ns.into(),
        end.map(|end| end.thread).into(),
        is_certain.into(),
        def.message.as_deref().into(),
    ])
}
