//! `telemetry cnv`: the text of the MPS's `mpseventcnv`.

use std::path::PathBuf;

use telemetry_decode::{KnownRegistry, Order};

use crate::input::events::EventArgs;
use crate::input::inputs::report_shared_codes;
use crate::input::threads::ThreadArgs;
use crate::term::ended::{Context, Ended, Run};
use crate::text::cnv::CnvPrinter;
use crate::text::cnv_registries::NamedRegistries;

const EXAMPLES: &str = "\
A line has the clock reading (16 hexadecimal digits), the code, and the values: numbers in hexadecimal,
floating point as %.10G, strings in double quotes. If the input has several registries, the registry's
name precedes the code, as in `cache:10`. Events of the runtime always have it.

Examples:
  telemetry cnv gcbench.tel | LC_ALL=C sort > gcbench.txt
  telemetry cnv gcbench.tel | LC_ALL=C sort | telemetry txt --registry events.toml";

/// Write events as text for `sort` and scripts, in stream order, like mpseventcnv
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A stream: the option of mpseventcnv
    #[arg(short, long, value_name = "FILE")]
    file: Vec<PathBuf>,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open_with(&self.file, Order::Stream)?;
        let is_chosen = self.common.filter.chooses_registry();
        let named = NamedRegistries::new(opened.registries(), is_chosen);
        let mut output = opened.output()?;
        // A line costs about as much as decoding its event.
        opened.events.decode_ahead(self.threads.number());
        let (mut named, mut printer) = (named, CnvPrinter::new());
        opened.append_batches(&mut output, |out, batch| {
            printer.lines(out, batch, named.is_named(batch.known_registry()));
        })?;
        output.finish()?;
        if !is_chosen {
            let completeness = opened.events.completeness();
            let is_read = |known: &&KnownRegistry| {
                completeness.lanes.iter().any(|lane| lane.read > 0 && lane.registry == known.fingerprint)
            };
            let registries = opened.registries().iter().filter(is_read).map(|known| &known.registry);
            report_shared_codes(registries, true, "choose one with --registry-name");
        }
        opened.end(context)
    }
}
