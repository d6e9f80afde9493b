//! Samples of threads by the spans that were open.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use telemetry_decode::Event;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_schema::own;

use super::pairing::Pairing;

/// The name of samples outside of all spans.
const NO_SPAN: &str = "(no span)";

/// Counts of samples. A sample counts for the periods that it stands for.
#[derive(Debug, Default)]
pub struct Sampled {
    /// By the name of the span.
    spans: BTreeMap<String, OfSpan>,
    samples: u64,
    periods: u64,
}

#[derive(Debug, Default)]
struct OfSpan {
    /// Periods in which it was open.
    periods: u64,
    /// Those in which it was the innermost span.
    own: u64,
}

/// The counts, as `telemetry stats --samples --json` prints them.
#[derive(Debug, Serialize)]
pub struct SampledShape {
    /// The number of samples.
    pub samples: u64,
    /// The periods that they stand for.
    pub periods: u64,
    /// Those with most periods first.
    pub spans: Vec<SampledSpan>,
}

/// The samples in a type of span.
#[derive(Debug, Serialize)]
pub struct SampledSpan {
    /// Its name.
    pub span: String,
    /// Periods in which it was open.
    pub periods: u64,
    /// Of all periods.
    pub share: f64,
    /// Periods in which it was the innermost one.
    pub self_periods: u64,
    /// Of all periods.
    pub self_share: f64,
}

impl Sampled {
    /// Takes a sample. The pairing must keep paths, and have the events before it.
    pub fn take(&mut self, pairing: &Pairing, sample: &Event<'_>) {
        let periods = sample.value(1).and_then(|value| value.as_u64()).unwrap_or(0);
        self.samples += 1;
        self.periods = self.periods.saturating_add(periods);
        let mut names = open_spans(pairing, sample);
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
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Returns the counts.
    pub fn shape(&self) -> SampledShape {
        let share = |periods: u64| periods as f64 / self.periods.max(1) as f64;
        let span = |(span, of): (&String, &OfSpan)| SampledSpan {
            span: span.clone(),
            periods: of.periods,
            share: share(of.periods),
            self_periods: of.own,
            self_share: share(of.own),
        };
        let mut spans: Vec<_> = self.spans.iter().map(span).collect();
        spans.sort_by_key(|span| Reverse((span.periods, span.self_periods)));
        SampledShape { samples: self.samples, periods: self.periods, spans }
    }
}

/// Returns whether an event is a sample.
pub fn is_sample(event: &Event<'_>) -> bool {
    event.schema().code == own::SAMPLED && event.registry().name == RUNTIME_REGISTRY
}

/// Returns the names of the spans that are open on the thread of an event, the outermost first.
pub fn open_spans(pairing: &Pairing, event: &Event<'_>) -> Vec<String> {
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
