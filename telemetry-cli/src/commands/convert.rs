//! `telemetry convert`: events of one format as a file of another.

mod stream;

use telemetry_decode::{Compress, Order};

use crate::events::EventArgs;
use crate::exit::{Ended, Failure, Outcome, report};
use crate::input::cannot_read;
use crate::opening::FormatArg;
use crate::progress::Progress;
use crate::text::count;

const EXAMPLES: &str = "\
The input may be a stream or a log of another system; which one is seen by its first bytes, or said with
--format. Events come by time. What a format has no room for is counted and said. docs/formats.md tells, format
by format, what is kept.

Examples:
  telemetry convert --to telemetry -o gc.tel mpsio.log      another system's log as a stream
  telemetry convert --to ghc-eventlog -o gc.eventlog gc.tel and a stream for another system's tools
  telemetry convert --to telemetry --compress -o old.tel gc.tel
  telemetry convert --to mps --kind Trace gc.tel | mpseventcnv -f -";

/// Write events of streams or other systems' logs as a file of another format
#[derive(clap::Args)]
// The time at which events end has the name that it has elsewhere only as long as that is free.
#[command(after_help = EXAMPLES, mut_arg("to", |to| to.long("until")))]
pub(crate) struct Args {
    /// What to write
    #[arg(id = "target", long = "to", value_enum, value_name = "FORMAT")]
    target: FormatArg,

    /// Compress the blocks of a stream, each alone: events, too, and not only what describes them
    #[arg(long)]
    compress: bool,

    #[command(flatten)]
    common: EventArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        if self.compress && self.target != FormatArg::Telemetry {
            return Err(Failure::new(
                "--compress is for --to telemetry: other formats have no compressed blocks",
            ));
        }
        let mut opened = self.common.open(Order::Time)?;
        let mut output = self.common.output.open_stream(&opened.inputs.paths())?;
        if output.is_terminal() {
            return Err(Failure::new(
                "the output is not text, and would go to a terminal; help: name a file with -o FILE",
            ));
        }
        let progress = Progress::of(&opened.inputs);
        // Of a short log most of its stream would be the relation.
        let compress = if self.compress { Compress::All } else { Compress::Texts };
        let written = match self.target.other() {
            Some(format) => output.write_with(|out| format.write(&mut opened.events, out)),
            None => output.write_with(|out| stream::write(&mut opened.events, out, compress, &progress)),
        };
        drop(progress);
        let written = written?.map_err(cannot_read)?;
        output.finish()?;
        for (why, events) in &written.left_out {
            report(format!("{} {why}", count(*events, "event")));
        }
        let ended = opened.end()?;
        Ok(ended.and(Outcome::problems_if(self.common.input.strict && !written.left_out.is_empty())))
    }
}
