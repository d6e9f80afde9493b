//! `telemetry txt`: the text of MPS's `mpseventtxt`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use telemetry_decode::{Filter, Order};

use super::write_lines;
use crate::exit::{Ended, Failure, Outcome, report};
use crate::input::{InputArgs, display, report_shared_codes};
use crate::output::OutputArgs;
use crate::selection::FilterArgs;
use crate::text::{count, grouped, txt};
use crate::verdict::Verdict;

const EXAMPLES: &str = "\
A line is the clock reading, the code, the event's name, and `parameter:value ` for each parameter.
Streams are merged by time. Without FILE, cnv text is read from standard input, as mpseventtxt does; it
names events by code alone, so it takes --registry.

Examples:
  telemetry txt gcbench.tel
  telemetry cnv gcbench.tel | LC_ALL=C sort | telemetry txt --registry events.toml
  telemetry txt -l gcbench.txt --registry events.toml";

/// Write events as text with names, by time, as mpseventtxt does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Sorted cnv text instead of a stream; `-` is standard input
    #[arg(short, value_name = "FILE", conflicts_with = "files")]
    log: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        match &self.log {
            Some(log) => self.run_on_text(log),
            None if self.input.files.is_empty() => self.run_on_text(Path::new("-")),
            None => self.run_on_streams(),
        }
    }

    fn run_on_streams(&self) -> Ended {
        let inputs = self.input.inputs()?;
        let mut events = inputs.events(Order::Time, self.filter.filter())?;
        write_lines(&mut events, self.output.open()?, txt::line)?;
        Ok(Verdict::new(&events.completeness(), events.sessions(), &inputs).report(self.input.strict))
    }

    fn run_on_text(&self, log: &Path) -> Ended {
        if self.filter.filter() != Filter::default() {
            return Err(Failure::new("cnv text cannot be filtered: filter the stream that it is made from"));
        }
        let registries: Vec<_> =
            self.input.registries.load()?.into_iter().map(|given| given.registry).collect();
        if registries.is_empty() {
            return Err(Failure::new(
                "cnv text names events by code alone: say which relation they are from with --registry FILE; \
                 for a stream, name it: `telemetry txt telemetry.tel`",
            ));
        }
        report_shared_codes(registries.iter(), "the first one counts");
        let mut lines = Lines::open(log)?;
        let mut output = self.output.open()?;
        let mut wrong = Wrongs::new(display(log));
        let mut scratch = Vec::new();
        let mut events = 0_u64;
        while let Some(line) = lines.next()? {
            let appended = match line {
                Line::Whole(line) => txt::line_of_cnv(output.buffer(), line, &registries, &mut scratch),
                Line::TooLong => Err(format!("longer than {} bytes, no line of cnv text", grouped(MAX_LINE))),
            };
            match appended {
                Ok(()) => events += 1,
                Err(why) => wrong.add(lines.number, &why),
            }
            output.relieve()?;
        }
        output.finish()?;
        Ok(wrong.end(events))
    }
}

/// Bytes of a line: more than any event takes.
const MAX_LINE: u64 = 1 << 20;

struct Lines {
    input: Box<dyn BufRead>,
    name: String,
    line: Vec<u8>,
    /// Of the line given out last, from 1.
    number: u64,
}

enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl Lines {
    fn open(path: &Path) -> Result<Lines, Failure> {
        let name = display(path);
        let input: Box<dyn BufRead> = if path.as_os_str() == "-" {
            Box::new(io::stdin().lock())
        } else {
            let file =
                File::open(path).map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
            Box::new(BufReader::with_capacity(64 << 10, file))
        };
        Ok(Lines { input, name, line: Vec::new(), number: 0 })
    }

    /// The next line without its line end.
    fn next(&mut self) -> Result<Option<Line<'_>>, Failure> {
        let failed = |error| Failure::new(format!("cannot read {}: {error}", self.name));
        self.line.clear();
        let mut limited = (&mut self.input).take(MAX_LINE + 1);
        if limited.read_until(b'\n', &mut self.line).map_err(failed)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if self.line.len() as u64 > MAX_LINE {
            self.input.skip_until(b'\n').map_err(failed)?;
            return Ok(Some(Line::TooLong));
        }
        Ok(Some(Line::Whole(&self.line)))
    }
}

/// Lines that could not be read: some are shown, all are counted.
struct Wrongs {
    name: String,
    number: u64,
}

impl Wrongs {
    const SHOWN: u64 = 10;

    fn new(name: String) -> Wrongs {
        Wrongs { name, number: 0 }
    }

    fn add(&mut self, line: u64, why: &str) {
        self.number += 1;
        if self.number <= Wrongs::SHOWN {
            report(format!("{}: line {line}: {why}", self.name));
        }
    }

    fn end(&self, events: u64) -> Outcome {
        let Wrongs { name, number } = self;
        let verdict = if *number == 0 { "read" } else { "incomplete" };
        let left_out =
            if *number == 0 { String::new() } else { format!(", {} left out", count(*number, "line")) };
        let empty = events == 0 && *number == 0;
        report(if empty {
            format!("{name} is empty, expected cnv text")
        } else {
            // The stream may have lost some: `cnv` told.
            format!("{verdict}: {}{left_out}; cnv text does not say what was lost", count(events, "event"))
        });
        Outcome::problems_if(*number > 0 || empty)
    }
}
