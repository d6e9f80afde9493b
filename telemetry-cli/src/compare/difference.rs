//! The figures of two runs beside one another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use telemetry_filter::Limit;
use telemetry_report::figures::distribution::Distribution;
use telemetry_report::figures::significance::{mann_whitney, welch};

use super::forms::{
    Difference, EventDifference, GroupDifference, Pair, RunFigures, SpanDifference, SumDifference, Test,
};
use super::limits;
use super::measure::{EventFigures, Name, RunOf};
use crate::input::verdict::Verdict;
use crate::stats::grouped::Grouped;
use crate::stats::grouping::Grouping;
use crate::symbols::Stacks;

/// The probability of one wrong star or more, if nothing differs.
const LEVEL: f64 = 0.01;

impl<'a> Difference<'a> {
    pub(crate) fn new(
        runs: [RunOf<'_>; 2],
        verdicts: [&'a Verdict; 2],
        grouping: Option<&'a Grouping>,
        limits: &[Limit],
    ) -> Difference<'a> {
        let wholes = runs.each_ref().map(RunOf::whole);
        let seconds = wholes.map(|(_, seconds)| seconds);
        let figures = |at: usize| RunFigures {
            input: runs[at].opened.inputs.names(),
            events: wholes[at].0.count,
            seconds: seconds[at],
            completeness: verdicts[at],
        };
        let mut events = events_of(runs.each_ref().map(RunOf::events), seconds);
        let mut spans = spans_of(runs.each_ref().map(RunOf::durations), seconds);
        let tests = events.iter().map(|event| &event.test).chain(spans.iter().map(|span| &span.test));
        let tests = tests.filter(|test| test.probability.is_some()).count() as u64;
        let level = LEVEL / tests.max(1) as f64;
        let is_low = |test: &Test| test.probability.is_some_and(|probability| probability < level);
        for event in &mut events {
            event.test.significant = is_low(&event.test) && event.per_second.is_large();
        }
        for span in &mut spans {
            let figures = [&span.mean_ns, &span.p50_ns, &span.p90_ns, &span.p99_ns];
            span.test.significant = is_low(&span.test) && figures.iter().any(|figure| figure.is_large());
        }
        let groups = grouping.map(|grouping| groups_of(&runs, verdicts, grouping)).unwrap_or_default();
        let limits = limits.iter().map(|limit| limits::apply(limit, &events, &spans)).collect();
        Difference {
            version: 1,
            runs: [figures(0), figures(1)],
            level,
            tests,
            events,
            spans,
            by: grouping.iter().flat_map(|of| of.by.iter().map(|(name, _)| name.as_str())).collect(),
            groups,
            dropped_groups: runs.each_ref().map(|run| run.groups.dropped.groups),
            limits,
            counts: runs.each_ref().map(RunOf::counts),
        }
    }

    /// Returns what limits lack.
    pub(crate) fn missing_limits(&self) -> impl Iterator<Item = &str> {
        self.limits.iter().filter_map(|limit| limit.missing.as_deref())
    }

    /// Returns the limits that are exceeded, and the figures.
    pub(crate) fn exceeded_limits(&self) -> impl Iterator<Item = (&str, String)> {
        self.limits.iter().filter(|limit| limit.exceeded).map(|limit| (&*limit.limit, limit.says()))
    }
}

fn events_of(runs: [BTreeMap<Name, EventFigures>; 2], seconds: [Option<f64>; 2]) -> Vec<EventDifference> {
    let names: BTreeSet<&Name> = runs.iter().flat_map(BTreeMap::keys).collect();
    let none = EventFigures::default();
    let mut all: Vec<_> = names
        .into_iter()
        .map(|name| {
            let of = [0, 1].map(|at| runs[at].get(name).unwrap_or(&none));
            // A type that never occurred has intervals without events.
            let lengths = runs.each_ref().map(|run| run.values().map(|of| of.intervals.len()).max());
            let intervals = [0, 1].map(|at| match of[at].count {
                0 => vec![0.0; lengths[at].unwrap_or(0)],
                _ => of[at].intervals.clone(),
            });
            let counts = of.map(|of| of.count as f64);
            EventDifference {
                event: name.1.clone(),
                registry: name.0.clone(),
                count: Pair::new(counts.map(Some)),
                per_second: per_second(counts, seconds),
                bytes: Pair::new(of.map(|of| Some(of.bytes as f64))),
                test: Test { probability: welch(&intervals[0], &intervals[1]), significant: false },
                counts: of.map(|of| of.counts.clone()),
            }
        })
        .collect();
    all.sort_by(|x, y| y.count.largest().total_cmp(&x.count.largest()));
    all
}

fn spans_of(
    mut runs: [BTreeMap<Name, (Distribution, i64)>; 2],
    seconds: [Option<f64>; 2],
) -> Vec<SpanDifference> {
    let names: BTreeSet<Name> = runs.iter().flat_map(BTreeMap::keys).cloned().collect();
    let mut all: Vec<_> = names
        .into_iter()
        .map(|name| {
            let of = runs.each_mut().map(|run| run.remove(&name));
            let figure = |get: &dyn Fn(&Distribution) -> Option<f64>| {
                Pair::new(of.each_ref().map(|of| of.as_ref().and_then(|(durations, _)| get(durations))))
            };
            let quantile = |share: f64| figure(&|durations| Some(durations.quantile(share)?.float()));
            let number =
                |of: &Option<(Distribution, i64)>| of.as_ref().map_or(0, |(of, _)| of.summary().count);
            let counts = of.each_ref().map(|of| number(of) as f64);
            let probability = match &of {
                [Some((a, _)), Some((b, _))] => mann_whitney(a, b),
                _ => None,
            };
            SpanDifference {
                count: Pair::new(counts.map(Some)),
                per_second: per_second(counts, seconds),
                total_ns: Pair::new(of.each_ref().map(|of| of.as_ref().map(|(_, total)| *total as f64))),
                mean_ns: figure(&Distribution::mean),
                p50_ns: quantile(0.5),
                p90_ns: quantile(0.9),
                p99_ns: quantile(0.99),
                max_ns: quantile(1.0),
                span: name.1,
                registry: name.0,
                test: Test { probability, significant: false },
                durations: of.map(|of| of.map(|(durations, _)| durations)),
            }
        })
        .collect();
    all.sort_by(|x, y| y.total_ns.largest().total_cmp(&x.total_ns.largest()));
    all
}

fn per_second(counts: [f64; 2], seconds: [Option<f64>; 2]) -> Pair {
    Pair::new([0, 1].map(|at| seconds[at].map(|seconds| counts[at] / seconds)))
}

impl Pair {
    fn largest(&self) -> f64 {
        self.a.unwrap_or(0.0).max(self.b.unwrap_or(0.0))
    }
}

/// The events of a group, and its sums.
type Group = (u64, Vec<Option<f64>>);

fn groups_of(runs: &[RunOf<'_>; 2], verdicts: [&Verdict; 2], grouping: &Grouping) -> Vec<GroupDifference> {
    let mut groups: BTreeMap<Vec<String>, [Option<Group>; 2]> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        // An input that was read cannot fail. If it does, its stacks have no names.
        let stacks = Stacks::if_needed(run.groups.has_stacks(), &run.opened.inputs);
        let mut stacks = stacks.unwrap_or_default();
        let grouped = Grouped::new(&run.opened.events, grouping, run.groups, &mut stacks, verdicts[at]);
        for (values, events, sums) in grouped.each() {
            let sums = sums.map(Json::as_f64).collect();
            groups.entry(values.to_vec()).or_default()[at] = Some((events, sums));
        }
    }
    let mut all: Vec<_> = groups
        .into_iter()
        .map(|(values, of)| {
            let events = of.each_ref().map(|of| Some(of.as_ref().map_or(0.0, |(events, _)| *events as f64)));
            let sum = |index: usize| of.each_ref().map(|of| of.as_ref().and_then(|(_, sums)| sums[index]));
            let sums = grouping.sums.iter().enumerate();
            let sums =
                sums.map(|(index, param)| SumDifference { param: param.clone(), sum: Pair::new(sum(index)) });
            GroupDifference { events: Pair::new(events), sums: sums.collect(), values }
        })
        .collect();
    all.sort_by(|x, y| y.events.largest().total_cmp(&x.events.largest()));
    all
}
