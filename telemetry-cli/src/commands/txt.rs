//! `telemetry txt`: the text of MPS's `mpseventtxt`.

use std::path::{Path, PathBuf};

use telemetry_decode::{Filter, Order};

use crate::cnv_input::{Line, Lines, Wrongs, registries_of_text, too_long};
use crate::events::EventArgs;
use crate::exit::{Ended, Failure};
use crate::input::display;
use crate::progress::Progress;
use crate::text::txt;
use crate::text::txt_of_cnv::TxtOfCnv;

const EXAMPLES: &str = "\
A line is the clock reading, the code, the event's name, and `parameter:value ` for each parameter.
Streams are merged by time. Without FILE, cnv text is read from standard input, as mpseventtxt does; it
names events by code alone, so they are the MPS's, unless --registry says something else.

Examples:
  telemetry txt gcbench.tel
  telemetry cnv mpsio.log | LC_ALL=C sort | telemetry txt
  telemetry cnv gcbench.tel | LC_ALL=C sort | telemetry txt --registry events.toml
  telemetry txt -l gcbench.txt --registry events.toml";

/// Write events as text with names, by time, as mpseventtxt does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Sorted cnv text instead of a stream; `-` is standard input
    #[arg(short, value_name = "FILE", conflicts_with = "files")]
    log: Option<PathBuf>,

    #[command(flatten)]
    common: EventArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        match &self.log {
            Some(log) => self.run_on_text(log),
            None if self.common.input.files.is_empty() => self.run_on_text(Path::new("-")),
            None => self.run_on_streams(),
        }
    }

    fn run_on_streams(&self) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        opened.write_lines(self.common.output.open(&opened.inputs.paths())?, txt::line)?;
        opened.end()
    }

    fn run_on_text(&self, log: &Path) -> Ended {
        if self.common.filter.filter() != Filter::default() {
            return Err(Failure::new("cnv text cannot be filtered: filter the stream that it is made from"));
        }
        let registries = registries_of_text(self.common.input.registries.load()?);
        let mut lines = Lines::open(log)?;
        let read = [&[log.to_path_buf()], self.common.input.registries.paths()].concat();
        let mut output = self.common.output.open(&read)?;
        let progress = match output.is_terminal() {
            true => Progress::hidden(),
            false => Progress::of_bytes(lines.len()),
        };
        let mut wrong = Wrongs::new(display(log), self.common.input.registries.is_empty());
        let mut text = TxtOfCnv::new(&registries);
        let mut events = 0_u64;
        while let Some(line) = lines.next()? {
            let appended = match line {
                Line::Whole(line) => text.line(output.buffer(), line),
                Line::TooLong => Err(too_long()),
            };
            match appended {
                Ok(()) => events += 1,
                Err(why) => wrong.add(lines.number, &why),
            }
            if output.relieve()? {
                progress.at(lines.bytes);
            }
        }
        drop(progress);
        output.finish()?;
        Ok(wrong.end(events))
    }
}
