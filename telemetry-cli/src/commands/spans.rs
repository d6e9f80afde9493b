//! `telemetry spans`: begins and ends put together, and how long it took from one to the other.

mod gaps;
pub(super) mod paired;
mod pairing;
pub(super) mod shown;
mod tally;

use telemetry_decode::Order;

use self::paired::Paired;
use self::shown::{CSV_HEAD, Names, Spans};
use crate::events::{EventArgs, Opened};
use crate::exit::{Ended, Outcome, report};
use crate::progress::Progress;

const EXAMPLES: &str = "\
Spans are pairs of events that the relation declares: [[span]] with begin, end, and a key that tells running
ones apart; without a key they nest per thread. Pairs of a [[message]], of which the program itself may hear,
are marked with its name. Self time is that in which no span that the thread began
later was open. A span is uncertain if events that might have been its begin or end were lost, are
missing or were withheld in between. What the filter leaves out pairs with nothing.

Examples:
  telemetry spans gc.tel
  telemetry spans --span Trace --top 3 gc.tel
  telemetry spans --csv gc.tel -o spans.csv        every span
  telemetry spans --json gc.tel | jq '.spans[] | [.span, .duration_ns.p99]'";

/// Pair events that begin and end something: how long, percentiles, the longest, unmatched ones
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only this span (repeatable)
    #[arg(long, value_name = "SPAN")]
    span: Vec<String>,

    /// How many of the longest spans to list, and of the unmatched
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Most spans that may be open at once, each some 130 bytes; beyond it the oldest are given up
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_open: u32,

    /// As one JSON object
    #[arg(long)]
    json: bool,

    /// Every span as a line of comma-separated values, in the order of their ends
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    #[command(flatten)]
    common: EventArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let unknown = self.unknown_names(&opened);
        let mut output = self.common.output.open(&opened.inputs.paths())?;
        let progress = match self.csv {
            true => Progress::new(&opened.inputs, &output),
            false => Progress::of(&opened.inputs),
        };
        if self.csv {
            output.buffer().extend_from_slice(CSV_HEAD.as_bytes());
        }
        let mut paired = Paired::new(self.max_open, &self.span, self.top);
        paired.read(
            &mut opened,
            progress,
            |_| {},
            |names, found, gaps| {
                if self.csv {
                    names.append_csv(output.buffer(), found, gaps);
                    output.relieve()?;
                }
                Ok(())
            },
        )?;
        let Paired { pairing, tally } = paired;

        let verdict = opened.verdict();
        let names = Names::new(&opened.events, &pairing.defs);
        let spans = Spans::new(&tally, &names, &opened.inputs, &verdict);
        // CSV went out as it was read.
        let append_text = |out: &mut Vec<u8>| {
            if !self.csv {
                spans.append_text(out)
            }
        };
        output.show(self.json, &spans, append_text)?;
        spans.report();
        let outcome = opened.end_with(&verdict)?;
        unknown.iter().for_each(|name| report(format!("no span `{name}` in the input")));
        let is_short = self.common.input.strict && tally.has_unmatched();
        Ok(if is_short || !unknown.is_empty() { Outcome::Problems } else { outcome })
    }

    /// Names that no span has.
    fn unknown_names(&self, opened: &Opened) -> Vec<&String> {
        let declared = |name: &str| {
            opened.registries().iter().any(|known| {
                known.spans.iter().any(|span| span.name == name)
                    || known.messages.iter().any(|message| message.end.is_some() && message.name == name)
            })
        };
        self.span.iter().filter(|name| !declared(name)).collect()
    }
}
