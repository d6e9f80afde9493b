//! `telemetry show`: the text of GHC's `ghc-events show`.

use telemetry_decode::Order;
use telemetry_foreign::ghc::Show;

use crate::events::{EventArgs, Opened};
use crate::exit::{Ended, Outcome, report};
use crate::input::cannot_read;
use crate::progress::Progress;
use crate::text::count;
use crate::text::print::programs_registries;

const EXAMPLES: &str = "\
Prints, byte for byte, what `ghc-events show` 0.21 prints of a whole log: the types of events that the log declares,
then its events by time. (Older ones leave out blocks.) Of a damaged log it prints what can be read, where ghc-events stops or says nothing.
A stream that was made of an eventlog is shown as the log is.

Examples:
  telemetry show program.eventlog
  telemetry show --kind Gc --from 1s --to 2s program.eventlog
  telemetry convert --to telemetry -o program.tel program.eventlog && telemetry show program.tel";

/// Write GHC's events as text, by time, as ghc-events show does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: EventArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let mut output = self.common.output.open(&opened.inputs.paths())?;
        let progress = Progress::new(&opened.inputs, &output);
        let (mut show, mut others) = (Show::default(), 0);
        loop {
            match opened.events.next() {
                Ok(Some(event)) => others += u64::from(!show.event(output.buffer(), &event)),
                Ok(None) => break,
                Err(error) => {
                    output.flush()?;
                    return Err(cannot_read(error));
                }
            }
            if output.relieve()? {
                progress.at(opened.events.bytes_done());
            }
        }
        drop(progress);
        // Of a log that is another system's, not even the heads are printed.
        let is_other = others > 0 && !opened.registries().iter().any(|known| known.name == Show::REGISTRY);
        if !is_other {
            show.end(output.buffer());
            output.finish()?;
        }
        if others > 0 {
            let others = count(others, "event");
            report(match is_other {
                true => format!(
                    "{} has {others} of {}, expected a GHC eventlog, or a stream of one; help: `telemetry stats` and \
                     `telemetry print` show what it has",
                    opened.inputs.names(),
                    registries(&opened),
                ),
                false => format!(
                    "{others} not of GHC's runtime system and not shown; help: `telemetry print` shows all"
                ),
            });
        }
        Ok(opened.end()?.and(Outcome::problems_if(others > 0)))
    }
}

/// The relations of a stream that has nothing of GHC's, by name.
fn registries(opened: &Opened) -> String {
    let mut names: Vec<_> =
        programs_registries(opened.registries()).map(|known| known.name.as_str()).collect();
    names.dedup();
    if names.is_empty() { "the runtime's own".to_string() } else { names.join(", ") }
}
