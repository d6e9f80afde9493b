//! `telemetry census`: how much there was of each class, by the marks `census`.

mod shown;

use telemetry_decode::{Order, Registry};
use telemetry_report::census::{Counted, LeftOut};

use self::shown::{CSV_HEAD, Shown, append_csv};
use crate::input::events::EventArgs;
use crate::term::ended::{Context, Ended, Run};
use crate::term::json::JsonArgs;
use crate::term::message::{note, warning};
use crate::text::count;

const EXAMPLES: &str = "\
A census is a begin, the amounts of classes, and an end, which the registry marks with `census`; docs/census.md
describes the marks. GHC's heap profiles and Mono's walks of the heap are censuses. The classes with most come
first. Amounts of one class in one census add up.

Examples:
  telemetry census program.eventlog
  telemetry census --limit 5 output.mlpd
  telemetry census --csv program.eventlog -o heap.csv      each class of each census, for a plot";

/// Show how much there was of each class, from heap profiles and walks of the heap
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// List at most this many classes; the rest are `others`
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,

    #[command(flatten)]
    json: JsonArgs,

    /// Write each class of each census as a line of CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let mut output = opened.output()?;
        let is_marked = |registry: &Registry, event: usize| registry.events[event].census.is_some();
        opened.events.need(is_marked);
        let mut counted = Counted::default();
        if self.csv {
            output.buffer().extend_from_slice(CSV_HEAD.as_bytes());
        }
        opened.append_batches(&mut output, |out, batch| {
            for event in batch.iter() {
                if let Some((_, whole)) = counted.take(&event).filter(|_| self.csv) {
                    append_csv(out, &whole);
                }
            }
        })?;
        let verdict = opened.verdict();
        let LeftOut { unended, unbegun, beyond } = counted.finish();
        let shown = Shown::new(&counted, self.limit, &verdict);
        // The lines of CSV were written during the reading.
        output.show(self.json.is_on(), &shown, |out| {
            if !self.csv {
                shown.append_text(out)
            }
        })?;
        if counted.series.is_empty() {
            note("the input has no census; help: docs/census.md describes the marks of events");
        }
        if unended > 0 {
            warning(format!("{} left out: no event ends it", shown::number(unended)));
        }
        if unbegun > 0 {
            warning(format!("{} left out: no event began the census", count(unbegun, "amount")));
        }
        if beyond > 0 {
            warning(format!(
                "{} left out: more than 1,000 sessions and things are counted",
                shown::number(beyond)
            ));
        }
        opened.end_with(&verdict, context)
    }
}
