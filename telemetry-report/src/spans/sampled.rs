//! Samples of threads by the spans that were open.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

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
    /// By the path of the innermost span, if one was open.
    paths: HashMap<Option<u32>, u64>,
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
        let path = pairing.path_on(sample.session().id, sample.thread());
        let of_path = self.paths.entry(path).or_default();
        *of_path = of_path.saturating_add(periods);
    }

    /// Returns whether no thread was sampled.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Returns the counts. The pairing is that of all samples.
    pub fn shape(&self, pairing: &Pairing) -> SampledShape {
        let mut spans: BTreeMap<&str, OfSpan> = BTreeMap::new();
        for (path, periods) in &self.paths {
            let mut names: Vec<&str> = names(pairing, *path).collect();
            if let Some(innermost) = names.first() {
                let own = &mut spans.entry(innermost).or_default().own;
                *own = own.saturating_add(*periods);
            }
            // A span may be open in itself.
            names.sort_unstable();
            names.dedup();
            for name in names {
                let all = &mut spans.entry(name).or_default().periods;
                *all = all.saturating_add(*periods);
            }
        }
        let share = |periods: u64| periods as f64 / self.periods.max(1) as f64;
        let span = |(span, of): (&str, OfSpan)| SampledSpan {
            span: span.to_string(),
            periods: of.periods,
            share: share(of.periods),
            self_periods: of.own,
            self_share: share(of.own),
        };
        let mut spans: Vec<_> = spans.into_iter().map(span).collect();
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
    let path = pairing.path_on(event.session().id, event.thread());
    let mut names: Vec<_> = names(pairing, path).map(str::to_string).collect();
    names.reverse();
    names
}

/// Returns the names of the spans of a path, the innermost first.
fn names(pairing: &Pairing, path: Option<u32>) -> impl Iterator<Item = &str> {
    let first = path.and_then(|path| pairing.paths.get(path));
    // There may be too many paths.
    let other = match path {
        None => Some(NO_SPAN),
        Some(_) => first.is_none().then_some("(other)"),
    };
    let paths = std::iter::successors(first, |path| pairing.paths.get(path.outer));
    other.into_iter().chain(paths.map(|path| pairing.defs[path.def as usize].span.name.as_str()))
}
