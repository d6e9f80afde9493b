//! Values of parameters as frames.

use std::num::NonZeroUsize;

use serde_json::Value as Json;
use telemetry_decode::{EventBatch, Order};
use telemetry_foreign::flame::FlameGraph;

use crate::input::events::{EventArgs, Opened};
use crate::stats::grouped::Grouped;
use crate::stats::grouping::{Column, Grouping, unit_of};
use crate::stats::groups::Groups;
use crate::symbols::Stacks;
use crate::term::ended::Failure;
use crate::term::message::warning;
use crate::text::count;

/// Returns the graph of all events that have these columns.
pub(super) fn graph(
    common: &EventArgs,
    by: &[String],
    weight: Option<&str>,
    threads: NonZeroUsize,
) -> Result<(Opened, FlameGraph), Failure> {
    let weights: Vec<String> = weight.map(str::to_string).into_iter().collect();
    let grouping = Grouping::new(by, &weights, "--weight")?;
    let mut opened = common.open(Order::Stream)?;
    // A pipe knows its registries only at the end.
    if !opened.registries().is_empty() {
        grouping.check(opened.registries())?;
    }
    let mut groups = Groups::default();
    let of_shard = |batch: &EventBatch<'_>, groups: &mut Groups| groups.add_batch(batch, &grouping);
    opened.each_shard(threads, of_shard, |later| groups.merge(later, &grouping))?;
    grouping.check(opened.registries())?;
    groups.limit(&grouping, 1);

    let unit = weight.map_or("count", |weight| unit_of(opened.registries(), weight));
    let mut graph = FlameGraph::new("events", unit);
    let verdict = opened.verdict();
    let mut stacks = Stacks::if_needed(groups.has_stacks(), &opened.inputs)?;
    let shown = Grouped::new(&opened.events, &grouping, &groups, &mut stacks, &verdict);
    let mut without = 0;
    for (cells, events, mut sums) in shown.each() {
        let number = if weight.is_some() { sums.next().and_then(whole) } else { Some(events) };
        let Some(number) = number else {
            without += events;
            continue;
        };
        let frames = grouping.by.iter().zip(cells).map(|((_, column), cell)| match column {
            Column::Field(_) => cell.clone(),
            Column::Param(name) => format!("{name}:{cell}"),
        });
        graph.add(frames, events, number);
    }
    let dropped = groups.dropped;
    let sum = groups.dropped_sums.first().and_then(|sum| whole(&sum.total()));
    let number = if weight.is_some() { sum.unwrap_or(0) } else { dropped.events };
    graph.add_other(dropped.groups, dropped.events, number);
    if without > 0 {
        let what = "without the weight, or with a negative sum";
        warning(format!("not in the graph: {} {what}", count(without, "event")));
    }
    Ok((opened, graph))
}

/// Returns a sum as a weight, which is neither negative nor infinite.
fn whole(sum: &Json) -> Option<u64> {
    let float = || sum.as_f64().filter(|sum| *sum >= 0.0 && *sum < u64::MAX as f64);
    sum.as_u64().or_else(|| float().map(|sum| sum.round() as u64))
}
