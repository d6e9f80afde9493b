//! Samples of threads: the spans that were open, and the call stack inside of them.

use telemetry_decode::Order;
use telemetry_foreign::flame::FlameGraph;
use telemetry_report::spans::{Pairing, is_sample, open_spans};

use super::Args;
use crate::input::events::Opened;
use crate::spans::sampled::MAX_OPEN;
use crate::symbols::Stacks;
use crate::term::ended::Failure;
use crate::term::message::warning;
use crate::text::count;
use crate::text::print::thread_name;

impl Args {
    /// Returns the graph of all samples, weighted by the periods of their timers.
    pub(super) fn samples(&self) -> Result<(Opened, FlameGraph), Failure> {
        let mut opened = self.common.open(Order::Time)?;
        let mut pairing = Pairing::new(MAX_OPEN as usize, &[], false);
        pairing.paths.keep();
        let mut stacks = Stacks::of(&opened.inputs)?;
        let takes_stacks = !opened.inputs.are_files();
        let mut graph = FlameGraph::new("samples", "count");
        let mut found = Vec::new();
        let mut missed = 0;
        opened.each(|event| {
            if takes_stacks {
                stacks.take(event);
            }
            if !is_sample(event) {
                pairing.take(event, &mut found);
                return found.clear();
            }
            let number = |at: usize| event.value(at).and_then(|value| value.as_u64()).unwrap_or(0);
            let (stack, periods) = (number(0), number(1));
            missed = u64::saturating_add(missed, periods.saturating_sub(1));
            let mut frames = open_spans(&pairing, event);
            if self.per_thread {
                frames.insert(0, thread_name(event.session(), event.thread()));
            }
            if stack > 0 {
                frames.extend(stacks.frames(event.session(), stack));
            }
            graph.add(&frames, 1, periods);
        })?;
        if graph.total() == 0 {
            warning("no thread was sampled; help: run the program with TELEMETRY_SAMPLING=cpu:1000");
        }
        if missed > 0 {
            let share = 100.0 * missed as f64 / graph.total().max(1) as f64;
            let periods = count(missed, "period");
            warning(format!("{periods} of timers ({share:.1} %) had no sample, and count for the next one"));
        }
        Ok((opened, graph))
    }
}
