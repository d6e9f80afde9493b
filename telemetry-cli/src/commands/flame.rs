//! `telemetry flame`: a flame graph of spans, of samples, of call stacks, or of parameters.

mod params;
mod samples;
mod span_times;
mod stacks;

use clap::ValueEnum;
use telemetry_foreign::flame::FlameGraph;

use crate::input::events::{EventArgs, Opened};
use crate::input::threads::ThreadArgs;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::message::warning;
use crate::text::count;

const EXAMPLES: &str = "\
Without --samples, --stacks and --by, the frames are nested spans, weighted by their self time. --samples
takes the samples that TELEMETRY_SAMPLING records: their frames are the spans that are open on the thread, then
the functions of the call stack. The weight is the number of periods of the timer. --stacks takes the call
stacks in events: parameters of the type `stack`, and lists with the name `stack` or `frames`, such as GHC's
stacks of cost centers and Mono's backtraces. Functions of a `stack` have the names that the program's files
give them. The name of the event is their outermost frame. --by takes the values of parameters and
fields as frames. For both, the weight is the number of events, or the sum of --weight.
Beyond 200,000 frames, rare stacks move to the frame `(other)`. With spans, --where selects spans, as in
`telemetry spans`.

Examples:
  telemetry flame gc.tel > gc.folded
  telemetry flame -o gc.speedscope.json gc.tel             for https://www.speedscope.app
  telemetry flame --by pool,size_class --weight size -o heap.pb.gz gc.tel
  telemetry flame --samples app.tel > app.folded           where threads spend their time
  telemetry flame --stacks --weight size app.mlpd          bytes by call stack
  telemetry flame --where 'span == Trace and duration > 5ms' gc.tel";

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    Folded,
    Speedscope,
    Pprof,
}

/// Endings of the names of files, and their formats. All other names get folded text.
const ENDINGS: [(&str, To); 4] = [
    (".json", To::Speedscope),
    (".speedscope", To::Speedscope),
    (".pb.gz", To::Pprof),
    (".pprof", To::Pprof),
];

/// Write a flame graph of spans, samples, call stacks or parameters
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Take the samples of threads: the spans that were open, and the call stack
    #[arg(long, conflicts_with_all = ["stacks", "by", "weight"])]
    samples: bool,

    /// Take the call stacks in events
    #[arg(long)]
    stacks: bool,

    /// Take the values of these parameters or fields, the first as the outermost frame
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "stacks")]
    by: Vec<String>,

    /// Weight events by this parameter instead of counting them; needs --stacks or --by
    #[arg(long, value_name = "PARAM")]
    weight: Option<String>,

    /// Add the thread as the outermost frame
    #[arg(long, conflicts_with = "by")]
    per_thread: bool,

    /// Format to write [default: by the ending of the output's name: `.json` is speedscope,
    /// `.pb.gz` is pprof, all others are folded]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<To>,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let (opened, graph) = match (self.by.as_slice(), &self.weight) {
            _ if self.samples => self.samples()?,
            ([], Some(_)) if !self.stacks => {
                return Err(Failure::new(
                    "--weight needs --stacks or --by: the weight of spans is their self time",
                ));
            }
            ([], weight) if self.stacks => self.stacks(weight.as_deref())?,
            ([], _) => self.spans(context)?,
            (by, weight) => params::graph(&self.common, by, weight.as_deref(), self.threads.number())?,
        };
        self.write(&opened, &graph)?;
        let rare = graph.rare();
        if rare.stacks > 0 {
            let share = 100.0 * rare.weight as f64 / graph.total().max(1) as f64;
            let stacks = count(rare.stacks, "rare stack");
            warning(format!("{stacks}, with {share:.1} % of the weight, are in the frame `(other)`"));
        }
        opened.end(context)
    }
}

impl Args {
    fn write(&self, opened: &Opened, graph: &FlameGraph) -> Ended {
        let mut output = opened.output()?;
        let name = self.common.output.path().and_then(|path| path.file_name()?.to_str());
        let by_name = || name.and_then(|name| ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)));
        let to = self.to.unwrap_or_else(|| by_name().map_or(To::Folded, |(_, to)| *to));
        if to == To::Pprof {
            output.expect_no_terminal()?;
        }
        let title = opened.inputs.names();
        let starts = opened.sessions().iter().map(|session| session.clock.start_wall());
        let start = starts.min().and_then(|start| i64::try_from(start).ok()).unwrap_or(0);
        // The output reports its own errors.
        let _ = output.write_with(|out| match to {
            To::Folded => graph.write_folded(out),
            To::Speedscope => graph.write_speedscope(&title, out),
            To::Pprof => graph.write_pprof(start, out),
        })?;
        output.finish()
    }
}
