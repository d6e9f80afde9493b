//! Differences as the report has them.

use telemetry_report::Against;

use super::forms::Difference;
use super::measure::RunOf;
use crate::input::verdict::Verdict;
use crate::stats::grouping::Grouping;

/// The recording of a report beside a run before it.
pub(crate) struct Compared<'a> {
    difference: Difference<'a>,
    verdicts: [&'a Verdict; 2],
    /// Of the inputs.
    names: [String; 2],
}

impl<'a> Compared<'a> {
    /// Compares the run before with the recording.
    pub(crate) fn new(
        runs: [RunOf<'_>; 2],
        verdicts: [&'a Verdict; 2],
        names: [String; 2],
        grouping: Option<&'a Grouping>,
    ) -> Compared<'a> {
        Compared { difference: Difference::new(runs, verdicts, grouping, &[]), verdicts, names }
    }

    /// Returns the verdict on the run before, as lines of the page.
    pub(crate) fn head(&self) -> Vec<String> {
        let lines = self.verdicts[0].lines().into_iter();
        lines.map(|line| format!("compared with {}: {line}", self.names[0])).collect()
    }

    /// Returns true if nothing of the run before is missing.
    pub(crate) fn is_complete(&self) -> bool {
        self.verdicts[0].is_complete()
    }

    /// Returns the form for the page.
    ///
    /// # Errors
    /// If a figure cannot be serialized.
    pub(crate) fn against(&self) -> serde_json::Result<Against<'_>> {
        let mut difference = serde_json::to_value(&self.difference)?;
        difference["names"] = serde_json::to_value(&self.names)?;
        difference["says"] = serde_json::to_value(self.verdicts.map(Verdict::lines))?;
        difference["width_ns"] =
            serde_json::to_value(self.difference.counts.each_ref().map(|of| of.width_ns))?;
        difference["counts"] = serde_json::to_value(self.difference.counts.each_ref().map(|of| &of.counts))?;
        for (at, event) in self.difference.events.iter().enumerate() {
            difference["events"][at]["counts"] = serde_json::to_value(&event.counts)?;
        }
        let durations = self.difference.spans.iter();
        let durations = durations.map(|span| span.durations.each_ref().map(Option::as_ref)).collect();
        Ok(Against { difference, durations })
    }
}
