//! `telemetry validate`: checks that a stream is complete, that every begin has its end, and that
//! the rules of its registries hold.

use serde::Serialize;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{EventBatch, Registry};
use telemetry_report::spans::Gaps;

use crate::input::events::EventArgs;
use crate::input::threads::ThreadArgs;
use crate::rules::checked::Rules;
use crate::rules::shown::{BrokenRule, RuleStats, ShownRules};
use crate::spans::paired::{Beside, Paired};
use crate::spans::shown::{Names, Spans};
use crate::term::ended::{Context, Ended, Run};
use crate::term::json::JsonArgs;
use crate::term::message::warning;
use crate::term::progress::Progress;
use crate::text::count;

const EXAMPLES: &str = "\
A stream is valid if no event is lost, missing or damaged, each begin of a message or span has its end, and no
[[rule]] of a registry is broken.
Unmatched events are listed with their place in the file. An unmatched event is uncertain if its partner may
be among the missing events; such a rule is not decided. Events that the filter removes are not paired;
--where selects pairs after that.
The exit code is 1 if the stream is not valid.

Examples:
  telemetry validate gc.tel
  telemetry validate --where 'span == Trace and thread == worker' gc.tel
  telemetry validate --json gc.tel | jq '.unmatched[] | [.message, .what, .offset]'";

/// Check completeness, that begins and ends of messages and spans match, and rules
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// List at most this many of the unmatched events, and of the broken rules
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// Keep at most this many open pairs, about 240 bytes each; beyond it, drop the oldest
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_open: u32,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let (mut opened, condition) = self.common.open_for_spans()?;
        let output = opened.output()?;
        let progress = Progress::of_bytes(opened.inputs.len());
        let mut paired = Paired::new(self.max_open, &[], 0, false);
        let mut checks = Checks { rules: Rules::new(self.max_open as usize), dropped: 0 };
        if self.common.filter.leaves_out_events() {
            checks.rules.skip();
        }
        paired.select(condition);
        paired.read(&mut opened, self.threads.number(), progress, &mut checks, |_, _, _, _| Ok(()))?;
        let (Paired { pairing, tally, .. }, Checks { mut rules, dropped }) = (paired, checks);
        rules.finish(opened.sessions(), &Gaps::new(&opened.events.gaps()));

        let verdict = opened.verdict();
        let names = Names::new(&opened.events, &pairing.defs);
        let mut pairs = Spans::new(&tally, &names, &opened.inputs, &verdict, false);
        let shown = ShownRules::new(&rules, &opened);
        pairs.declared |= !shown.rules.is_empty() || rules.are_skipped();
        let broken = (!shown.rules.is_empty()).then_some(&*shown.broken);
        let all = Checked { pairs: &pairs, rules: &shown.rules, broken };
        output.show(self.json.is_on(), &all, |out| {
            pairs.append_unmatched(out, self.limit);
            shown.append_text(out, self.limit);
        })?;
        pairs.report(|message| context.problem(message));
        shown.report(|message| context.problem(message));
        if rules.are_skipped() && opened.registries().iter().any(|known| !known.registry.rules.is_empty()) {
            warning("rules are not checked, because the filter leaves out events");
        }
        if dropped > 0 {
            warning(format!("{} dropped by the program", count(dropped, "message")));
        }
        opened.end_with(&verdict, context)
    }
}

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
struct Checked<'a> {
    #[serde(flatten)]
    pairs: &'a Spans<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    rules: &'a [RuleStats],
    /// Empty if nothing breaks the rules, and missing without rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<&'a [BrokenRule]>,
}

/// What is checked beside the pairs.
struct Checks {
    rules: Rules,
    /// Messages that the program dropped.
    dropped: u64,
}

impl Beside for Checks {
    fn needs(&self, registry: &Registry, event: usize) -> bool {
        self.rules.needs(registry, event)
    }

    fn take(&mut self, batch: &EventBatch<'_>) -> bool {
        self.dropped += dropped_messages(batch);
        self.rules.take(batch)
    }

    fn decide(&mut self, gaps: &Gaps) {
        self.rules.decide(gaps);
    }
}

/// Counts the events of a batch that report dropped messages.
fn dropped_messages(batch: &EventBatch<'_>) -> u64 {
    if batch.known_registry().registry.name != RUNTIME_REGISTRY {
        return 0;
    }
    batch.iter().filter(|event| event.name() == "MessagesDropped").count() as u64
}
