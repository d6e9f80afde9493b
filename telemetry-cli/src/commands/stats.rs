//! `telemetry stats`: how often each event occurred, when, on which thread, and with which values.

use std::sync::{Mutex, PoisonError};

use telemetry_decode::{EventBatch, Order};
use telemetry_report::stats::{Tally, Usage};

use crate::input::events::{EventArgs, Opened};
use crate::input::threads::ThreadArgs;
use crate::spans::sampled::{SampledStats, Samples};
use crate::stats::counters::Counters;
use crate::stats::grouped::Grouped;
use crate::stats::grouping::{GroupArgs, Grouping};
use crate::stats::groups::Groups;
use crate::stats::shown::{Stats, bytes_by_kind};
use crate::stats::unused::UnusedStats;
use crate::symbols::Stacks;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::message::warning;

const EXAMPLES: &str = "\
Rates are per second between the first and the last event shown. Bytes are the size of the events in their
blocks; \"with headers\" is the size of whole blocks, regardless of the filter, and unknown for a pipe.
Intervals are between two events of the same name on one thread. Percentiles of whole numbers are exact below
256, others within 0.8 %. Frequencies are exact for up to 1,000 different values.

Examples:
  telemetry stats
  telemetry stats --kind Trace --from 1s --until 2s
  telemetry stats --by why,thread --sum size --percentiles 50,99 gc.tel
  telemetry stats --by stack --sum size app.tel  by call stack: its innermost functions; --json has all
  telemetry stats --unused *.tel                 events and values that never occur
  telemetry stats --samples sampled.tel          where threads spend their time, by open spans
  telemetry stats --json gcbench.tel | jq '.events[] | [.event, .count]'";

/// Count events, with rates, times, threads and values
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,

    #[command(flatten)]
    groups: GroupArgs,

    /// List the events, enum values and flags of the registries that never occur
    #[arg(long, conflicts_with = "by")]
    unused: bool,

    /// Count samples of threads by the spans that were open
    #[arg(long, conflicts_with_all = ["by", "unused"])]
    samples: bool,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let grouping = self.groups.grouping()?;
        if self.unused && !self.common.filter.is_empty() {
            return Err(Failure::new(
                "--unused with a filter, which excludes events that occur; help: leave out the filter",
            ));
        }
        if self.samples {
            return self.samples(context);
        }
        let mut opened = self.common.open(Order::Stream)?;
        if let Some(grouping) = grouping {
            return self.groups(&grouping, opened, context);
        }
        if self.unused {
            return self.unused(opened, context);
        }
        let mut tally = Tally::default();
        // Files are read again for the counters, if there are some. A pipe cannot be. A filter may
        // exclude changes, so that no sum is known.
        let is_pipe = !opened.inputs.are_files();
        let has_counters = self.common.filter.is_empty();
        let piped = Mutex::new(Counters::default());
        let of_shard = |batch: &EventBatch<'_>, tally: &mut Tally| {
            if is_pipe && has_counters {
                let mut counters = piped.lock().unwrap_or_else(PoisonError::into_inner);
                batch.iter().for_each(|event| counters.take(&event));
            }
            tally.add_batch(batch);
        };
        opened.each_shard(self.threads.number(), of_shard, |later| tally.merge(later))?;
        let bytes = opened.inputs.index_again()?.map(|index| bytes_by_kind(&index));
        let counters = match (has_counters, is_pipe) {
            (false, _) => Counters::default(),
            (true, true) => piped.into_inner().unwrap_or_else(PoisonError::into_inner),
            (true, false) => {
                Counters::of(opened.registries(), |filter| opened.inputs.events(Order::Stream, filter))?
            }
        };
        let verdict = opened.verdict();
        let stats = Stats::new(&opened.events, &tally, bytes.as_ref(), counters.stats(), &verdict);
        opened.output()?.show(self.json.is_on(), &stats, |out| {
            // Empty tables would only hide that the input is not a stream.
            if verdict.has_blocks() {
                stats.append_text(out);
            }
        })?;
        opened.end_with(&verdict, context)
    }
}

impl Args {
    /// Shows what never occurs.
    fn unused(&self, mut opened: Opened, context: &mut Context) -> Ended {
        let mut usage = Usage::default();
        let of_shard = |batch: &EventBatch<'_>, usage: &mut Usage| usage.add_batch(batch);
        opened.each_shard(self.threads.number(), of_shard, |later| usage.merge(later))?;
        let unused = usage.unused(opened.registries());
        let verdict = opened.verdict();
        let shown = UnusedStats::new(&unused, &verdict);
        opened.output()?.show(self.json.is_on(), &shown, |out| {
            if verdict.has_blocks() {
                shown.append_text(out);
            }
        })?;
        opened.end_with(&verdict, context)
    }

    /// Shows samples of threads.
    fn samples(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let mut samples = Samples::default();
        opened.each(|event| samples.take(event))?;
        if samples.is_empty() {
            warning("no thread was sampled; help: run the program with TELEMETRY_SAMPLING=cpu:1000");
        }
        let verdict = opened.verdict();
        let shown = SampledStats::new(&samples, &verdict);
        opened.output()?.show(self.json.is_on(), &shown, |out| {
            if verdict.has_blocks() {
                shown.append_text(out);
            }
        })?;
        opened.end_with(&verdict, context)
    }

    /// Shows groups of events.
    fn groups(&self, grouping: &Grouping, mut opened: Opened, context: &mut Context) -> Ended {
        // A pipe knows its registries only at the end.
        if !opened.registries().is_empty() {
            grouping.check(opened.registries())?;
        }
        let mut groups = Groups::default();
        // Files are read again for the stacks, if there are some. A pipe cannot be.
        let is_pipe = !opened.inputs.are_files();
        let piped = Mutex::new(Stacks::default());
        let of_shard = |batch: &EventBatch<'_>, groups: &mut Groups| {
            if is_pipe {
                let mut stacks = piped.lock().unwrap_or_else(PoisonError::into_inner);
                batch.iter().for_each(|event| stacks.take(&event));
            }
            groups.add_batch(batch, grouping);
        };
        opened.each_shard(self.threads.number(), of_shard, |later| groups.merge(later, grouping))?;
        grouping.check(opened.registries())?;
        groups.limit(grouping, 1);
        let verdict = opened.verdict();
        let mut stacks = match is_pipe {
            true => piped.into_inner().unwrap_or_else(PoisonError::into_inner),
            false => Stacks::if_needed(groups.has_stacks(), &opened.inputs)?,
        };
        let shown = Grouped::new(&opened.events, grouping, &groups, &mut stacks, &verdict);
        opened.output()?.show(self.json.is_on(), &shown, |out| {
            if verdict.has_blocks() {
                shown.append_text(out);
            }
        })?;
        opened.end_with(&verdict, context)
    }
}
