//! `telemetry cnv`: the text of MPS's `mpseventcnv`.

use std::path::PathBuf;

use telemetry_decode::{KnownRegistry, Order};

use super::write_lines;
use crate::exit::Ended;
use crate::input::{InputArgs, report_shared_codes};
use crate::output::OutputArgs;
use crate::selection::FilterArgs;
use crate::text::cnv;
use crate::verdict::Verdict;

const EXAMPLES: &str = "\
A line is the clock reading (16 hexadecimal digits), the code, and the values: numbers in hexadecimal,
floating point as %.10G, strings in double quotes.

Examples:
  telemetry cnv gcbench.tel | LC_ALL=C sort > gcbench.txt
  telemetry cnv gcbench.tel | LC_ALL=C sort | telemetry txt --registry events.toml";

/// Write events as text for `sort` and scripts, in the order of the stream, as mpseventcnv does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// A stream, as mpseventcnv takes it
    #[arg(short, value_name = "FILE")]
    file: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let inputs = self.input.inputs_with(&self.file)?;
        let mut events = inputs.events(Order::Stream, self.filter.filter())?;
        write_lines(&mut events, self.output.open()?, cnv::line)?;
        let completeness = events.completeness();
        if !self.filter.chooses_registry() {
            let is_read = |known: &&KnownRegistry| {
                completeness.lanes.iter().any(|lane| lane.read > 0 && lane.registry == known.fingerprint)
            };
            let registries = events.registries().iter().filter(is_read).map(|known| &known.registry);
            report_shared_codes(registries, "choose one with --registry-name");
        }
        Ok(Verdict::new(&completeness, events.sessions(), &inputs).report(self.input.strict))
    }
}
