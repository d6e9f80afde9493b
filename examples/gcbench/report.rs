//! A summary of a stream, on one screen of 80 columns.

use std::collections::BTreeMap;

use crate::counts::{Counts, Kind};
use crate::history::History;

/// The summary as text. Parts without events are left out.
pub(crate) fn render(counts: &Counts, history: &History) -> String {
    let parts = [kinds(counts), phases(history), traces(history) + &pauses(counts), memory(history)];
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// Events by kind.
fn kinds(counts: &Counts) -> String {
    let most_frequent = format!(" {:<40}", "most frequent");
    let mut rows = Rows::new("kind", &["events", "MB", "B/event", &most_frequent]);
    let mut row = |name: &str, events: u64, bytes: u64, most: String| {
        let each = bytes as f64 / events.max(1) as f64;
        rows.add(name, [grouped(events), fixed(1, mega(bytes)), fixed(1, each), format!(" {most:<40}")]);
    };
    let events = |kind: &Kind| kind.events.iter().map(|(_, count)| count).sum::<u64>();
    for kind in &counts.kinds {
        let share = |count: u64| 100.0 * count as f64 / events(kind).max(1) as f64;
        let most = kind.events.iter().take(2).map(|(name, count)| format!("{name} {:.0}%", share(*count)));
        let more = kind.events.len().checked_sub(3).map(|rest| format!("+{}", rest + 1));
        let most = most.chain(more).collect::<Vec<_>>().join(", ");
        row(&kind.name, events(kind), kind.bytes, most);
    }
    let (all, bytes) = (counts.kinds.iter().map(events), counts.kinds.iter().map(|kind| kind.bytes));
    let different: usize = counts.kinds.iter().map(|kind| kind.events.len()).sum();
    row("all", all.sum(), bytes.sum(), format!("{different} different events"));
    rows.render()
}

/// The benchmark's own figures: trees by depth, averaged over the threads.
fn phases(history: &History) -> String {
    // Trees, then ms, MB and number of phases, top-down and bottom-up.
    let mut depths: BTreeMap<u8, (u64, [[f64; 3]; 2])> = BTreeMap::new();
    for phase in &history.phases {
        let Some(make) = ["TopDown", "BottomUp"].iter().position(|make| *make == phase.phase) else {
            continue;
        };
        let (trees, makes) = depths.entry(phase.depth).or_default();
        *trees = phase.trees;
        let more = [ms(phase.ns), mega(phase.allocated), 1.0];
        makes[make].iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    let mut rows = Rows::new("depth", &["trees", "top-down ms", "MB/s", "bottom-up ms", "MB/s"]);
    for (depth, (trees, makes)) in depths {
        let [down, up] = makes.map(|[ms, mb, count]| [fixed(1, ms / count), fixed(0, mb / (ms / 1e3))]);
        rows.add(&depth.to_string(), [[grouped(trees)].as_slice(), &down, &up].concat());
    }
    rows.render()
}

/// Collections by cause.
fn traces(history: &History) -> String {
    let mut causes: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for trace in &history.traces {
        causes.entry(&trace.why).or_default().push(trace);
    }
    let head = ["count", "total ms", "mean ms", "max ms", "condemned MB", "survived"];
    let mut rows = Rows::new("traces", &head);
    for (why, traces) in causes {
        let total: f64 = traces.iter().map(|trace| ms(trace.ns)).sum();
        let longest = traces.iter().map(|trace| trace.ns).max().unwrap_or_default();
        let condemned: u64 = traces.iter().map(|trace| trace.condemned).sum();
        let survived: u64 = traces.iter().map(|trace| trace.survived).sum();
        let cells = [
            traces.len().to_string(),
            fixed(1, total),
            fixed(2, total / traces.len() as f64),
            fixed(2, ms(longest)),
            fixed(1, mega(condemned)),
            percent(survived as f64, condemned as f64),
        ];
        rows.add(why, cells);
    }
    rows.render()
}

/// The pauses of the program, and what they were spent on.
fn pauses(counts: &Counts) -> String {
    let durations = |span: &str| counts.spans.get(span).cloned().unwrap_or_default();
    let total = |span: &str| durations(span).iter().sum::<i64>() as f64;
    let mut pauses = durations("Trace");
    pauses.sort_unstable();
    let Some(longest) = pauses.last() else { return String::new() };
    let at = |part: f64| ms(pauses[((pauses.len() - 1) as f64 * part).round() as usize]);
    let [middle, most, nearly_all] = [0.5, 0.9, 0.99].map(at);
    let all = total("Trace");
    // With the kind User off, the time of the threads is unknown.
    let threads = Some(total("Thread")).filter(|ns| *ns > 0.0);
    let share = threads.map_or(String::new(), |ns| format!(", together {} of the time", percent(all, ns)));
    let [flip, scan, reclaim] = ["Flip", "Scan", "Reclaim"].map(|span| percent(total(span), all));
    format!(
        "pauses: median {middle:.2} ms, 90 % {most:.2}, 99 % {nearly_all:.2}, longest {:.2}\n        \
         roots {flip}, scan {scan}, reclaim {reclaim}{share}\n",
        ms(*longest)
    )
}

/// Pools, and the rate of allocation.
fn memory(history: &History) -> String {
    let mut pools: Vec<_> = history.pools.iter().filter(|(_, pool)| pool.total > 0).collect();
    pools.sort_by_key(|(_, pool)| std::cmp::Reverse(pool.peak));
    let mut rows = Rows::new("pools", &["count", "largest MB, each", "MB of segments over time"]);
    for (name, pool) in pools.into_iter().take(3) {
        let name = if name.is_empty() { "without a name" } else { name };
        let each = mega(pool.peak) / pool.count.max(1) as f64;
        rows.add(name, [pool.count.to_string(), fixed(1, each), fixed(1, mega(pool.total))]);
    }
    rows.render() + &allocation(history).unwrap_or_default()
}

/// Bytes allocated while the benchmark ran.
fn allocation(history: &History) -> Option<String> {
    let (begin, end) = history.bench.filter(|(begin, end)| begin < end)?;
    let (mut slices, length) = ([0; 40], (end - begin) as f64);
    for (ns, bytes) in history.allocated.iter().filter(|(ns, _)| (begin..end).contains(ns)) {
        slices[((ns - begin) as f64 / length * slices.len() as f64) as usize] += bytes;
    }
    let all: u64 = slices.iter().sum();
    let rate = mega(all) / (length / 1e9);
    (all > 0).then(|| format!("allocation: {rate:.0} MB/s; over time {}\n", sparkline(&slices)))
}

/// A table: the first column is left-aligned, the others right-aligned, each as wide as needed.
struct Rows(Vec<Vec<String>>);

impl Rows {
    fn new(first: &str, head: &[&str]) -> Rows {
        let mut rows = Rows(Vec::new());
        rows.add(first, head.iter().map(|cell| cell.to_string()));
        rows
    }

    fn add(&mut self, first: &str, cells: impl IntoIterator<Item = String>) {
        self.0.push(std::iter::once(first.to_string()).chain(cells).collect());
    }

    /// Empty if there is only the header.
    fn render(&self) -> String {
        if self.0.len() < 2 {
            return String::new();
        }
        let width = |column: usize| self.0.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.0[0].len()).map(width).collect();
        let cells = |row: &Vec<String>| {
            let first = format!("{:<1$}", row[0], widths[0].max(6));
            let rest = row.iter().zip(&widths).skip(1).map(|(cell, width)| format!("  {cell:>width$}"));
            let line: String = std::iter::once(first).chain(rest).collect();
            format!("{}\n", line.trim_end())
        };
        self.0.iter().map(cells).collect()
    }
}

/// Bars; the highest value gets a full one.
fn sparkline(values: &[u64]) -> String {
    let highest = values.iter().copied().max().unwrap_or_default().max(1);
    let bar = |value: &u64| char::from_u32(0x2581 + (value * 7 / highest) as u32).unwrap_or(' ');
    values.iter().map(bar).collect()
}

fn fixed(digits: usize, number: f64) -> String {
    format!("{number:.digits$}")
}

fn percent(part: f64, whole: f64) -> String {
    format!("{:.1} %", 100.0 * part / whole.max(1.0))
}

fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

/// Bytes in millions.
pub(crate) fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = (digits.len() - 1) % 3 + 1;
    let (mut out, rest) = (digits[..first].to_string(), &digits[first..]);
    for group in 0..rest.len() / 3 {
        out.push(',');
        out.push_str(&rest[group * 3..group * 3 + 3]);
    }
    out
}
