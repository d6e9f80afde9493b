//! `telemetry stats`: how often each event occurred, when, on which thread, and with which values.

mod shown;
mod tally;

use telemetry_decode::Order;

use self::shown::{Stats, bytes_by_kind};
use self::tally::Tally;
use crate::events::EventArgs;
use crate::exit::Ended;

const EXAMPLES: &str = "\
Rates are per second of the time between the first and the last event shown. Bytes are those that the
events take in their blocks; \"with headers\" are those of whole blocks, whatever the filter leaves out, and
not known of a pipe. Intervals are those between two events of a sort on one thread. Percentiles of whole
numbers are exact below 256, others within 0.8 %; frequencies are exact for up to 1000 different values.

Examples:
  telemetry stats
  telemetry stats --kind Trace --from 1s --to 2s
  telemetry stats --json gcbench.tel | jq '.events[] | [.event, .count]'";

/// Count events: how many of each, how often, from when to when, on which thread, with which values
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// As one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    common: EventArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let mut opened = self.common.open(Order::Stream)?;
        let tally = Tally::of(&mut opened)?;
        let bytes = opened.inputs.index_again()?.map(|index| bytes_by_kind(&index));
        let verdict = opened.verdict();
        let stats = Stats::new(&opened.events, &tally, bytes.as_ref(), &verdict);
        self.common
            .output
            .open(&opened.inputs.paths())?
            .show(self.json, &stats, |out| stats.append_text(out))?;
        opened.end_with(&verdict)
    }
}
