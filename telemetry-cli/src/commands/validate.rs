//! `telemetry validate`: checks that a stream is complete, and that every begin has its end.

use telemetry_decode::EventBatch;
use telemetry_decode::names::RUNTIME_REGISTRY;

use crate::input::events::EventArgs;
use crate::input::threads::ThreadArgs;
use crate::spans::paired::Paired;
use crate::spans::shown::{Names, Spans};
use crate::term::ended::{Context, Ended, Run};
use crate::term::json::JsonArgs;
use crate::term::message::warning;
use crate::term::progress::Progress;
use crate::text::count;

const EXAMPLES: &str = "\
A stream is valid if no event is lost, missing or damaged, and each begin of a message or span has its end.
Unmatched events are listed with their place in the file. An unmatched event is uncertain if its partner may
be among the missing events. Events that the filter removes are not paired; --where selects pairs after that.
The exit code is 1 if the stream is not valid.

Examples:
  telemetry validate gc.tel
  telemetry validate --where 'span == Trace and thread == worker' gc.tel
  telemetry validate --json gc.tel | jq '.unmatched[] | [.message, .what, .offset]'";

/// Check completeness, and that begins and ends of messages and spans match
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// List at most this many of the unmatched events
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// Keep at most this many open pairs, about 240 bytes each; beyond it, drop the oldest
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_open: u32,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let (mut opened, condition) = self.common.open_for_spans()?;
        let output = opened.output()?;
        let progress = Progress::of_bytes(opened.inputs.len());
        let (mut paired, mut dropped) = (Paired::new(self.max_open, &[], 0, false), 0);
        paired.select(condition);
        let each = |batch: &EventBatch<'_>| dropped += dropped_messages(batch);
        paired.read(&mut opened, self.threads.number(), progress, each, |_, _, _, _| Ok(()))?;
        let Paired { pairing, tally, .. } = paired;

        let verdict = opened.verdict();
        let names = Names::new(&opened.events, &pairing.defs);
        let pairs = Spans::new(&tally, &names, &opened.inputs, &verdict, false);
        output.show(self.json.is_on(), &pairs, |out| pairs.append_unmatched(out, self.limit))?;
        pairs.report(|message| context.problem(message));
        if dropped > 0 {
            warning(format!("{} dropped by the program", count(dropped, "message")));
        }
        opened.end_with(&verdict, context)
    }
}

/// Counts the events of a batch that report dropped messages.
fn dropped_messages(batch: &EventBatch<'_>) -> u64 {
    if batch.known_registry().registry.name != RUNTIME_REGISTRY {
        return 0;
    }
    batch.iter().filter(|event| event.name() == "MessagesDropped").count() as u64
}
