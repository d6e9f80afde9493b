//! `telemetry print`: events for people, and for programs as JSON.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::ValueEnum;
use telemetry_decode::{Event, Events, Input, Order};

use crate::color::ColorArgs;
use crate::events::EventArgs;
use crate::exit::{Ended, Failure};
use crate::follow::Follow;
use crate::input::display;
use crate::interrupt;
use crate::live::{self, Seen};
use crate::pipe::Pipe;
use crate::text::json::JsonPrinter;
use crate::text::print::Printer;
use crate::verdict::Verdict;

const EXAMPLES: &str = "\
Columns: nanoseconds since the session's start, thread, kind, event, parameters. With several sessions
the session's id stands before the thread. `telemetry csv` makes tables.

Examples:
  telemetry print                                   what the program run here wrote last
  telemetry print --kind Trace --from 1.5s --to 2s
  telemetry print --thread worker --event PoolInit a.tel b.tel
  telemetry print --follow gc.tel                   and what will be appended to it
  telemetry print --json gc.tel | jq 'select(.event == \"ArenaAlloc\") | .params.size'
  program | telemetry print --follow -              at once, without waiting for the end";

/// Print events for people, merged by time
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Order of events: by time, for which a pipe is first copied to a temporary file, or as they stand
    /// in the stream
    #[arg(long, value_enum, default_value_t = OrderArg::Time)]
    order: OrderArg,

    /// Go on as the file grows, is replaced or rotated, until its sessions have ended, in the order of the
    /// stream
    #[arg(long, short = 'F')]
    follow: bool,

    /// As JSON, one object a line
    #[arg(long)]
    json: bool,

    /// As --json, with numbers of 64 bits as strings, for readers that have none
    #[arg(long)]
    json_strings: bool,

    #[command(flatten)]
    color: ColorArgs,

    #[command(flatten)]
    common: EventArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderArg {
    Time,
    Stream,
}

/// Appends the line of an event.
type AppendLine = dyn FnMut(&mut Vec<u8>, &Event<'_>);

impl Args {
    pub(crate) fn run(&self) -> Ended {
        if self.follow {
            return self.run_on_growing();
        }
        let order = match self.order {
            OrderArg::Time => Order::Time,
            OrderArg::Stream => Order::Stream,
        };
        let mut opened = self.common.open(order)?;
        let output = self.common.output.open(&opened.inputs.paths())?;
        let line = self.line(Some(&opened.events));
        opened.write_lines(output, line)?;
        opened.end()
    }

    fn run_on_growing(&self) -> Ended {
        let inputs = self.common.input.inputs()?;
        let path = inputs.only().ok_or_else(|| Failure::new("--follow takes one file, not several"))?;
        if let Some(format) = self.common.input.format.of_file(path) {
            return Err(Failure::new(format!(
                "{} is a log of format {}, and --follow is for telemetry streams",
                display(path),
                format.name()
            )));
        }
        let input = open_growing(path)?;
        let (filter, output) = (self.common.filter.filter(), self.common.output.open(&inputs.paths())?);
        let Seen { completeness, sessions } =
            live::write_lines(input, &inputs, filter, output, self.line(None))?;
        // It has grown meanwhile.
        let inputs = self.common.input.inputs()?;
        Ok(Verdict::new(&completeness, &sessions, &inputs).report(self.common.input.strict))
    }

    /// What appends the line of an event. Of events that are still to come nothing is known.
    fn line(&self, events: Option<&Events<'_>>) -> Box<AppendLine> {
        if self.json || self.json_strings {
            let mut printer = JsonPrinter::new(self.json_strings);
            return Box::new(move |out, event| printer.line(out, event));
        }
        let is_coloured = self.color.is_on(&self.common.output);
        let mut printer = match events {
            Some(events) => Printer::new(events, is_coloured),
            None => Printer::of_any_session(is_coloured),
        };
        Box::new(move |out, event| printer.line(out, event))
    }
}

/// What waits for more at its end.
fn open_growing(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let failed = |error| Failure::new(format!("cannot read {}: {error}", display(path)));
    let through = |pipe: std::io::Result<Pipe>| -> Result<Box<dyn Read>, Failure> {
        let pipe = pipe.map_err(failed)?;
        interrupt::stops(pipe.stopper());
        Ok(Box::new(pipe))
    };
    if path.as_os_str() == "-" {
        return through(Pipe::of(std::io::stdin()));
    }
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        // It says what it is.
        Input::open(path).map_err(Failure::new)?;
    }
    if !metadata.is_file() {
        return through(File::open(path).and_then(Pipe::of));
    }
    let follow = Follow::open(path).map_err(failed)?;
    interrupt::stops(follow.stopper());
    Ok(Box::new(follow))
}
