//! `telemetry cnv`: the text of MPS's `mpseventcnv`.

use std::path::PathBuf;

use telemetry_decode::{KnownRegistry, Order};

use crate::events::EventArgs;
use crate::exit::Ended;
use crate::input::report_shared_codes;
use crate::text::cnv;

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
    /// A stream, as mpseventcnv takes it
    #[arg(short, value_name = "FILE")]
    file: Vec<PathBuf>,

    #[command(flatten)]
    common: EventArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let mut opened = self.common.open_with(&self.file, Order::Stream)?;
        opened.write_lines(self.common.output.open(&opened.inputs.paths())?, cnv::line)?;
        if !self.common.filter.chooses_registry() {
            let completeness = opened.events.completeness();
            let is_read = |known: &&KnownRegistry| {
                completeness.lanes.iter().any(|lane| lane.read > 0 && lane.registry == known.fingerprint)
            };
            let registries = opened.registries().iter().filter(is_read).map(|known| &known.registry);
            report_shared_codes(registries, "choose one with --registry-name");
        }
        opened.end()
    }
}
