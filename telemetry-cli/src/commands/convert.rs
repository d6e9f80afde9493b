//! `telemetry convert`: converts events of one format to another.

mod stream;

use telemetry_decode::Order;
use telemetry_decode::writer::Compress;

use crate::input::events::EventArgs;
use crate::input::inputs::cannot_read;
use crate::input::opening::FormatArg;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::message::warning;
use crate::term::progress::Progress;
use crate::text::count;

const EXAMPLES: &str = "\
The input is a stream or a log of another system. Its first bytes or --input-format tell which. Events are
written in time order. Events that the target format cannot represent are counted and reported;
docs/formats.md lists what each format keeps.

Examples:
  telemetry convert --to telemetry -o gc.tel mpsio.log      another system's log as a stream
  telemetry convert --to ghc-eventlog -o gc.eventlog gc.tel a stream for another system's tools
  telemetry convert --to telemetry --compress -o old.tel gc.tel
  telemetry convert --to mps --kind Trace gc.tel | mpseventcnv -f -";

/// Convert streams and other systems' logs to another format
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: FormatArg,

    /// Compress the blocks of events, too; each block is compressed alone
    #[arg(long)]
    compress: bool,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        if self.compress && self.to != FormatArg::Telemetry {
            return Err(Failure::new(
                "--compress is for --to telemetry: other formats have no compressed blocks",
            ));
        }
        // Only a GHC log has both the time at which an event was written and the time that it
        // describes.
        let mut opened = match self.to {
            FormatArg::GhcEventlog => self.common.open_as_recorded(Order::Time)?,
            _ => self.common.open(Order::Time)?,
        };
        let mut output = self.common.output.open_stream(&opened.inputs.paths())?;
        if output.is_terminal() {
            return Err(Failure::new(
                "the output is not text, and would go to a terminal; help: name a file with -o FILE",
            ));
        }
        let progress = Progress::of_bytes(opened.inputs.len());
        // The registry would be most of a short log's stream.
        let compress = if self.compress { Compress::All } else { Compress::Texts };
        let written = match self.to.other() {
            Some(format) => output.write_with(|out| format.write(&mut opened.events, out)),
            None => output.write_with(|out| stream::write(&mut opened.events, out, compress, &progress)),
        };
        drop(progress);
        let written = written?.map_err(cannot_read)?;
        output.finish()?;
        for (why, events) in &written.left_out {
            let message = format!("{} {why}", count(*events, "event"));
            if self.common.input.strict { context.problem(message) } else { warning(message) }
        }
        opened.end(context)
    }
}
