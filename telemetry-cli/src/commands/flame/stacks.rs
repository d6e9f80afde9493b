//! Call stacks in events.

use telemetry_decode::{Event, Order};
use telemetry_foreign::flame::FlameGraph;
use telemetry_report::figures::keyed::PerEvent;
use telemetry_report::stacks::StackRole;
use telemetry_schema::Role;

use super::Args;
use crate::input::events::Opened;
use crate::stats::grouping::{Grouping, unit_of};
use crate::symbols::Stacks;
use crate::term::ended::Failure;
use crate::term::message::warning;
use crate::text::count;
use crate::text::print::thread_name;

/// The maximum of frames of a stack.
const MAX_FRAMES: usize = 500;

/// How the stacks of a type of event are taken, and the index of their weight.
type Plan = (Frames, Option<usize>);

/// Where the frames of an event are.
#[derive(Clone, Copy)]
enum Frames {
    /// In a list.
    Listed(StackRole),
    /// In the stack whose number is the value of the parameter with this index.
    Numbered(usize),
}

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
            let Some((role, weighed)) = *plans.get(event, |event| plan(event, weight)) else { return };
            let number = match (weight, weighed.and_then(|at| event.value(at))) {
                (None, _) => Some(1),
                (Some(_), value) => value.and_then(|value| value.as_u64()),
            };
            let Some(number) = number else {
                without += 1;
                return;
            };
            let mut frames = match role {
                Frames::Listed(role) => role.frames(event, MAX_FRAMES, |text| text),
                Frames::Numbered(at) => {
                    let stack = event.value(at).and_then(|value| value.as_u64());
                    stacks.frames(event, stack.unwrap_or(0))
                }
            };
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
    let params = &event.schema().params;
    let numbered = params.iter().position(|param| param.role == Some(Role::Stack));
    let listed = || StackRole::of(event).map(Frames::Listed);
    let role = numbered.map(Frames::Numbered).or_else(listed)?;
    let weighed = weight.and_then(|weight| params.iter().position(|param| param.name == weight));
    Some((role, weighed))
}
