//! What two runs have beside one another, as it is shown.

use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use telemetry_report::figures::distribution::Distribution;

use crate::input::verdict::Verdict;
use crate::text::number_text;

/// The least change of a figure with a star.
const LEAST_CHANGE: f64 = 0.01;

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
pub(crate) struct Difference<'a> {
    pub(super) version: u32,
    pub(super) runs: [RunFigures<'a>; 2],
    /// A difference is significant if its probability is below this.
    pub(super) level: f64,
    /// Number of tests.
    pub(super) tests: u64,
    pub(super) events: Vec<EventDifference>,
    pub(super) spans: Vec<SpanDifference>,
    pub(super) by: Vec<&'a str>,
    pub(super) groups: Vec<GroupDifference>,
    /// Rare groups that were dropped in each run.
    pub(super) dropped_groups: [u64; 2],
    pub(super) limits: Vec<LimitResult>,
}

#[derive(Serialize)]
pub(super) struct RunFigures<'a> {
    pub(super) input: String,
    pub(super) events: u64,
    /// From the first event to the last.
    pub(super) seconds: Option<f64>,
    pub(super) completeness: &'a Verdict,
}

/// A figure of both runs.
#[derive(Serialize, Clone, Copy)]
pub(super) struct Pair {
    #[serde(serialize_with = "whole")]
    pub(super) a: Option<f64>,
    #[serde(serialize_with = "whole")]
    pub(super) b: Option<f64>,
    /// Of the first; none without a first.
    pub(super) change: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct EventDifference {
    pub(super) event: String,
    pub(super) registry: String,
    pub(super) count: Pair,
    pub(super) per_second: Pair,
    pub(super) bytes: Pair,
    #[serde(flatten)]
    pub(super) test: Test,
}

#[derive(Serialize)]
pub(super) struct SpanDifference {
    pub(super) span: String,
    pub(super) registry: String,
    pub(super) count: Pair,
    pub(super) per_second: Pair,
    pub(super) total_ns: Pair,
    pub(super) mean_ns: Pair,
    pub(super) p50_ns: Pair,
    pub(super) p90_ns: Pair,
    pub(super) p99_ns: Pair,
    pub(super) max_ns: Pair,
    #[serde(flatten)]
    pub(super) test: Test,
    #[serde(skip)]
    pub(super) durations: [Option<Distribution>; 2],
}

#[derive(Serialize)]
pub(super) struct GroupDifference {
    pub(super) values: Vec<String>,
    pub(super) events: Pair,
    pub(super) sums: Vec<SumDifference>,
}

#[derive(Serialize)]
pub(super) struct SumDifference {
    pub(super) param: String,
    #[serde(flatten)]
    pub(super) sum: Pair,
}

/// Whether a difference is more than noise.
#[derive(Serialize, Clone, Copy)]
pub(super) struct Test {
    /// The probability that chance makes such a difference; none if there are too few values.
    pub(super) probability: Option<f64>,
    pub(super) significant: bool,
}

/// Writes a whole number without a point.
fn whole<S: Serializer>(figure: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    number(*figure).serialize(serializer)
}

impl Pair {
    pub(super) fn new([a, b]: [Option<f64>; 2]) -> Pair {
        let change = a.zip(b).filter(|(a, _)| *a != 0.0).map(|(a, b)| (b - a) / a.abs());
        Pair { a, b, change }
    }

    pub(super) fn is_large(&self) -> bool {
        self.change.is_none_or(|change| change.abs() >= LEAST_CHANGE)
    }
}

/// A limit, and what was found.
#[derive(Serialize)]
pub(super) struct LimitResult {
    pub(super) limit: String,
    #[serde(flatten)]
    pub(super) pair: Pair,
    pub(super) exceeded: bool,
    /// Why it cannot be checked.
    pub(super) missing: Option<String>,
}

impl LimitResult {
    /// Returns the figures of both runs as text.
    pub(super) fn says(&self) -> String {
        let text = |figure: Option<f64>| number_text(&number(figure));
        let change = change(self.pair.change);
        format!("{} before, {} after, {change}", text(self.pair.a), text(self.pair.b))
    }
}

/// Returns a figure as a number for people. Most are whole.
pub(super) fn number(number: Option<f64>) -> Json {
    match number {
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => Json::from(number as i64),
        Some(number) => Json::from(number),
        None => Json::Null,
    }
}

/// Returns a change in percent.
pub(super) fn change(change: Option<f64>) -> String {
    match change {
        Some(change) if change.abs() < 1000.0 => format!("{:+.1} %", change * 100.0),
        Some(change) => format!("{:+.1e} times", change),
        None => "-".to_string(),
    }
}
