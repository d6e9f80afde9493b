//! `telemetry validate`: whether a stream is whole, and every begin in it has its end.

use telemetry_decode::{Event, Order, RUNTIME_REGISTRY};

use super::spans::paired::Paired;
use super::spans::shown::{Names, Spans};
use crate::events::EventArgs;
use crate::exit::{Ended, Outcome, report};
use crate::progress::Progress;
use crate::text::count;

const EXAMPLES: &str = "\
A stream is in order if nothing is lost, missing or damaged, and if every begin of a message or a span has its
end and the other way round. What stands alone is listed with its place in the file; it is uncertain if the
other half may be among what is missing. What the filter leaves out pairs with nothing.
The exit code is 1 if anything is wrong.

Examples:
  telemetry validate gc.tel
  telemetry validate --json gc.tel | jq '.unmatched[] | [.message, .what, .offset]'";

/// Check that streams are complete, and that begins and ends of messages and spans match
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How many of the unmatched to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    top: usize,

    /// Most pairs that may be open at once, each some 130 bytes; beyond it the oldest are given up
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_open: u32,

    /// As one JSON object, as `telemetry spans` has it
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    common: EventArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let output = self.common.output.open(&opened.inputs.paths())?;
        let progress = Progress::of(&opened.inputs);
        let (mut paired, mut dropped) = (Paired::new(self.max_open, &[], 0), 0);
        let each = |event: &Event<'_>| dropped += u64::from(is_dropped_message(event));
        paired.read(&mut opened, progress, each, |_, _, _| Ok(()))?;
        let Paired { pairing, tally } = paired;

        let verdict = opened.verdict();
        let names = Names::new(&opened.events, &pairing.defs);
        let pairs = Spans::new(&tally, &names, &opened.inputs, &verdict);
        output.show(self.json, &pairs, |out| pairs.append_unmatched(out, self.top))?;
        pairs.report();
        if dropped > 0 {
            report(format!("{} that the program did not hear of", count(dropped, "message")));
        }
        let outcome = opened.end_with(&verdict)?;
        Ok(if tally.has_unmatched() { Outcome::Problems } else { outcome })
    }
}

/// True of what says that the program did not hear of something.
fn is_dropped_message(event: &Event<'_>) -> bool {
    event.registry.name == RUNTIME_REGISTRY && event.name() == "MessagesDropped"
}
