//! The report of a replay.

use serde::Serialize;
use telemetry_decode::replay::Totals;

use super::allocator::Allocator;
use super::survey::{Survey, Wrong};
use super::worker::Measured;
use crate::input::verdict::Verdict;
use crate::term::ended::Context;
use crate::term::message::{note, warning};
use crate::text::table::Table;
use crate::text::{grouped, signed_grouped};

/// The maximum of lines for one sort of problem. The rest is counted; `--json` lists more.
const MAX_LINES: usize = 10;

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    version: u32,
    recording: Recording,
    faults: &'a [Wrong],
    /// The fastest first.
    allocators: Vec<Results<'a>>,
    completeness: &'a Verdict,
    /// Faults that are accepted, since memory may have been allocated before the recording.
    #[serde(skip)]
    excused: u64,
    #[serde(skip)]
    excuse: &'static str,
    #[serde(skip)]
    not_live: u64,
    #[serde(skip)]
    is_marked: bool,
}

#[derive(Serialize)]
struct Recording {
    allocations: u64,
    frees: u64,
    reallocations: u64,
    without_memory: u64,
    overlaps: u64,
    custom: u64,
    unmarked: u64,
    asked_bytes: u64,
    peak_bytes: u64,
    peak_blocks: u64,
    live_bytes: u64,
    live_blocks: u64,
    faults: u64,
}

/// The medians of an allocator's runs.
#[derive(Serialize)]
struct Results<'a> {
    allocator: &'static str,
    runs: usize,
    operations: u64,
    seconds: f64,
    fastest_seconds: f64,
    slowest_seconds: f64,
    total_seconds: f64,
    operations_per_second: Option<f64>,
    peak_resident_bytes: Option<u64>,
    /// The share of that memory that is not live at the recording's peak.
    fragmentation: Option<f64>,
    refused: u64,
    refusals: &'a [Wrong],
}

impl<'a> Report<'a> {
    pub(super) fn new(survey: &'a Survey, runs: &'a [(Allocator, Vec<Measured>)], partial: bool) -> Self {
        let Totals { allocs, frees, reallocs, faults, .. } = survey.totals;
        let t = survey.totals;
        let recording = Recording {
            allocations: allocs,
            frees,
            reallocations: reallocs,
            without_memory: t.without_memory,
            overlaps: t.overlaps,
            custom: survey.custom,
            unmarked: survey.unmarked,
            asked_bytes: t.asked_bytes,
            peak_bytes: t.peak_bytes,
            peak_blocks: t.peak_blocks,
            live_bytes: t.live_bytes,
            live_blocks: t.live_blocks,
            faults,
        };
        let mut allocators: Vec<_> = runs
            .iter()
            .filter_map(|(allocator, runs)| Results::new(*allocator, runs, t.peak_bytes))
            .collect();
        allocators.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let (excused, excuse) = match (survey.is_whole, partial) {
            (false, _) => (survey.faults_of_loss, "events are lost, missing or left out before them"),
            (true, true) => (t.not_live, "the recording began late"),
            (true, false) => (0, ""),
        };
        let completeness = &survey.verdict;
        Report {
            version: 1,
            recording,
            faults: &survey.faults,
            allocators,
            completeness,
            excused,
            excuse,
            not_live: t.not_live,
            is_marked: survey.is_marked,
        }
    }

    pub(super) fn append_text(&self, out: &mut Vec<u8>) {
        let r = &self.recording;
        let mut recording = Table::new(1, &["recording", "count", "bytes"]);
        let mut row = |what: &str, number: u64, bytes: Option<u64>| {
            recording.row([what.to_string(), grouped(number)].into_iter().chain(bytes.map(grouped)));
        };
        row("allocations", r.allocations, None);
        row("reallocations", r.reallocations, None);
        row("frees", r.frees, None);
        row("asked for", r.allocations + r.reallocations, Some(r.asked_bytes));
        row("live at most", r.peak_blocks, Some(r.peak_bytes));
        row("live at the end", r.live_blocks, Some(r.live_bytes));
        let others = [
            ("without memory", r.without_memory),
            ("overlaps", r.overlaps),
            ("custom", r.custom),
            ("not marked", r.unmarked),
            ("faults", r.faults),
        ];
        for (what, number) in others.into_iter().filter(|(_, number)| *number > 0) {
            row(what, number, None);
        }
        recording.append(out, 0);
        if self.allocators.is_empty() {
            return;
        }
        out.push(b'\n');
        let head =
            ["allocator", "runs", "ms", "least", "most", "ops per second", "resident", "fragmentation"];
        let mut table = Table::new(1, &[&head[..], &["refused"]].concat());
        for results in &self.allocators {
            table.row(results.cells());
        }
        table.append(out, 0);
        let [first, rest @ ..] = self.allocators.as_slice() else { return };
        for other in rest {
            let mut line =
                format!("{} takes {:.2} times the time", other.allocator, other.seconds / first.seconds);
            if let (Some(one), Some(other)) = (first.peak_resident_bytes, other.peak_resident_bytes) {
                line += &format!(" and {:.2} times the memory", other as f64 / one.max(1) as f64);
            }
            out.extend_from_slice(format!("{line} of {}\n", first.allocator).as_bytes());
        }
    }

    /// Reports the faults of the recording, and the verdict.
    pub(super) fn tell(&self, context: &mut Context, strict: bool) {
        let r = &self.recording;
        let is_excused = r.faults <= self.excused && !strict;
        let say = |message: String| if is_excused { warning(message) } else { context.problem(message) };
        some(self.faults, r.faults, "events that do not fit those before them", say);
        if self.excused > 0 {
            note(format!(
                "{} of these events {} expected: {}",
                grouped(self.excused),
                if self.excused == 1 { "is" } else { "are" },
                self.excuse
            ));
        } else if self.not_live > 0 {
            note("help: use --partial if the recording began after the program");
        }
        for results in &self.allocators {
            let what = format!("events that `{}` refused", results.allocator);
            some(results.refusals, results.refused, &what, |message| context.problem(message));
        }
        let unmarked = !self.is_marked && r.unmarked > 0;
        if unmarked {
            context.problem(
                "no event is marked `replay`; help: mark the allocation events in the registry, and give it by --registry",
            );
        } else if r.allocations == 0 && r.custom > 0 {
            warning("only `custom` events to replay, which need the program's own replayer");
        } else if r.allocations == 0 && r.faults == 0 && self.completeness.has_blocks() {
            warning("nothing to replay");
        }
        self.completeness.report(context, strict);
    }
}

impl<'a> Results<'a> {
    /// Summarizes runs. Returns nothing without runs.
    fn new(allocator: Allocator, runs: &'a [Measured], peak_bytes: u64) -> Option<Results<'a>> {
        let first = runs.first()?;
        let seconds = sorted(runs.iter().map(|run| run.seconds));
        let total = sorted(runs.iter().map(|run| run.total_seconds));
        let mut resident: Vec<_> = runs.iter().filter_map(|run| run.peak_resident).collect();
        resident.sort_unstable();
        let peak_resident_bytes = resident.get(resident.len() / 2).copied();
        let median = seconds[seconds.len() / 2];
        Some(Results {
            allocator: allocator.name(),
            runs: runs.len(),
            operations: first.operations,
            seconds: median,
            fastest_seconds: seconds[0],
            slowest_seconds: seconds[seconds.len() - 1],
            total_seconds: total[total.len() / 2],
            operations_per_second: (median > 0.0).then(|| first.operations as f64 / median),
            peak_resident_bytes,
            fragmentation: peak_resident_bytes
                .filter(|resident| *resident >= peak_bytes && *resident > 0)
                .map(|resident| 1.0 - peak_bytes as f64 / resident as f64),
            refused: first.refused,
            refusals: &first.refusals,
        })
    }

    fn cells(&self) -> [String; 9] {
        let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
        [
            self.allocator.to_string(),
            self.runs.to_string(),
            ms(self.seconds),
            ms(self.fastest_seconds),
            ms(self.slowest_seconds),
            or_none(self.operations_per_second.map(|rate| grouped(rate as u64))),
            or_none(self.peak_resident_bytes.map(grouped)),
            or_none(self.fragmentation.map(|share| format!("{:.1} %", 100.0 * share))),
            grouped(self.refused),
        ]
    }
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// Reports the first faults, and the number of the others.
fn some(wrong: &[Wrong], total: u64, what: &str, mut say: impl FnMut(String)) {
    for Wrong { number, event, thread_name, time_ns, offset, input, why, .. } in wrong.iter().take(MAX_LINES)
    {
        say(format!(
            "{input}: byte {offset}: event {number}, `{event}` of thread {thread_name} at {} ns, {why}",
            signed_grouped(*time_ns)
        ));
    }
    let more = total.saturating_sub(wrong.len().min(MAX_LINES) as u64);
    if more > 0 {
        say(format!("{} more {what}", grouped(more)));
    }
}
