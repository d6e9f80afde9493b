//! `telemetry print`: events for people, and for programs as JSON.

mod backtraces;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::ValueEnum;
use telemetry_decode::{Events, Input, Order};

use self::backtraces::Lines;
use crate::input::events::{EventArgs, Opened};
use crate::input::follow::Follow;
use crate::input::lines::LineArgs;
use crate::input::live::{self, Seen};
use crate::input::pipe::Pipe;
use crate::input::threads::ThreadArgs;
use crate::input::verdict::Verdict;
use crate::symbols::Stacks;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::interrupt;
use crate::term::output::Output;
use crate::text::path::display;
use crate::text::print::Printer;

const EXAMPLES: &str = "\
The columns are nanoseconds since the session's start, thread, kind, event, and parameters. If the input has
several sessions, the session's id precedes the thread. `telemetry csv` makes tables.

Examples:
  telemetry print                                   the default stream of a program that ran here
  telemetry print --kind Trace --from 1.5s --until 2s
  telemetry print --thread worker --event PoolInit a.tel b.tel
  telemetry print --follow gc.tel                   also events that are appended later
  telemetry print --last 20 gc.tel
  telemetry print --stacks --event BlockAlloc app.tel     with the functions that led to each event
  telemetry print --json gc.tel | jq 'select(.event == \"ArenaAlloc\") | .params.size'
  program | telemetry print --follow -              each event as it arrives";

/// Print events as text or JSON, ordered by time
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Order of events: `time`, which copies a pipe to a file first, or `stream`
    #[arg(long, value_enum, default_value_t = OrderArg::Time)]
    order: OrderArg,

    /// Follow the file as it grows or rotates, in stream order, until its sessions end
    #[arg(long, short = 'F')]
    follow: bool,

    /// Print only the last events, this many
    #[arg(long, value_name = "N", conflicts_with_all = ["limit", "follow"])]
    last: Option<usize>,

    /// Name the functions of call stacks below each event, the innermost first
    #[arg(long, conflicts_with = "follow")]
    stacks: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    lines: LineArgs,

    #[command(flatten)]
    common: EventArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderArg {
    Time,
    Stream,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        if self.follow {
            return self.run_on_growing(context);
        }
        let order = match self.order {
            OrderArg::Time => Order::Time,
            OrderArg::Stream => Order::Stream,
        };
        let mut opened = self.common.open(order)?;
        let mut output = opened.output()?;
        let mut printer = self.printer(Some(&opened.events));
        if self.stacks {
            printer = printer.with_stacks(Stacks::of(&opened.inputs)?, !opened.inputs.are_files());
        }
        let is_stopped = match self.last {
            Some(last) => append_last(&mut opened, &mut output, last, &mut printer).map(|()| false)?,
            None => opened.write_first(&mut output, self.lines.limit(), self.threads.number(), || {
                let mut printer = printer.another();
                move |out, batch| batch.iter().for_each(|event| printer.line(out, &event))
            })?,
        };
        output.finish()?;
        if is_stopped {
            self.lines.tell_stopped();
            return Ok(());
        }
        opened.end(context)
    }
}

impl Args {
    fn run_on_growing(&self, context: &mut Context) -> Ended {
        let inputs = self.common.input.inputs()?;
        let path = inputs.only().ok_or_else(|| Failure::new("--follow takes one file, not several"))?;
        if let Some(format) = self.common.input.format.of_file(path)? {
            return Err(Failure::new(format!(
                "{} is a log of format {}, and --follow is for telemetry streams",
                display(path),
                format.name()
            )));
        }
        let input = open_growing(path)?;
        let (filter, output) = (self.common.filter.filter()?, self.common.output.open(&inputs.paths())?);
        let mut printer = self.printer(None);
        let Seen { completeness, sessions, is_stopped } =
            live::write_lines(input, &inputs, filter, output, self.lines.limit(), |out, event| {
                printer.line(out, event);
            })?;
        if is_stopped {
            self.lines.tell_stopped();
            return Ok(());
        }
        // It has grown by now.
        let inputs = self.common.input.inputs()?;
        Verdict::new(&completeness, &sessions, &inputs).report(context, self.common.input.strict);
        Ok(())
    }

    /// Returns the printer of lines. Of a growing file, the events are not known in advance.
    fn printer(&self, events: Option<&Events<'_>>) -> Lines {
        Lines::new(self.lines.printer(&self.common.output, |is_colored| match events {
            Some(events) => Printer::new(events, is_colored),
            None => Printer::of_any_session(is_colored),
        }))
    }
}

/// Writes the lines of the last events. If the input fails, these are the last ones before the
/// failure.
fn append_last(
    opened: &mut Opened,
    output: &mut Output,
    last: usize,
    printer: &mut Lines,
) -> Result<(), Failure> {
    let mut lines: VecDeque<Vec<u8>> = VecDeque::new();
    let read = opened.each(|event| {
        // The memory of the oldest line is used again.
        let mut line = if lines.len() < last { None } else { lines.pop_front() }.unwrap_or_default();
        line.clear();
        printer.line(&mut line, event);
        lines.push_back(line);
        lines.truncate(last);
    });
    for line in &lines {
        output.buffer().extend_from_slice(line);
        output.relieve()?;
    }
    output.flush()?;
    read
}

/// Opens an input that waits for more at its end.
fn open_growing(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    let failed = |error| Failure::new(format!("cannot read {}: {error}", display(path)));
    let through = |pipe: std::io::Result<Pipe>| -> Result<Box<dyn Read + Send>, Failure> {
        let pipe = pipe.map_err(failed)?;
        interrupt::stops(pipe.stopper());
        Ok(Box::new(pipe))
    };
    if path.as_os_str() == "-" {
        return through(Pipe::of(std::io::stdin()));
    }
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        // The error names the problem.
        Input::open(path).map_err(Failure::new)?;
    }
    if !metadata.is_file() {
        return through(File::open(path).and_then(Pipe::of));
    }
    let follow = Follow::open(path).map_err(failed)?;
    interrupt::stops(follow.stopper());
    Ok(Box::new(follow))
}
