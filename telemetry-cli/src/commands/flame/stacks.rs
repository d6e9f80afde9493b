//! Call stacks in events.

use telemetry_decode::{Event, Order};
use telemetry_foreign::flame::FlameGraph;
use telemetry_report::figures::keyed::PerEvent;

use super::Args;
use crate::input::events::Opened;
use crate::stats::grouping::{Grouping, unit_of};
use crate::symbols::{StackParam, Stacks};
use crate::term::ended::Failure;
use crate::term::message::warning;
use crate::text::count;
use crate::text::print::thread_name;

/// How the stacks of a type of event are taken, and the index of their weight.
type Plan = (StackParam, Option<usize>);

impl Args {
    /// Returns the graph of the call stacks in events.
    pub(super) fn stacks(&self, weight: Option<&str>) -> Result<(Opened, FlameGraph), Failure> {
        let mut opened = self.common.open(Order::Time)?;
        let weights: Vec<String> = weight.map(str::to_string).into_iter().collect();
        let grouping = Grouping::new(&[], &weights, "--weight")?;
        if !opened.registries().is_empty() {
            grouping.check(opened.registries())?;
        }
        let unit = weight.map_or("count", |weight| unit_of(opened.registries(), weight));
        let mut graph = FlameGraph::new("events", unit);
        let mut plans: PerEvent<Option<Plan>> = PerEvent::default();
        let mut stacks = Stacks::of(&opened.inputs)?;
        let takes_stacks = !opened.inputs.are_files();
        let mut without = 0;
        opened.each(|event| {
            if takes_stacks {
                stacks.take(event);
            }
            let Some((stack, weighed)) = *plans.get(event, |event| plan(event, weight)) else { return };
            let number = match (weight, weighed.and_then(|at| event.value(at))) {
                (None, _) => Some(1),
                (Some(_), value) => value.and_then(|value| value.as_u64()),
            };
            let Some(number) = number else {
                without += 1;
                return;
            };
            let mut frames = stack.frames(event, &mut stacks);
            frames.reverse();
            frames.insert(0, event.name().to_string());
            if self.per_thread {
                frames.insert(0, thread_name(event.session(), event.thread()));
            }
            graph.add(&frames, 1, number);
        })?;
        if without > 0 {
            warning(format!("not in the graph: {} without the weight", count(without, "event")));
        }
        if graph.total() == 0 {
            warning("no event has a call stack; help: --by NAME takes parameters as frames");
        }
        Ok((opened, graph))
    }
}

fn plan(event: &Event<'_>, weight: Option<&str>) -> Option<Plan> {
    let weighed = |weight| event.schema().params.iter().position(|param| param.name == weight);
    Some((StackParam::of(event)?, weight.and_then(weighed)))
}
