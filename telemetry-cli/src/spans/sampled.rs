//! Samples of threads by the spans that were open: `stats --samples`.

use std::collections::BTreeMap;

use serde::Serialize;
use telemetry_decode::Event;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_report::spans::Pairing;
use telemetry_schema::own;

use crate::input::remedy;
use crate::input::verdict::Verdict;
use crate::text::table::Table;
use crate::text::{escaped_text, grouped};

/// The name of samples outside of all spans.
pub(crate) const NO_SPAN: &str = "(no span)";

/// The most spans that are open at once.
pub(crate) const MAX_OPEN: u32 = 200_000;

/// Counts of samples. A sample counts for the periods that it stands for.
pub(crate) struct Samples {
    pairing: Pairing,
    /// By the name of the span.
    spans: BTreeMap<String, OfSpan>,
    samples: u64,
    periods: u64,
}

#[derive(Default)]
struct OfSpan {
    /// Periods in which it was open.
    periods: u64,
    /// Those in which it was the innermost span.
    own: u64,
}

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
pub(crate) struct SampledStats<'a> {
    version: u32,
    samples: u64,
    periods: u64,
    /// Those with most periods first.
    spans: Vec<SpanStats>,
    completeness: &'a Verdict,
}

#[derive(Serialize)]
struct SpanStats {
    span: String,
    periods: u64,
    share: f64,
    self_periods: u64,
    self_share: f64,
}

impl Default for Samples {
    fn default() -> Samples {
        let mut pairing = Pairing::new(MAX_OPEN as usize, &[], false);
        pairing.paths.keep();
        Samples { pairing, spans: BTreeMap::new(), samples: 0, periods: 0 }
    }
}

impl Samples {
    /// Takes an event. They must come by time.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if !is_sample(event) {
            self.pairing.take(event, &mut Vec::new());
            return;
        }
        let periods = event.value(1).and_then(|value| value.as_u64()).unwrap_or(0);
        self.samples += 1;
        self.periods = self.periods.saturating_add(periods);
        let mut names = open_spans(&self.pairing, event);
        if let Some(innermost) = names.last() {
            let own = &mut self.spans.entry(innermost.clone()).or_default().own;
            *own = own.saturating_add(periods);
        }
        // A span may be open in itself.
        names.sort_unstable();
        names.dedup();
        for name in names {
            let all = &mut self.spans.entry(name).or_default().periods;
            *all = all.saturating_add(periods);
        }
    }

    /// Returns whether no thread was sampled.
    pub(crate) fn is_empty(&self) -> bool {
        self.samples == 0
    }
}

impl<'a> SampledStats<'a> {
    pub(crate) fn new(samples: &Samples, completeness: &'a Verdict) -> SampledStats<'a> {
        let share = |periods: u64| periods as f64 / samples.periods.max(1) as f64;
        let span = |(span, of): (&String, &OfSpan)| SpanStats {
            span: span.clone(),
            periods: of.periods,
            share: share(of.periods),
            self_periods: of.own,
            self_share: share(of.own),
        };
        let mut spans: Vec<_> = samples.spans.iter().map(span).collect();
        spans.sort_by_key(|span| std::cmp::Reverse((span.periods, span.self_periods)));
        SampledStats { version: 1, samples: samples.samples, periods: samples.periods, spans, completeness }
    }

    pub(crate) fn append_text(&self, out: &mut Vec<u8>) {
        let mut table = Table::new(1, &["span", "periods", "share", "self periods", "self share"]);
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        for span in &self.spans {
            let numbers = [grouped(span.periods), percent(span.share)];
            let own = [grouped(span.self_periods), percent(span.self_share)];
            table.row([escaped_text(&span.span)].into_iter().chain(numbers).chain(own));
        }
        table.append(out, 0);
        remedy::append(out, self.completeness);
    }
}

/// Returns whether an event is a sample.
pub(crate) fn is_sample(event: &Event<'_>) -> bool {
    event.schema().code == own::SAMPLED && event.registry().name == RUNTIME_REGISTRY
}

/// Returns the names of the spans that are open on the thread of an event, the outermost first.
pub(crate) fn open_spans(pairing: &Pairing, event: &Event<'_>) -> Vec<String> {
    let Some(mut at) = pairing.path_on(event.session().id, event.thread()) else {
        return vec![NO_SPAN.to_string()];
    };
    let mut frames = Vec::new();
    while let Some(path) = pairing.paths.get(at) {
        frames.push(pairing.defs[path.def as usize].span.name.clone());
        at = path.outer;
    }
    if frames.is_empty() {
        // There are too many paths.
        frames.push("(other)".to_string());
    }
    frames.reverse();
    frames
}
