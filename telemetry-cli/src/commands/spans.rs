//! `telemetry spans`: pairs of begins and ends, and their durations.

use crate::input::events::{EventArgs, Opened};
use crate::input::threads::ThreadArgs;
use crate::spans::paired::Paired;
use crate::spans::shown::{CSV_HEAD, Names, Spans};
use crate::term::ended::{Context, Ended, Run};
use crate::term::json::JsonArgs;
use crate::term::message::warning;
use crate::term::progress::Progress;
use crate::text::hint::{help, nearest_name};

const EXAMPLES: &str = "\
A registry declares spans as [[span]] with a begin, an end, and a key that distinguishes open spans. Spans
without a key nest per thread. Pairs of a [[message]] are marked with its name. Self time excludes spans
that the thread began later. A span is uncertain if its begin or end may be among lost, missing or excluded
events. Events that the filter removes are not paired; --where selects spans after the pairing.
With --net, durations and self times exclude the cost of emissions: of each event in the input that the
span's thread emitted within the span, its begin included.

Examples:
  telemetry spans gc.tel
  telemetry spans --span Trace --limit 3 gc.tel
  telemetry spans --csv gc.tel -o spans.csv        every span
  telemetry spans --where 'span == Trace and duration > 5ms' gc.tel
  telemetry spans --json gc.tel | jq '.spans[] | [.span, .duration_ns.p99]'";

/// Pair begins and ends of spans, with durations and unmatched events
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only this span (repeatable)
    #[arg(long, value_name = "SPAN")]
    span: Vec<String>,

    /// List at most this many of the longest spans, and of the unmatched events
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// Keep at most this many open pairs, about 240 bytes each; beyond it, drop the oldest
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_open: u32,

    /// Subtract the cost of emitting events, as the session measured it
    #[arg(long)]
    net: bool,

    #[command(flatten)]
    json: JsonArgs,

    /// Write every span as a line of CSV, ordered by end
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let (mut opened, condition) = self.common.open_for_spans()?;
        let unknown = self.unknown_names(&opened);
        let mut output = opened.output()?;
        let progress = match self.csv {
            true => Progress::beside(&output, opened.inputs.len()),
            false => Progress::of_bytes(opened.inputs.len()),
        };
        if self.csv {
            output.buffer().extend_from_slice(CSV_HEAD.as_bytes());
        }
        let mut paired = Paired::new(self.max_open, &self.span, self.limit, self.net);
        paired.select(condition);
        paired.read(&mut opened, self.threads.number(), progress, &mut (), |_, names, found, gaps| {
            if self.csv {
                names.append_csv(output.buffer(), found, gaps);
                output.relieve()?;
            }
            Ok(())
        })?;
        let Paired { pairing, tally, .. } = paired;

        let verdict = opened.verdict();
        let names = Names::new(&opened.events, &pairing.defs);
        let spans = Spans::new(&tally, &names, &opened.inputs, &verdict, self.net);
        // The lines of CSV were written during the reading.
        let append_text = |out: &mut Vec<u8>| {
            if !self.csv {
                spans.append_text(out)
            }
        };
        output.show(self.json.is_on(), &spans, append_text)?;
        spans.report(
            |message| if self.common.input.strict { context.problem(message) } else { warning(message) },
        );
        for session in pairing.emissions.unknown() {
            warning(format!(
                "session {session:016x} does not state the cost of an emission (emission_ps): nothing is subtracted"
            ));
        }
        for (name, nearest) in unknown {
            context.problem(format!("no span `{name}` in the input{}", help(nearest.as_deref())));
        }
        opened.end_with(&verdict, context)
    }
}

impl Args {
    /// Returns the requested names that no span has, each with the most similar one.
    fn unknown_names(&self, opened: &Opened) -> Vec<(&String, Option<String>)> {
        let declared = opened.registries().iter().flat_map(|known| known.registry.span_names());
        let declared: Vec<String> = declared.map(str::to_string).collect();
        let unknown =
            self.span.iter().filter(|name| !declared.iter().any(|known| known.eq_ignore_ascii_case(name)));
        unknown.map(|name| (name, nearest_name(name, &declared).map(str::to_string))).collect()
    }
}
