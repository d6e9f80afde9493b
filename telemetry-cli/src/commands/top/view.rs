//! The picture: figures as lines.

use console::{Alignment, measure_text_width, pad_str, truncate_str};
use telemetry_format::Loss;

use super::feed::{Losses, Now};
use super::recent::{Row, SpanRow};
use crate::process::Pool;
use crate::term::picture::{Line, Look};
use crate::text::brief::{brief, brief_bytes, brief_ns};
use crate::text::{count, escaped_text, grouped};

/// How tables are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Rate,
    Total,
    Name,
    Duration,
}

/// What the picture shows besides figures.
pub(super) struct View<'a> {
    /// The process or the file.
    pub(super) input: &'a str,
    pub(super) sort: Sort,
    pub(super) is_paused: bool,
    pub(super) shows_help: bool,
    /// Columns, and rows unless there is room for all.
    pub(super) columns: u16,
    pub(super) rows: Option<u16>,
}

/// The keys, as the help lists them.
const KEYS: [(&str, &str); 4] = [
    ("q", "quit; so does Ctrl-C"),
    ("s", "sort by rate, total, name, or duration (p99)"),
    ("p", "pause: keep this picture while counting goes on"),
    ("?", "this help; any key ends it"),
];

const NAMES: [&str; 3] = ["kind", "event", "span"];

impl Sort {
    pub(super) fn next(self) -> Sort {
        match self {
            Sort::Rate => Sort::Total,
            Sort::Total => Sort::Name,
            Sort::Name => Sort::Duration,
            Sort::Duration => Sort::Rate,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Sort::Rate => "rate",
            Sort::Total => "total",
            Sort::Name => "name",
            Sort::Duration => "duration",
        }
    }
}

/// A table: its head and rows, each of a name and other cells.
struct Table {
    head: Vec<&'static str>,
    rows: Vec<(String, Vec<String>)>,
}

impl View<'_> {
    /// Returns the lines of the picture.
    pub(super) fn lines(&self, now: &Now) -> Vec<Line> {
        let mut lines = self.head(now);
        let foot = self.foot(now);
        let tables = match self.shows_help {
            true => Vec::new(),
            false => self.tables(now),
        };
        if self.shows_help {
            lines.push((Look::Plain, String::new()));
            lines.extend(KEYS.map(|(key, what)| (Look::Plain, format!("  {key}  {what}"))));
        } else if now.figures.count == 0 {
            lines.push((Look::Plain, String::new()));
            lines.push((Look::Faint, "no event yet".to_string()));
        }
        let tables = self.fitting(tables, lines.len() + foot.len());
        let needed: Vec<_> = tables.iter().map(|table| table.rows.len()).collect();
        let free = self.rows.map_or(usize::MAX, |rows| {
            // A line above each table, its head, and the foot.
            usize::from(rows).saturating_sub(lines.len() + foot.len() + 2 * tables.len())
        });
        for (table, rows) in tables.iter().zip(shares(&needed, free)) {
            if rows > 0 {
                lines.push((Look::Plain, String::new()));
                let columns = self.rows.map_or(usize::MAX, |_| self.columns.into());
                table.append(&mut lines, rows, columns);
            }
        }
        if let Some(rows) = self.rows {
            let last = usize::from(rows).saturating_sub(foot.len());
            lines.truncate(last);
            lines.resize(last, (Look::Plain, String::new()));
        }
        lines.extend(foot);
        lines
    }

    /// Leaves out tables for which there is no room: kinds first, then spans.
    fn fitting(&self, mut tables: Vec<Table>, others: usize) -> Vec<Table> {
        let Some(rows) = self.rows else { return tables };
        for (name, least) in [("kind", 9), ("span", 5)] {
            // Each has a line above it and a head.
            let free = usize::from(rows).saturating_sub(others + 2 * tables.len());
            if free < least {
                tables.retain(|table| table.head[0] != name);
            }
        }
        tables
    }

    fn head(&self, now: &Now) -> Vec<Line> {
        let figures = &now.figures;
        let program =
            if now.program.is_empty() { String::new() } else { format!("{}, ", escaped_text(&now.program)) };
        let title = format!("{program}{}: {}", escaped_text(self.input), count(figures.count, "event"));
        let rates = match figures.seconds {
            Some(seconds) => format!(
                "last {}: {} events/s, {}/s",
                brief_ns(seconds * 1e9),
                brief(figures.per_second),
                brief_bytes(figures.bytes_per_second)
            ),
            None => "no rate yet".to_string(),
        };
        let emits = now.emits.map(|rate| format!("; the process emits {} events/s", brief(rate)));
        let mut lines = vec![(Look::Strong, title), (Look::Plain, rates + &emits.unwrap_or_default())];
        lines.extend(losses(now));
        if let Some(pool) = now.state.as_ref().and_then(|state| state.pool.as_ref()) {
            lines.push((Look::Plain, pool_line(pool)));
        }
        for sink in now.state.iter().flat_map(|state| &state.sinks) {
            if let Some(why) = &sink.failure {
                lines.push((Look::Alarm, escaped_text(&format!("{}: it failed: {why}", sink.name))));
            }
        }
        lines
    }

    fn foot(&self, now: &Now) -> Vec<Line> {
        let ended = now.ended.iter().filter(|why| !why.is_empty());
        let ended = ended.map(|why| (Look::Alarm, format!("{why}: this is the last picture")));
        let mut lines: Vec<_> = ended.collect();
        if self.rows.is_some() {
            let paused = if self.is_paused { "  PAUSED" } else { "" };
            let keys = format!("q quit  s sort: {}  p pause  ? help{paused}", self.sort.name());
            lines.push((Look::Faint, keys));
        }
        lines
    }

    fn tables(&self, now: &Now) -> Vec<Table> {
        let figures = &now.figures;
        let is_wide = self.columns >= 60;
        let has_registries = figures.kinds.iter().any(|kind| kind.of != figures.kinds[0].of);
        let of = |rows: &[Row], what: &'static str, of: &'static str, shows_of: bool| {
            let mut rows: Vec<_> = rows.iter().collect();
            rows.sort_by(|a, b| {
                let rank = match self.sort {
                    Sort::Name => std::cmp::Ordering::Equal,
                    Sort::Total => b.total.cmp(&a.total),
                    Sort::Rate | Sort::Duration => b.per_second.total_cmp(&a.per_second),
                };
                rank.then_with(|| (&a.name, &a.of).cmp(&(&b.name, &b.of)))
            });
            let mut head = vec![what, "per second", "total"];
            head.extend(shows_of.then_some(of));
            let cells = |row: &&Row| {
                let numbers = [brief(row.per_second), grouped(row.total)];
                (row.name.clone(), numbers.into_iter().chain(shows_of.then(|| row.of.clone())).collect())
            };
            Table { head, rows: rows.iter().map(cells).collect() }
        };
        let mut tables = vec![
            of(&figures.kinds, NAMES[0], "registry", is_wide && has_registries),
            of(&figures.events, NAMES[1], "kind", is_wide),
            self.spans(&figures.spans, is_wide),
        ];
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    fn spans(&self, rows: &[SpanRow], is_wide: bool) -> Table {
        let mut rows: Vec<_> = rows.iter().collect();
        rows.sort_by(|a, b| {
            let rank = match self.sort {
                Sort::Name => std::cmp::Ordering::Equal,
                Sort::Total => b.total.cmp(&a.total),
                Sort::Rate => b.per_second.total_cmp(&a.per_second),
                Sort::Duration => b.durations.p99.total_cmp(&a.durations.p99),
            };
            rank.then_with(|| a.name.cmp(&b.name))
        });
        let has_total = self.columns >= 100 || self.rows.is_none();
        let all = [
            ("total", has_total),
            ("p50", self.columns >= 50),
            ("p90", is_wide),
            ("p99", true),
            ("max", is_wide),
        ];
        let shown = |(_, is_shown): &(&str, bool)| *is_shown;
        let cells = |row: &&SpanRow| {
            let of = row.durations;
            let time = |ns: f64| if of.count == 0 { "-".to_string() } else { brief_ns(ns) };
            let cells = [grouped(row.total), time(of.p50), time(of.p90), time(of.p99), time(of.max)];
            let cells = cells.into_iter().zip(&all).filter(|(_, column)| shown(column));
            let cells = [brief(row.per_second)].into_iter().chain(cells.map(|(cell, _)| cell));
            (row.name.clone(), cells.collect())
        };
        let mut head = vec![NAMES[2], "per second"];
        head.extend(all.iter().filter(|column| shown(column)).map(|(name, _)| *name));
        Table { head, rows: rows.iter().map(cells).collect() }
    }
}

/// The least widths of columns, so that they do not move with each number.
const LEAST: [(&str, usize); 7] =
    [("per second", 10), ("total", 13), ("p50", 9), ("p90", 9), ("p99", 9), ("max", 9), ("kind", 10)];

impl Table {
    /// Appends the head and at most this many rows.
    fn append(&self, lines: &mut Vec<Line>, most: usize, columns: usize) {
        // The last row says how many are left. A single row is better a figure.
        let left = if most > 1 { self.rows.len().saturating_sub(most) } else { 0 };
        let shown = if left > 0 { most - 1 } else { most };
        let rows = &self.rows[..shown.min(self.rows.len())];
        let widths: Vec<usize> = (1..self.head.len())
            .map(|column| {
                let head = self.head[column];
                let least = LEAST.iter().find(|(name, _)| *name == head).map_or(0, |(_, width)| *width);
                let cells = rows.iter().map(|(_, cells)| measure_text_width(&cells[column - 1]));
                cells.chain([least, head.len()]).max().unwrap_or(0)
            })
            .collect();
        let others: usize = widths.iter().map(|width| width + 2).sum();
        let room = columns.saturating_sub(others).max(8);
        let longest = rows.iter().map(|(name, _)| measure_text_width(name)).max().unwrap_or(0);
        let name_width = longest.max(24).min(room);
        let line = |name: &str, cells: &mut dyn Iterator<Item = (&str, &str)>| {
            let name = truncate_str(name, name_width, "…");
            let mut line = pad_str(&name, name_width, Alignment::Left, None).into_owned();
            for ((head, cell), width) in cells.zip(&widths) {
                let is_word = NAMES.contains(&head) || head == "registry";
                let side = if is_word { Alignment::Left } else { Alignment::Right };
                line += "  ";
                line += &pad_str(cell, *width, side, None);
            }
            line.trim_end().to_string()
        };
        let heads = self.head[1..].iter().map(|head| (*head, *head));
        lines.push((Look::Strong, line(self.head[0], &mut heads.into_iter())));
        for (name, cells) in rows {
            let cells = self.head[1..].iter().copied().zip(cells.iter().map(String::as_str));
            lines.push((Look::Plain, line(name, &mut cells.into_iter())));
        }
        if left > 0 {
            lines.push((
                Look::Faint,
                format!("… and {} more", grouped((self.rows.len() - rows.len()) as u64)),
            ));
        }
    }
}

/// Divides rows among tables: small tables get what they need, and large ones share the rest.
fn shares(needed: &[usize], free: usize) -> Vec<usize> {
    let mut given = vec![0; needed.len()];
    let mut left = free;
    loop {
        let open: Vec<_> = (0..needed.len()).filter(|at| given[*at] < needed[*at]).collect();
        if open.is_empty() || left < open.len() {
            for at in open.into_iter().take(left) {
                given[at] += 1;
            }
            return given;
        }
        let each = left / open.len();
        for at in open {
            let more = each.min(needed[at] - given[at]);
            given[at] += more;
            left -= more;
        }
    }
}

/// Says what is lost: by the process's own counters, if it is one. They do not know what this
/// command alone has missed.
fn losses(now: &Now) -> Vec<Line> {
    let Losses { lost: read, missing, damaged } = now.losses;
    let lost = now.state.as_ref().map_or(read, |state| state.counters.loss());
    let events = |lost: Loss| lost.causes().fold(0_u64, |sum, (_, events)| sum.saturating_add(events));
    let causes = lost.causes().map(|(cause, events)| format!("{} lost ({})", grouped(events), cause.text()));
    let not_read = events(read).saturating_sub(events(lost));
    let is_process = now.state.is_some();
    // Blocks that come later may have them.
    let missing = if now.ended.is_some() { missing } else { 0 };
    let missing = (missing > 0 && !is_process).then(|| format!("{} missing", grouped(missing)));
    let damaged = (damaged > 0).then(|| count(damaged, "damaged part"));
    let all: Vec<_> = causes.chain(missing).chain(damaged).collect();
    let mut lines = vec![match all.is_empty() {
        true => (Look::Plain, "nothing lost".to_string()),
        false => (Look::Alarm, format!("events: {}", all.join(", "))),
    }];
    if is_process && not_read > 0 {
        let text =
            format!("not counted: {}, as the process emits faster than this reads", count(not_read, "event"));
        lines.push((Look::Alarm, text));
    }
    lines
}

fn pool_line(pool: &Pool) -> String {
    let share = |bytes: u64| format!("{:.0} %", 100.0 * bytes as f64 / pool.size.max(1) as f64);
    let labels = match pool.labels {
        0 => String::new(),
        bytes => format!(", labels {}", brief_bytes(bytes as f64)),
    };
    format!(
        "pool {}: {} free, {} open, {} waiting, {} retained; {}{labels}",
        brief_bytes(pool.size as f64),
        share(pool.free),
        share(pool.open),
        share(pool.waiting),
        share(pool.retained),
        count(pool.lanes, "lane")
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::recent::Figures;
    use super::super::window::Percentiles;
    use super::*;
    use crate::process::{Counters, SinkCounters, State};

    fn row(name: &str, of: &str, per_second: f64, total: u64) -> Row {
        Row { name: name.to_string(), of: of.to_string(), per_second, total }
    }

    fn busy() -> Now {
        let events = (1..=30).map(|at: u64| {
            row(&format!("Event{at}"), "Work", 1_234_567.0 / at as f64, 57_203_114 / at.pow(2))
        });
        let spans = (1..=9).map(|at: u64| SpanRow {
            name: format!("Request [/a/very/long/path/with/number/{at}]"),
            per_second: 1200.0 / at as f64,
            total: 12_345 / at,
            durations: Percentiles {
                count: at % 4,
                p50: 255_340.0 * at as f64,
                p90: 1_234_567.0,
                p99: 45e6,
                max: 1.5e9,
            },
        });
        Now {
            figures: Figures {
                seconds: Some(10.0),
                count: 57_203_114,
                per_second: 1_234_567.0,
                bytes_per_second: 9_345_678.0,
                kinds: vec![
                    row("Work", "app", 1_200_000.0, 56_000_000),
                    row("Pool", "app", 34_000.0, 1_203_110),
                    row("Label", "telemetry", 0.0, 4),
                ],
                events: events.collect(),
                spans: spans.collect(),
            },
            losses: Losses { lost: Loss { sink: 17, ..Loss::default() }, missing: 3, damaged: 0 },
            program: "server\u{1b}[31m".to_string(),
            state: Some(State {
                counters: Counters { emitted: 57_203_114, lost_pool: 1230, ..Counters::default() },
                pool: Some(Pool {
                    size: 4 << 20,
                    free: 3 << 20,
                    open: 512 << 10,
                    waiting: 256 << 10,
                    retained: 256 << 10,
                    lanes: 8,
                    labels: 1536,
                }),
                kinds: Vec::new(),
                sinks: vec![SinkCounters {
                    name: "file trace.tel".to_string(),
                    failure: Some("No space left on device".to_string()),
                    notice: None,
                    counters: BTreeMap::new(),
                }],
            }),
            emits: Some(1_300_000.0),
            ended: None,
        }
    }

    fn file() -> Now {
        Now { state: None, emits: None, losses: Losses::default(), ..busy() }
    }

    #[test]
    fn pictures() {
        let usual = View {
            input: "process 4711",
            sort: Sort::Rate,
            is_paused: false,
            shows_help: false,
            columns: 80,
            rows: Some(24),
        };
        let ended = Now { ended: Some("process 4711 has ended".to_string()), ..busy() };
        let first = Now { figures: Figures::default(), ..file() };
        let few = Now {
            figures: Figures {
                spans: Vec::new(),
                events: vec![row("Größe", "Work", 0.25, 1)],
                kinds: vec![row("Work", "app", 0.25, 1)],
                count: 1,
                seconds: None,
                ..Figures::default()
            },
            losses: Losses { damaged: 2, missing: 7, ..Losses::default() },
            ended: Some(String::new()),
            ..file()
        };
        let mut text = String::new();
        for (what, view, now) in [
            ("a process", View { ..usual }, busy()),
            ("sorted by name, paused", View { sort: Sort::Name, is_paused: true, ..usual }, busy()),
            ("sorted by duration", View { sort: Sort::Duration, rows: Some(40), ..usual }, busy()),
            ("ended", View { ..usual }, ended),
            ("help", View { shows_help: true, ..usual }, busy()),
            ("no event", View { input: "`gc.tel`", rows: Some(10), ..usual }, first),
            ("narrow", View { input: "`gc.tel`", columns: 40, rows: Some(16), ..usual }, file()),
            ("low", View { input: "`gc.tel`", rows: Some(8), ..usual }, file()),
            ("tiny", View { input: "`gc.tel`", columns: 10, rows: Some(2), ..usual }, file()),
            ("once", View { input: "`gc.tel`", rows: None, ..usual }, few),
        ] {
            let (columns, rows) = (usize::from(view.columns), view.rows.map(usize::from));
            let lines = view.lines(&now);
            assert!(rows.is_none_or(|rows| lines.len() == rows), "{what}: {} lines", lines.len());
            text += &format!("--- {what}\n");
            for (look, line) in &lines {
                let mark = match look {
                    Look::Plain => ' ',
                    Look::Strong => '*',
                    Look::Faint => '.',
                    Look::Alarm => '!',
                };
                let line = truncate_str(line, columns, "…");
                text += format!("{mark} {line}").trim_end();
                text += "\n";
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn rows_are_shared() {
        for (needed, free, given) in [
            (&[3, 30, 9][..], 14, &[3, 6, 5][..]),
            (&[3, 30, 9], 100, &[3, 30, 9]),
            (&[3, 30, 9], 2, &[1, 1, 0]),
            (&[3, 30, 9], 0, &[0, 0, 0]),
            (&[], 5, &[]),
        ] {
            assert_eq!(shares(needed, free), given, "{needed:?} {free}");
        }
    }
}
