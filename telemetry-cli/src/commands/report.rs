//! `telemetry report`: one HTML file with pictures of a recording.

use std::path::{Path, PathBuf};

use telemetry_decode::EventBatch;
use telemetry_report::{Gatherer, Head, Origin};

use crate::compare::measure::{Measured, RunOf};
use crate::compare::page::Compared;
use crate::input::events::{EventArgs, Opened};
use crate::input::inputs::cannot_read;
use crate::input::lake::{self, Fetched};
use crate::input::verdict::Verdict;
use crate::spans::selected::Selected;
use crate::spans::shown::{Names, Spans};
use crate::stats::grouping::Grouping;
use crate::stats::groups::Groups;
use crate::stats::shown::Stats;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::message::note;
use crate::term::output::Output;
use crate::term::progress::Progress;
use crate::text::path::INSTEAD_OF_LAKE;

const EXAMPLES: &str = "\
The file is at most 5 MB, for a stream of any size, and opens in a browser without network. It shows what
happened when, on which thread, how long spans took, and where events are missing. Without -o, it is
report.html in this directory. Numbers of the whole run are those of `telemetry stats` and `telemetry spans`.
--where selects spans if it has the field `span`, `duration` or `self`, and events otherwise.

--against FILE adds a comparison with the run before: the numbers of `telemetry diff FILE`, with the same stars.
Filters apply to both runs.

Examples:
  telemetry report
  telemetry report gcbench.tel -o gcbench.html
  telemetry report --from 1s --until 2s crash.tel
  telemetry report --where 'duration > 5ms' gc.tel     long spans, and all events
  telemetry report --against before.tel after.tel
  telemetry report s3://telemetry/prod --host h7 --from 1795432800s --until 1795436400s

The last example reads a lake: `telemetry-lake` fetches the segments of this host and these times, which count
from 1970. Its package is fleet/telemetry-lake. See docs/lake.md.";

/// The file that the report is written to if the command line names none.
const DEFAULT: &str = "report.html";

/// Write a report with pictures, as one HTML file
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Compare with this run: counts, rates, durations and groups of both
    #[arg(long, value_name = "FILE", conflicts_with = "host")]
    against: Option<PathBuf>,

    /// Also compare groups of events with the same values of these parameters or fields
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "against")]
    by: Vec<String>,

    /// Sum up these parameters in each group
    #[arg(long, value_name = "PARAM", value_delimiter = ',', requires = "by")]
    sum: Vec<String>,

    /// Only events of this host; the input must be a lake
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let lake = match lake::url(&self.common.input.files) {
            Some(_) if self.against.is_some() => {
                return Err(Failure::new(format!(
                    "--against with a lake, expected streams or logs; {INSTEAD_OF_LAKE}"
                )));
            }
            Some(url) => Some(lake::fetch(url, self.host.as_deref(), self.common.filter.times(), context)?),
            None if self.host.is_some() => {
                return Err(Failure::new(
                    "--host without a lake, expected s3://BUCKET/PREFIX or file:///DIR",
                ));
            }
            None => None,
        };
        let grouping = match self.by.as_slice() {
            [] => None,
            by => Some(Grouping::new(by, &self.sum, "--sum")?),
        };
        let mut before = self.against.as_deref().map(|path| self.open_before(path)).transpose()?;
        let (mut opened, condition) = match &lake {
            Some(lake) => self.common.open_lake(lake)?,
            None => self.common.open_for_both()?,
        };
        // A pipe knows its registries only at the end.
        let are_known = |of: &Opened| !of.registries().is_empty();
        if before.as_ref().is_none_or(|before| are_known(&before.opened)) && are_known(&opened) {
            check(grouping.as_ref(), before.as_ref(), &opened)?;
        }
        if let Some(before) = &mut before {
            before.read(grouping.as_ref())?;
        }
        let mut gathered = Gatherer::default();
        let selected = Selected::new(condition, &mut gathered.pairing);
        gathered.select_spans(move |found, defs| selected.has(found, defs));
        let mut groups = Groups::default();
        let progress = Progress::of_bytes(opened.inputs.len());
        while let Some(event) = opened.events.next().map_err(cannot_read)? {
            gathered.take(&event);
            if let Some(grouping) = &grouping {
                groups.add_batch(&EventBatch::of(event), grouping);
            }
            gathered.settle(&opened.events);
            progress.event(|| opened.events.bytes_done());
        }
        drop(progress);
        gathered.finish(&opened.events);
        check(grouping.as_ref(), before.as_ref(), &opened)?;
        let verdict = opened.verdict();
        let before_verdict = before.as_ref().map(|before| before.opened.verdict());
        // An empty recording has a page that says what to do. For other input, a page would only
        // hide that it is not a recording.
        if [Some(&verdict), before_verdict.as_ref()].into_iter().flatten().all(Verdict::is_recording) {
            if let Some(grouping) = &grouping {
                groups.limit(grouping, 1);
            }
            let Gatherer { tally, spans, pairing, .. } = &gathered;
            let run = RunOf { opened: &opened, tally, spans, pairing, groups: &groups };
            let inputs = inputs(&opened, lake.as_ref());
            let compared = before.as_ref().zip(before_verdict.as_ref()).map(|(before, of_before)| {
                let names =
                    [self.against.iter().map(|path| path.display().to_string()).collect(), inputs.join(", ")];
                Compared::new([before.run(), run], [of_before, &verdict], names, grouping.as_ref())
            });
            self.write(&opened, inputs, &gathered, &verdict, compared.as_ref())?;
        }
        if let Some(verdict) = before_verdict {
            verdict.report(context, self.common.input.strict);
        }
        opened.end_with(&verdict, context)
    }
}

impl Args {
    fn open_before(&self, path: &Path) -> Result<Measured, Failure> {
        if path.as_os_str() == "-" && self.common.input.files.iter().any(|file| file.as_os_str() == "-") {
            return Err(Failure::new("both runs are standard input, expected at most one"));
        }
        Measured::open(&self.common, path)
    }

    fn write(
        &self,
        opened: &Opened,
        inputs: Vec<String>,
        gathered: &Gatherer,
        verdict: &Verdict,
        compared: Option<&Compared<'_>>,
    ) -> Result<(), Failure> {
        let stats = Stats::new(&opened.events, &gathered.tally, None, Vec::new(), verdict);
        let names = Names::new(&opened.events, &gathered.pairing.defs);
        let spans = Spans::new(&gathered.spans, &names, &opened.inputs, verdict, false);
        let mut head =
            Head { title: title(opened), verdict: verdict.lines(), is_complete: verdict.is_complete() };
        if let Some(compared) = compared {
            head.verdict.extend(compared.head());
            head.is_complete &= compared.is_complete();
        }
        let made_by = format!("telemetry {}", env!("CARGO_PKG_VERSION"));
        let origin = Origin { made_by, inputs };
        let page = match compared.map(Compared::against).transpose() {
            Ok(Some(against)) => {
                gathered.page_against(&opened.events, &head, &origin, &stats, &spans, &against)
            }
            Ok(None) => gathered.page(&opened.events, &head, &origin, &stats, &spans),
            Err(error) => Err(error.into()),
        };
        let page = page.map_err(|error| Failure::new(format!("cannot make the report: {error}")))?;
        let all = [opened.inputs.paths(), self.against.iter().cloned().collect()].concat();
        let (mut output, path) = match self.common.output.path() {
            Some(path) => (self.common.output.open(&all)?, path),
            None => {
                let path = Path::new(DEFAULT);
                (Output::beside(path, &all)?, path)
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

/// Names the inputs.
fn inputs(opened: &Opened, lake: Option<&Fetched>) -> Vec<String> {
    match lake {
        Some(lake) => vec![lake.name.clone()],
        None => opened.inputs.paths().iter().map(|path| path.display().to_string()).collect(),
    }
}

/// Checks the names that options have.
fn check(grouping: Option<&Grouping>, before: Option<&Measured>, opened: &Opened) -> Ended {
    let Some(grouping) = grouping else { return Ok(()) };
    let before = before.map(|before| before.opened.registries()).unwrap_or_default();
    grouping.check(&[before, opened.registries()].concat())
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
