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

/// Appends lines of events in the chosen form.
pub(crate) enum LinePrinter {
    Text(Printer),
    Json(JsonPrinter),
}

impl LinePrinter {
    /// Appends the line of an event.
    #[inline]
    pub(crate) fn line(&mut self, out: &mut Vec<u8>, event: &Event<'_>) {
        match self {
            LinePrinter::Text(printer) => printer.line(out, event),
            LinePrinter::Json(printer) => printer.line(out, event),
        }
    }

    /// Makes another printer of the same form, for another thread.
    pub(crate) fn another(&self) -> LinePrinter {
        match self {
            LinePrinter::Text(printer) => LinePrinter::Text(printer.another()),
            LinePrinter::Json(printer) => LinePrinter::Json(printer.another()),
        }
    }
}

impl LineArgs {
    /// Returns the number of events after which to stop.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.unwrap_or(u64::MAX)
    }

    /// Returns true if lines are JSON.
    #[cfg(unix)]
    pub(crate) fn is_json(&self) -> bool {
        self.json || self.json_strings
    }

    /// Returns the printer of lines. `printer` makes the columns of text, in color or not.
    pub(crate) fn printer(&self, output: &OutputArgs, printer: impl FnOnce(bool) -> Printer) -> LinePrinter {
        match self.json || self.json_strings {
            true => LinePrinter::Json(JsonPrinter::new(self.json_strings)),
            false => LinePrinter::Text(printer(self.color.is_on(output))),
        }
    }

    /// Reports the stop in place of a verdict, since the rest was not read.
    pub(crate) fn tell_stopped(&self) {
        note(format!("stopped at --limit, after {}", count(self.limit(), "event")));
    }
}
