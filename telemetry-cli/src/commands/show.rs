//! `telemetry show`: the text of GHC's `ghc-events show`.

use telemetry_decode::Order;
use telemetry_foreign::ghc::Show;

use crate::input::events::{EventArgs, Opened};
use crate::term::ended::{Context, Ended, Run};
use crate::text::count;
use crate::text::print::programs_registries;

const EXAMPLES: &str = "\
The output equals that of `ghc-events show` 0.21 byte for byte: the event types that the log declares, then
its events by time. For a damaged log, the command prints what it can read, where ghc-events stops.
A stream that was made from an eventlog prints like the eventlog.

Examples:
  telemetry show program.eventlog
  telemetry show --kind Gc --from 1s --until 2s program.eventlog
  telemetry convert --to telemetry -o program.tel program.eventlog && telemetry show program.tel";

/// Write GHC's events as text, ordered by time, like ghc-events show
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open_as_recorded(Order::Time)?;
        let mut output = opened.output()?;
        let (mut show, mut others) = (Show::default(), 0);
        opened.append_batches(&mut output, |out, batch| {
            others += batch.iter().map(|event| u64::from(!show.event(out, &event))).sum::<u64>();
        })?;
        // For another system's log, not even the heads are printed.
        let is_other =
            others > 0 && !opened.registries().iter().any(|known| known.registry.name == Show::REGISTRY);
        if !is_other {
            show.end(output.buffer());
            output.finish()?;
        }
        if others > 0 {
            let others = count(others, "event");
            context.problem(match is_other {
                true => format!(
                    "{} has {others} of {}, expected a GHC eventlog or a stream of one; help: `telemetry stats` and \
                     `telemetry print` show its events",
                    opened.inputs.names(),
                    registries(&opened),
                ),
                false => format!(
                    "skipped {others} that are not of GHC's runtime; help: `telemetry print` shows all"
                ),
            });
        }
        opened.end(context)
    }
}

/// Names the registries of a stream that has no event of GHC's.
fn registries(opened: &Opened) -> String {
    let mut names: Vec<_> =
        programs_registries(opened.registries()).map(|known| known.registry.name.as_str()).collect();
    names.dedup();
    if names.is_empty() { "the runtime's own".to_string() } else { names.join(", ") }
}
