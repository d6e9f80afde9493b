//! What two runs have beside one another, as it is shown.

use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use telemetry_report::figures::distribution::Distribution;
use telemetry_report::figures::rate::Counts;

use crate::input::verdict::Verdict;
use crate::text::number_text;

/// The least change of a figure with a star.
const LEAST_CHANGE: f64 = 0.01;

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
pub(crate) struct Difference<'a> {
    pub(crate) version: u32,
    pub(crate) runs: [RunFigures<'a>; 2],
    /// A difference is significant if its probability is below this.
    pub(crate) level: f64,
    /// Number of tests.
    pub(crate) tests: u64,
    pub(crate) events: Vec<EventDifference>,
    pub(crate) spans: Vec<SpanDifference>,
    pub(crate) by: Vec<&'a str>,
    pub(crate) groups: Vec<GroupDifference>,
    /// Rare groups that were dropped in each run.
    pub(crate) dropped_groups: [u64; 2],
    pub(crate) limits: Vec<LimitResult>,
    /// Number of all events in equal intervals of each run.
    #[serde(skip)]
    pub(crate) counts: [Counts; 2],
}

#[derive(Serialize)]
pub(crate) struct RunFigures<'a> {
    pub(crate) input: String,
    pub(crate) events: u64,
    /// From the first event to the last.
    pub(crate) seconds: Option<f64>,
    pub(crate) completeness: &'a Verdict,
}

/// A figure of both runs.
#[derive(Serialize, Clone, Copy)]
pub(crate) struct Pair {
    #[serde(serialize_with = "whole")]
    pub(crate) a: Option<f64>,
    #[serde(serialize_with = "whole")]
    pub(crate) b: Option<f64>,
    /// Of the first; none without a first.
    pub(crate) change: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct EventDifference {
    pub(crate) event: String,
    pub(crate) registry: String,
    pub(crate) count: Pair,
    pub(crate) per_second: Pair,
    pub(crate) bytes: Pair,
    #[serde(flatten)]
    pub(crate) test: Test,
    /// Number of events in the intervals of each run; none if there is no event.
    #[serde(skip)]
    pub(crate) counts: [Vec<u64>; 2],
}

#[derive(Serialize)]
pub(crate) struct SpanDifference {
    pub(crate) span: String,
    pub(crate) registry: String,
    pub(crate) count: Pair,
    pub(crate) per_second: Pair,
    pub(crate) total_ns: Pair,
    pub(crate) mean_ns: Pair,
    pub(crate) p50_ns: Pair,
    pub(crate) p90_ns: Pair,
    pub(crate) p99_ns: Pair,
    pub(crate) max_ns: Pair,
    #[serde(flatten)]
    pub(crate) test: Test,
    #[serde(skip)]
    pub(crate) durations: [Option<Distribution>; 2],
}

#[derive(Serialize)]
pub(crate) struct GroupDifference {
    pub(crate) values: Vec<String>,
    pub(crate) events: Pair,
    pub(crate) sums: Vec<SumDifference>,
}

#[derive(Serialize)]
pub(crate) struct SumDifference {
    pub(crate) param: String,
    #[serde(flatten)]
    pub(crate) sum: Pair,
}

/// Whether a difference is more than noise.
#[derive(Serialize, Clone, Copy)]
pub(crate) struct Test {
    /// The probability that chance makes such a difference; none if there are too few values.
    pub(crate) probability: Option<f64>,
    pub(crate) significant: bool,
}

/// Writes a whole number without a point.
fn whole<S: Serializer>(figure: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    number(*figure).serialize(serializer)
}

impl Pair {
    pub(crate) fn new([a, b]: [Option<f64>; 2]) -> Pair {
        let change = a.zip(b).filter(|(a, _)| *a != 0.0).map(|(a, b)| (b - a) / a.abs());
        Pair { a, b, change }
    }

    pub(crate) fn is_large(&self) -> bool {
        self.change.is_none_or(|change| change.abs() >= LEAST_CHANGE)
    }
}

/// A limit, and what was found.
#[derive(Serialize)]
pub(crate) struct LimitResult {
    pub(crate) limit: String,
    #[serde(flatten)]
    pub(crate) pair: Pair,
    pub(crate) exceeded: bool,
    /// Why it cannot be checked.
    pub(crate) missing: Option<String>,
}

impl LimitResult {
    /// Returns the figures of both runs as text.
    pub(crate) fn says(&self) -> String {
        let text = |figure: Option<f64>| number_text(&number(figure));
        let change = change(self.pair.change);
        format!("{} before, {} after, {change}", text(self.pair.a), text(self.pair.b))
    }
}

/// Returns a figure as a number for people. Most are whole.
pub(crate) fn number(number: Option<f64>) -> Json {
    match number {
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => Json::from(number as i64),
        Some(number) => Json::from(number),
        None => Json::Null,
    }
}

/// Returns a change in percent.
pub(crate) fn change(change: Option<f64>) -> String {
    match change {
        Some(change) if change.abs() < 1000.0 => format!("{:+.1} %", change * 100.0),
        Some(change) => format!("{:+.1e} times", change),
        None => "-".to_string(),
    }
}
