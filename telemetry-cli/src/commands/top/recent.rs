//! What a stream has had in its last seconds, and in all.

use std::collections::BTreeMap;
use std::ops::Range;

use telemetry_decode::{EventBatch, KnownRegistry};
use telemetry_report::figures::keyed::PerEvent;
use telemetry_report::spans::{Found, Pairing, Step};

use super::window::{Counts, Durations, Percentiles, WIDTH_NS, interval};
use crate::text::escaped_text;

/// Rates and percentiles are of this time.
pub(super) const WINDOW_NS: i64 = 10_000_000_000;

/// The maximum of spans that are open at once. About 240 bytes each.
const MAX_OPEN: usize = 100_000;
/// The maximum of begins and ends that wait for earlier ones of other lanes.
const MAX_WAITING: usize = 200_000;

/// The counts.
pub(super) struct Recent {
    events: PerEvent<OfEvent>,
    bytes: Counts,
    pairing: Pairing,
    /// Begins and ends by time, which may still be preceded by others.
    waiting: BTreeMap<(i64, u64), Step>,
    /// Number of begins and ends so far.
    steps: u64,
    spans: Vec<OfSpan>,
    found: Vec<Found>,
    first_ns: i64,
    latest_ns: i64,
    pub(super) count: u64,
}

struct OfEvent {
    name: String,
    kind: String,
    registry: String,
    total: u64,
    counts: Counts,
}

#[derive(Default)]
struct OfSpan {
    total: u64,
    durations: Durations,
}

/// The time that figures are of.
pub(super) enum Until {
    /// This time, since 1970. Later events may be incomplete.
    Time(i64),
    /// The last event.
    End,
}

/// The figures of the last seconds. Lists are in the order of the registries.
#[derive(Default)]
pub(super) struct Figures {
    /// The time that the rates are of; none without two events.
    pub(super) seconds: Option<f64>,
    pub(super) count: u64,
    pub(super) per_second: f64,
    pub(super) bytes_per_second: f64,
    pub(super) kinds: Vec<Row>,
    pub(super) events: Vec<Row>,
    pub(super) spans: Vec<SpanRow>,
}

/// A kind or an event.
pub(super) struct Row {
    pub(super) name: String,
    /// The kind of an event, or the registry of a kind.
    pub(super) of: String,
    pub(super) per_second: f64,
    pub(super) total: u64,
}

pub(super) struct SpanRow {
    pub(super) name: String,
    pub(super) per_second: f64,
    pub(super) total: u64,
    pub(super) durations: Percentiles,
}

impl Default for Recent {
    fn default() -> Self {
        Recent {
            events: PerEvent::default(),
            bytes: Counts::default(),
            pairing: Pairing::new(MAX_OPEN, &[], false),
            waiting: BTreeMap::new(),
            steps: 0,
            spans: Vec::new(),
            found: Vec::new(),
            first_ns: i64::MAX,
            latest_ns: i64::MIN,
            count: 0,
        }
    }
}

impl Recent {
    /// Takes events in the order of the stream.
    pub(super) fn take(&mut self, batch: &EventBatch<'_>) {
        let (session, known) = (batch.session(), batch.known_registry());
        let of_registry = self.events.of_registry(known);
        let start = session.clock.start_wall();
        let (mut ticks, mut at, mut bytes) = (None, 0, 0);
        for row in batch.rows() {
            if ticks != Some(row.ticks) {
                let ns = session.clock.ns(row.ticks).saturating_add_unsigned(start);
                self.first_ns = self.first_ns.min(ns);
                self.latest_ns = self.latest_ns.max(ns);
                if bytes > 0 && at != interval(ns) {
                    self.bytes.add(at, bytes);
                    bytes = 0;
                }
                (ticks, at) = (Some(row.ticks), interval(ns));
            }
            let index = row.index as usize;
            let event = of_registry[index].get_or_insert_with(|| OfEvent::new(known, index));
            event.total += 1;
            event.counts.add(at, 1);
            bytes += u64::from(row.packed_len);
        }
        self.bytes.add(at, bytes);
        self.count += batch.len() as u64;
        let (waiting, steps) = (&mut self.waiting, &mut self.steps);
        self.pairing.steps(batch, |step| {
            *steps += 1;
            waiting.insert((step.at.ns.saturating_add_unsigned(start), *steps), step);
        });
        while self.waiting.len() > MAX_WAITING {
            self.pair_first();
        }
    }

    /// Pairs all begins and ends up to a time.
    fn pair_until(&mut self, ns: i64) {
        while self.waiting.first_key_value().is_some_and(|((at, _), _)| *at <= ns) {
            self.pair_first();
        }
    }

    fn pair_first(&mut self) {
        let Some(((ns, _), step)) = self.waiting.pop_first() else { return };
        self.pairing.apply(step, &mut self.found);
        self.spans.resize_with(self.pairing.defs.len(), OfSpan::default);
        for found in self.found.drain(..) {
            let Found::Whole { which, begin, end, .. } = found else { continue };
            let span = &mut self.spans[which.def];
            span.total += 1;
            span.durations.add(interval(ns), end.since(&begin));
        }
    }

    /// Returns the time of the last event; none before the first.
    pub(super) fn latest_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.latest_ns)
    }

    /// Returns the figures of the seconds before a time.
    pub(super) fn figures(&mut self, until: &Until) -> Figures {
        if self.count == 0 {
            return Figures::default();
        }
        let (end, until_ns) = match *until {
            Until::Time(ns) => (interval(ns), interval(ns).saturating_mul(WIDTH_NS)),
            Until::End => (interval(self.latest_ns).saturating_add(1), self.latest_ns),
        };
        self.pair_until(until_ns);
        let first = end.saturating_sub(WINDOW_NS / WIDTH_NS);
        let from_ns = first.saturating_mul(WIDTH_NS).max(self.first_ns);
        let seconds = Some(until_ns.saturating_sub(from_ns)).filter(|ns| *ns > 0).map(|ns| ns as f64 / 1e9);
        let intervals = first..end;
        let rate = |number: u64| seconds.map_or(0.0, |seconds| number as f64 / seconds);
        let row = |name: &str, of: &str, total: u64, number: u64| Row {
            name: escaped_text(name),
            of: escaped_text(of),
            per_second: rate(number),
            total,
        };
        let (mut events, mut all) = (Vec::new(), 0);
        let mut kinds: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        for (_, _, event) in self.events.iter() {
            let number = event.counts.sum(&intervals);
            all += number;
            let kind = kinds.entry((&event.registry, &event.kind)).or_default();
            *kind = (kind.0 + event.total, kind.1 + number);
            events.push(row(&event.name, &event.kind, event.total, number));
        }
        let kinds = kinds.into_iter();
        let kinds = kinds.map(|((registry, kind), (total, number))| row(kind, registry, total, number));
        Figures {
            seconds,
            count: self.count,
            per_second: rate(all),
            bytes_per_second: rate(self.bytes.sum(&intervals)),
            kinds: kinds.collect(),
            events,
            spans: self.span_rows(&intervals, &rate),
        }
    }

    fn span_rows(&self, intervals: &Range<i64>, rate: &dyn Fn(u64) -> f64) -> Vec<SpanRow> {
        let spans = self.pairing.defs.iter().zip(&self.spans).filter(|(_, span)| span.total > 0);
        let rows = spans.map(|(def, span)| {
            let durations = span.durations.percentiles(intervals);
            let name = escaped_text(&def.span.name);
            SpanRow { name, per_second: rate(durations.count), total: span.total, durations }
        });
        rows.collect()
    }
}

impl OfEvent {
    #[cold]
    fn new(known: &KnownRegistry, index: usize) -> OfEvent {
        let event = &known.registry.events[index];
        OfEvent {
            name: event.name.clone(),
            kind: known.registry.kind_of(event).name.clone(),
            registry: known.registry.name.clone(),
            total: 0,
            counts: Counts::default(),
        }
    }
}
