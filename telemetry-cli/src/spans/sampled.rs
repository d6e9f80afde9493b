//! Samples of threads by the spans that were open: `stats --samples`.

use serde::Serialize;
use telemetry_decode::Event;
use telemetry_report::spans::{Pairing, Sampled, SampledShape, is_sample};

use crate::input::remedy;
use crate::input::verdict::Verdict;
use crate::text::table::Table;
use crate::text::{escaped_text, grouped};

/// The most spans that are open at once.
pub(crate) const MAX_OPEN: u32 = 200_000;

/// Counts samples in a pass over all events.
pub(crate) struct Samples {
    pairing: Pairing,
    counts: Sampled,
}

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
pub(crate) struct SampledStats<'a> {
    version: u32,
    #[serde(flatten)]
    shape: SampledShape,
    completeness: &'a Verdict,
}

impl Default for Samples {
    fn default() -> Samples {
        let mut pairing = Pairing::new(MAX_OPEN as usize, &[], false);
        pairing.paths.keep();
        Samples { pairing, counts: Sampled::default() }
    }
}

impl Samples {
    /// Takes an event. They must come by time.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if is_sample(event) {
            self.counts.take(&self.pairing, event);
        } else {
            self.pairing.take(event, &mut Vec::new());
        }
    }

    /// Returns whether no thread was sampled.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

impl<'a> SampledStats<'a> {
    pub(crate) fn new(samples: &Samples, completeness: &'a Verdict) -> SampledStats<'a> {
        SampledStats { version: 1, shape: samples.counts.shape(&samples.pairing), completeness }
    }

    pub(crate) fn append_text(&self, out: &mut Vec<u8>) {
        let mut table = Table::new(1, &["span", "periods", "share", "self periods", "self share"]);
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        for span in &self.shape.spans {
            let numbers = [grouped(span.periods), percent(span.share)];
            let own = [grouped(span.self_periods), percent(span.self_share)];
            table.row([escaped_text(&span.span)].into_iter().chain(numbers).chain(own));
        }
        table.append(out, 0);
        remedy::append(out, self.completeness);
    }
}
