//! `telemetry txt`: the text of the MPS's `mpseventtxt`.

use std::path::{Path, PathBuf};

use telemetry_decode::Order;

use crate::input::cnv_input::{
    Line, Lines, Wrongs, cannot_filter_text, registries_of_text, report_guesses, too_long,
};
use crate::input::events::EventArgs;
use crate::input::threads::ThreadArgs;
use crate::term::ended::{Context, Ended, Run};
use crate::term::progress::Progress;
use crate::text::cnv_registries::NamedRegistries;
use crate::text::path::display;
use crate::text::txt;
use crate::text::txt_of_cnv::TxtOfCnv;

const EXAMPLES: &str = "\
A line has the clock reading, the code, the event's name, and `parameter:value ` for each parameter.
Streams are merged by time. Without FILE, the command reads cnv text from standard input, like mpseventtxt.
The registries of cnv text are those of --registry, by default the MPS's. A line that names no registry
belongs to the first registry with its code.

Examples:
  telemetry txt gcbench.tel
  telemetry cnv mpsio.log | LC_ALL=C sort | telemetry txt
  telemetry cnv gcbench.tel | LC_ALL=C sort | telemetry txt --registry events.toml
  telemetry txt -l gcbench.txt --registry events.toml
  telemetry cnv both.tel | LC_ALL=C sort | telemetry txt --registry cache.toml --registry pool.toml";

/// Write events as text with names, ordered by time, like mpseventtxt
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Sorted cnv text instead of a stream; `-` is standard input
    #[arg(short = 'l', long, value_name = "FILE", conflicts_with = "files")]
    text: Option<PathBuf>,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        match &self.text {
            Some(log) => self.run_on_text(log, context),
            None if self.common.input.files.is_empty() => self.run_on_text(Path::new("-"), context),
            None => self.run_on_streams(context),
        }
    }
}

impl Args {
    fn run_on_streams(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let is_chosen = self.common.filter.chooses_registry();
        let named = NamedRegistries::new(opened.registries(), is_chosen);
        let mut output = opened.output()?;
        opened.write_first(&mut output, u64::MAX, self.threads.number(), || {
            let mut named = named.clone();
            move |out, batch| {
                let is_named = named.is_named(batch.known_registry());
                batch.iter().for_each(|event| txt::line(out, &event, is_named));
            }
        })?;
        output.finish()?;
        opened.end(context)
    }

    fn run_on_text(&self, log: &Path, context: &mut Context) -> Ended {
        if !self.common.filter.is_empty() {
            return Err(cannot_filter_text());
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
                Err(why) => wrong.add(context, lines.number, &why),
            }
            if output.relieve()? {
                progress.at(lines.bytes);
            }
        }
        drop(progress);
        output.finish()?;
        report_guesses(&registries);
        wrong.end(context, events);
        Ok(())
    }
}
