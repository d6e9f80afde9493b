//! `telemetry print`: events for people.

use clap::ValueEnum;
use telemetry_decode::Order;

use super::write_lines;
use crate::exit::Ended;
use crate::input::InputArgs;
use crate::output::OutputArgs;
use crate::selection::FilterArgs;
use crate::text::print::Printer;
use crate::verdict::Verdict;

const EXAMPLES: &str = "\
Columns: nanoseconds since the session's start, thread, kind, event, parameters. With several sessions
the session's id stands before the thread.

Examples:
  telemetry print                                   what the program run here wrote last
  telemetry print --kind Trace --from 1.5s --to 2s
  telemetry print --thread worker --event PoolInit a.tel b.tel
  program | telemetry print --order stream -        at once, without waiting for the end";

/// Print events for people, merged by time
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Order of events: by time, for which a pipe is first copied to a temporary file, or as they stand
    /// in the stream
    #[arg(long, value_enum, default_value_t = OrderArg::Time)]
    order: OrderArg,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderArg {
    Time,
    Stream,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let inputs = self.input.inputs()?;
        let order = match self.order {
            OrderArg::Time => Order::Time,
            OrderArg::Stream => Order::Stream,
        };
        let mut events = inputs.events(order, self.filter.filter())?;
        let mut printer = Printer::new(&events);
        write_lines(&mut events, self.output.open()?, |out, event| printer.line(out, event))?;
        Ok(Verdict::new(&events.completeness(), events.sessions(), &inputs).report(self.input.strict))
    }
}
