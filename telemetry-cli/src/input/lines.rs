//! The options for lines of events: their form, and how many.

use telemetry_decode::Event;

use crate::term::color::ColorArgs;
use crate::term::message::note;
use crate::term::output::OutputArgs;
use crate::text::count;
use crate::text::json::JsonPrinter;
use crate::text::print::Printer;

#[derive(clap::Args)]
pub(crate) struct LineArgs {
    /// Stop after this many events
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Like --json, with 64-bit numbers as strings
    #[arg(long)]
    json_strings: bool,

    #[command(flatten)]
    color: ColorArgs,
}

/// Appends the line of an event.
pub(crate) type AppendLine = dyn FnMut(&mut Vec<u8>, &Event<'_>);

impl LineArgs {
    /// Returns the number of events after which to stop.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.unwrap_or(u64::MAX)
    }

    /// Returns the function that appends an event's line. `printer` makes the columns of text, in
    /// color or not.
    pub(crate) fn line(&self, output: &OutputArgs, printer: impl FnOnce(bool) -> Printer) -> Box<AppendLine> {
        if self.json || self.json_strings {
            let mut printer = JsonPrinter::new(self.json_strings);
            return Box::new(move |out, event| printer.line(out, event));
        }
        let mut printer = printer(self.color.is_on(output));
        Box::new(move |out, event| printer.line(out, event))
    }

    /// Reports the stop in place of a verdict, since the rest was not read.
    pub(crate) fn tell_stopped(&self) {
        note(format!("stopped at --limit, after {}", count(self.limit(), "event")));
    }
}
