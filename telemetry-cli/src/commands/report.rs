//! `telemetry report`: one HTML file with pictures of a recording.

use std::path::Path;

use telemetry_report::{Gatherer, Head, Origin};

use crate::input::events::{EventArgs, Opened};
use crate::input::inputs::cannot_read;
use crate::input::lake::{self, Fetched};
use crate::input::verdict::Verdict;
use crate::spans::selected::Selected;
use crate::spans::shown::{Names, Spans};
use crate::stats::shown::Stats;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::message::note;
use crate::term::output::Output;
use crate::term::progress::Progress;

const EXAMPLES: &str = "\
The file is at most 5 MB, for a stream of any size, and opens in a browser without network. It shows what
happened when, on which thread, how long spans took, and where events are missing. Without -o, it is
report.html in this directory. Numbers of the whole run are those of `telemetry stats` and `telemetry spans`.
--where selects spans if it has the field `span`, `duration` or `self`, and events otherwise.

Examples:
  telemetry report
  telemetry report gcbench.tel -o gcbench.html
  telemetry report --from 1s --until 2s crash.tel
  telemetry report --where 'duration > 5ms' gc.tel     long spans, and all events
  telemetry report s3://telemetry/prod --host h7 --from 1795432800s --until 1795436400s

The last one reads a lake: `telemetry-lake` fetches the segments of this host and these times, which count
from 1970. Its package is fleet/telemetry-lake. See docs/lake.md.";

/// The file that the report is written to if the command line names none.
const DEFAULT: &str = "report.html";

/// Write a report with pictures, one HTML file
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: EventArgs,

    /// Of a lake, only this host
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    host: Option<String>,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let lake = match lake::url(&self.common.input.files) {
            Some(url) => Some(lake::fetch(url, self.host.as_deref(), self.common.filter.times(), context)?),
            None if self.host.is_some() => {
                return Err(Failure::new(
                    "--host without a lake, expected s3://BUCKET/PREFIX or file:///DIR",
                ));
            }
            None => None,
        };
        let (mut opened, condition) = match &lake {
            Some(lake) => self.common.open_lake(lake)?,
            None => self.common.open_for_both()?,
        };
        let mut gathered = Gatherer::default();
        let selected = Selected::new(condition, &mut gathered.pairing);
        gathered.select_spans(move |found, defs| selected.has(found, defs));
        let progress = Progress::of_bytes(opened.inputs.len());
        while let Some(event) = opened.events.next().map_err(cannot_read)? {
            gathered.take(&event);
            gathered.settle(&opened.events);
            progress.event(|| opened.events.bytes_done());
        }
        drop(progress);
        gathered.finish(&opened.events);
        let verdict = opened.verdict();
        // An empty recording has a page that says what to do. For other input, a page would only
        // hide that it is no recording.
        if verdict.is_recording() {
            self.write(&opened, lake.as_ref(), &gathered, &verdict)?;
        }
        opened.end_with(&verdict, context)
    }
}

impl Args {
    fn write(
        &self,
        opened: &Opened,
        lake: Option<&Fetched>,
        gathered: &Gatherer,
        verdict: &Verdict,
    ) -> Result<(), Failure> {
        let stats = Stats::new(&opened.events, &gathered.tally, None, verdict);
        let names = Names::new(&opened.events, &gathered.pairing.defs);
        let spans = Spans::new(&gathered.spans, &names, &opened.inputs, verdict, false);
        let head =
            Head { title: title(opened), verdict: verdict.lines(), is_complete: verdict.is_complete() };
        let made_by = format!("telemetry {}", env!("CARGO_PKG_VERSION"));
        let inputs = match lake {
            Some(lake) => vec![lake.name.clone()],
            None => opened.inputs.paths().iter().map(|path| path.display().to_string()).collect(),
        };
        let origin = Origin { made_by, inputs };
        let page = gathered
            .page(&opened.events, &head, &origin, &stats, &spans)
            .map_err(|error| Failure::new(format!("cannot make the report: {error}")))?;
        let (mut output, path) = match self.common.output.path() {
            Some(path) => (opened.output()?, path),
            None => {
                let path = Path::new(DEFAULT);
                (Output::beside(path, &opened.inputs.paths())?, path)
            }
        };
        output.buffer().extend_from_slice(page.as_bytes());
        output.finish()?;
        if !self.common.output.is_stdout() || self.common.output.path().is_none() {
            note(format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// Names the programs that were recorded, or the inputs.
fn title(opened: &Opened) -> String {
    let mut programs: Vec<_> = opened.sessions().iter().filter_map(|of| of.facts.text("program")).collect();
    programs.sort_unstable();
    programs.dedup();
    match programs.as_slice() {
        [] => opened.inputs.names(),
        [program] => (*program).to_string(),
        [program, others @ ..] => format!("{program} and {} other programs", others.len()),
    }
}
