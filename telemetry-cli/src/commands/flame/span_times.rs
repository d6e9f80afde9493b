//! Nested spans, weighted by their self time.

use hashbrown::HashMap;
use telemetry_foreign::flame::FlameGraph;
use telemetry_report::spans::{Found, Pairing, Paths};

use super::Args;
use crate::input::events::Opened;
use crate::spans::paired::Paired;
use crate::spans::sampled::MAX_OPEN;
use crate::spans::shown::Names;
use crate::term::ended::{Context, Failure};
use crate::term::message::warning;
use crate::term::progress::Progress;
use crate::text::count;

/// The maximum of sums that wait to be added to the graph.
const MAX_SUMS: usize = 100_000;

/// Number of spans and their self time, by session and thread, if they matter, and by path.
type Sums = HashMap<(u64, u32, u32), (u64, u64)>;

impl Args {
    /// Returns the graph of all spans that ended.
    pub(super) fn spans(&self, context: &mut Context) -> Result<(Opened, FlameGraph), Failure> {
        let (mut opened, condition) = self.common.open_for_spans()?;
        let mut paired = Paired::new(MAX_OPEN, &[], 0, false);
        paired.pairing.paths.keep();
        paired.select(condition);
        let progress = Progress::of_bytes(opened.inputs.len());
        let mut graph = FlameGraph::new("spans", "nanoseconds");
        let mut sums = Sums::new();
        paired.read(&mut opened, self.threads.number(), progress, &mut (), |pairing, names, found, _| {
            let Found::Whole { which, begin, self_ns, path, .. } = found else { return Ok(()) };
            let thread = if self.per_thread { (which.session, begin.thread) } else { (0, 0) };
            let sum = sums.entry((thread.0, thread.1, *path)).or_default();
            sum.0 += 1;
            sum.1 = sum.1.saturating_add(u64::try_from(*self_ns).unwrap_or(0));
            if sums.len() >= MAX_SUMS {
                self.add(&mut graph, std::mem::take(&mut sums), pairing, names);
            }
            Ok(())
        })?;
        let Paired { pairing, tally, .. } = paired;
        self.add(&mut graph, sums, &pairing, &Names::new(&opened.events, &pairing.defs));
        if graph.total() == 0 {
            warning(
                "no span ended; help: --stacks takes call stacks, and --by NAME takes parameters as frames",
            );
        }
        let no_end = tally.spans.iter().map(|span| span.no_end + span.begins_dropped).sum::<u64>();
        if no_end > 0 {
            let message = format!("not in the graph: {}", count(no_end, "unended span"));
            if self.common.input.strict { context.problem(message) } else { warning(message) }
        }
        Ok((opened, graph))
    }

    fn add(&self, graph: &mut FlameGraph, sums: Sums, pairing: &Pairing, names: &Names<'_>) {
        // The order decides which names come first.
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable();
        for ((session, thread, path), (spans, self_ns)) in sums {
            let mut frames = Vec::new();
            let mut at = path;
            while let Some(of) = pairing.paths.get(at) {
                frames.push(pairing.defs[of.def as usize].span.name.clone());
                at = of.outer;
            }
            if path == Paths::OTHERS {
                graph.add_other(1, spans, self_ns);
                continue;
            }
            if self.per_thread {
                frames.push(names.thread(session, thread));
            }
            graph.add(frames.iter().rev(), spans, self_ns);
        }
    }
}
