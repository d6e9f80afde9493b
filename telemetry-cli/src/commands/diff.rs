//! `telemetry diff`: compares two runs.

use std::path::PathBuf;

use telemetry_decode::KnownRegistry;
use telemetry_filter::Limit;

use crate::compare::forms::Difference;
use crate::compare::limits;
use crate::compare::measure::Measured;
use crate::input::events::EventArgs;
use crate::stats::grouping::Grouping;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::text::count;

const EXAMPLES: &str = "\
The first input is the run before, the second the run after. Rates are per second of the whole run. A star
marks differences that are more than noise: Welch's test compares the numbers of events in equal intervals, and
the test of Mann and Whitney compares durations. Both assume that the values are independent. A star needs a
probability below 1 % divided by the number of tests, and a change of at least 1 %. docs/diff.md explains both.
--where selects spans if it has the field `span`, `duration` or `self`, and events otherwise.

--fail-on FIGURE(NAME) OPERATOR NUMBER exits with 3 if the comparison is true. The figures are `count` and
`rate` of an event or span, and `total`, `mean`, `max`, `p50`, `p99.9` and so on of a span's durations. A number
with `%` is a change in percent, one with `+` or `-` is a difference, and others are compared with the second
run. Operators are `>`, `>=`, `<` and `<=`.

Examples:
  telemetry diff before.tel after.tel
  telemetry diff --fail-on 'p99(Gc) > +10%' --fail-on 'count(Oom) > 0' before.tel after.tel
  telemetry diff --by pool,size_class --sum size before.tel after.tel
  telemetry diff --json before.tel after.tel | jq '.spans[] | select(.significant)'";

/// Compare two runs: counts, rates, durations of spans, and groups
#[derive(clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("files", |files| files.help("Two inputs: the run before, and the run after; `-` is standard input"))
)]
pub(crate) struct Args {
    /// Exit with 3 if this is true, such as `p99(Gc) > +10%` (repeatable)
    #[arg(long, value_name = "LIMIT", value_parser = Limit::parse)]
    fail_on: Vec<Limit>,

    /// Also compare groups of events with the same values of these parameters or fields
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    by: Vec<String>,

    /// Sum up these parameters in each group
    #[arg(long, value_name = "PARAM", value_delimiter = ',', requires = "by")]
    sum: Vec<String>,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let [a, b] = self.paths()?;
        let grouping = match self.by.as_slice() {
            [] => None,
            by => Some(Grouping::new(by, &self.sum, "--sum")?),
        };
        let (mut a, mut b) = (Measured::open(&self.common, a)?, Measured::open(&self.common, b)?);
        // A pipe knows its registries only at the end.
        let are_known = |a: &Measured, b: &Measured| {
            !a.opened.registries().is_empty() && !b.opened.registries().is_empty()
        };
        if are_known(&a, &b) {
            self.check(grouping.as_ref(), &a, &b)?;
            if self.has_wrong_limits(&a, &b, context) {
                return Ok(());
            }
        }
        a.read(grouping.as_ref())?;
        b.read(grouping.as_ref())?;
        self.check(grouping.as_ref(), &a, &b)?;
        // A pipe's were not known before.
        if self.has_wrong_limits(&a, &b, context) {
            return Ok(());
        }
        let verdicts = [a.opened.verdict(), b.opened.verdict()];
        let difference =
            Difference::new([a.run(), b.run()], verdicts.each_ref(), grouping.as_ref(), &self.fail_on);
        let output = self.common.output.open(&[a.opened.inputs.paths(), b.opened.inputs.paths()].concat())?;
        output.show(self.json.is_on(), &difference, |out| difference.append_text(out))?;
        for limit in difference.missing_limits() {
            context.problem(limit);
        }
        for (limit, says) in difference.exceeded_limits() {
            context.exceed(format!("{limit}: {says}"));
        }
        for verdict in &verdicts {
            verdict.report(context, self.common.input.strict);
        }
        Ok(())
    }
}

impl Args {
    fn paths(&self) -> Result<[&PathBuf; 2], Failure> {
        match self.common.input.files.as_slice() {
            [a, b] if a.as_os_str() == "-" && b.as_os_str() == "-" => {
                Err(Failure::new("both inputs are standard input, expected at most one"))
            }
            [a, b] => Ok([a, b]),
            files => {
                let found = files.len();
                let found = count(found as u64, "input");
                Err(Failure::new(format!("found {found}, expected 2: the run before and the run after")))
            }
        }
    }

    /// Checks the names that options have.
    fn check(&self, grouping: Option<&Grouping>, a: &Measured, b: &Measured) -> Ended {
        grouping.map_or(Ok(()), |grouping| grouping.check(&registries(a, b)))
    }

    /// Reports names in limits that no event or span has. Returns true if there are some.
    fn has_wrong_limits(&self, a: &Measured, b: &Measured, context: &mut Context) -> bool {
        let known = registries(a, b);
        let wrong = self.fail_on.iter().filter_map(|limit| limits::wrong_name(limit, &known));
        let wrong: Vec<_> = wrong.collect();
        wrong.iter().for_each(|message| context.problem(message));
        !wrong.is_empty()
    }
}

fn registries(a: &Measured, b: &Measured) -> Vec<KnownRegistry> {
    [a.opened.registries(), b.opened.registries()].concat()
}
