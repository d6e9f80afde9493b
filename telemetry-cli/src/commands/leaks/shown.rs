//! The blocks that are live, as text and JSON.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};
use telemetry_decode::Session;
use telemetry_decode::replay::Totals;

use super::held::{Cell, Held};
use crate::input::verdict::Verdict;
use crate::symbols::Stacks;
use crate::text::table::Table;
use crate::text::{count, escaped_text, grouped, signed_grouped};

/// What was asked for.
pub(super) struct Asked<'a> {
    pub(super) by: &'a [String],
    /// The time, if it is not the end.
    pub(super) at_ns: Option<i64>,
    /// The most groups.
    pub(super) most: usize,
}

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
pub(super) struct Leaks<'a> {
    version: u32,
    by: &'a [String],
    /// The time that was asked for.
    at_ns: Option<i64>,
    /// Of all that is live.
    bytes: u64,
    blocks: u64,
    /// That with the most bytes first.
    groups: Vec<Group>,
    /// Number of groups beyond the limit.
    omitted: u64,
    allocations: u64,
    frees: u64,
    reallocations: u64,
    /// Frees of memory that no event allocated.
    not_live: u64,
    /// Other events that do not fit those before them.
    faults: u64,
    /// False if events are missing, so that a block may have been freed.
    certain: bool,
    completeness: &'a Verdict,
    #[serde(skip)]
    has_stacks: bool,
}

#[derive(Serialize)]
struct Group {
    values: Map<String, Json>,
    bytes: u64,
    blocks: u64,
    /// When the first and the last of its blocks were allocated.
    first_ns: i64,
    last_ns: i64,
    #[serde(skip)]
    cells: Vec<Shown>,
}

/// A cell with its functions named. Groups with the same ones are one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Shown {
    None,
    Value(String, String),
    Frames(Vec<String>),
}

impl<'a> Leaks<'a> {
    pub(super) fn new(
        held: Held,
        asked: &Asked<'a>,
        stacks: &mut Stacks,
        (sessions, is_whole): (&[Session], bool),
        verdict: &'a Verdict,
    ) -> Leaks<'a> {
        let mut by_key: HashMap<_, (u64, u64, i64, i64)> = HashMap::new();
        for block in held.blocks() {
            let group = by_key.entry(&block.key).or_insert((0, 0, i64::MAX, i64::MIN));
            *group = (
                group.0.saturating_add(block.size),
                group.1 + 1,
                group.2.min(block.time_ns),
                group.3.max(block.time_ns),
            );
        }
        let mut named: HashMap<Vec<Shown>, (u64, u64, i64, i64)> = HashMap::new();
        for (key, (bytes, blocks, first, last)) in by_key {
            let session = sessions.iter().find(|session| session.id == key.session);
            let cells = key.cells.iter().map(|cell| match (cell, session) {
                (Cell::Stack(number), Some(session)) => Shown::Frames(stacks.frames(session, *number)),
                (Cell::None | Cell::Stack(_), _) => Shown::None,
                (Cell::Value(json, text), _) => Shown::Value(json.clone(), text.clone()),
                (Cell::Frames(frames), _) => Shown::Frames(frames.clone()),
            });
            let group = named.entry(cells.collect()).or_insert((0, 0, i64::MAX, i64::MIN));
            *group = (group.0.saturating_add(bytes), group.1 + blocks, group.2.min(first), group.3.max(last));
        }
        let mut groups: Vec<Group> = named
            .into_iter()
            .map(|(cells, (bytes, blocks, first_ns, last_ns))| {
                let values = asked.by.iter().cloned().zip(cells.iter().map(Shown::json)).collect();
                Group { values, bytes, blocks, first_ns, last_ns, cells }
            })
            .collect();
        groups.sort_by_key(|group| (Reverse(group.bytes), Reverse(group.blocks), group.first_ns));
        let bytes = groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.bytes));
        let blocks = groups.iter().map(|group| group.blocks).sum();
        let omitted = groups.len().saturating_sub(asked.most) as u64;
        groups.truncate(asked.most);
        let Totals { allocs, frees, reallocs, faults, not_live, .. } = held.finish();
        let has_stacks =
            groups.iter().any(|group| group.cells.iter().any(|cell| matches!(cell, Shown::Frames(_))));
        Leaks {
            version: 1,
            by: asked.by,
            at_ns: asked.at_ns,
            bytes,
            blocks,
            groups,
            omitted,
            allocations: allocs,
            frees,
            reallocations: reallocs,
            not_live,
            faults: faults - not_live,
            certain: is_whole && faults == not_live,
            completeness: verdict,
            has_stacks,
        }
    }

    pub(super) fn append_text(&self, out: &mut Vec<u8>) {
        let of = format!("{} in {}", count(self.bytes, "byte"), count(self.blocks, "block"));
        let when = self.at_ns.map_or("at the end".to_string(), |at| format!("at {} ns", signed_grouped(at)));
        let text = format!(
            "{of} live {when}; {}, {}, {}\n",
            count(self.allocations, "allocation"),
            count(self.reallocations, "reallocation"),
            count(self.frees, "free"),
        );
        out.extend_from_slice(text.as_bytes());
        if self.has_stacks {
            self.append_stacks(out)
        } else {
            self.append_table(out)
        }
        if self.omitted > 0 {
            let listed = self.groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.bytes));
            let (groups, left) = (count(self.omitted, "more group"), self.bytes.saturating_sub(listed));
            out.extend_from_slice(format!("and {groups} with {}\n", count(left, "byte")).as_bytes());
        }
    }

    /// Appends each group with its functions in lines.
    fn append_stacks(&self, out: &mut Vec<u8>) {
        for group in &self.groups {
            let mut text = format!(
                "\n{} in {} ({:.1} %), since {} ns",
                count(group.bytes, "byte"),
                count(group.blocks, "block"),
                self.share(group),
                signed_grouped(group.first_ns),
            );
            let cells = || self.by.iter().zip(&group.cells);
            for (name, cell) in cells().filter(|(_, cell)| !matches!(cell, Shown::Frames(_))) {
                text += &format!("  {name}: {}", cell.text());
            }
            text.push('\n');
            for (_, cell) in cells() {
                let Shown::Frames(frames) = cell else { continue };
                for (number, frame) in frames.iter().enumerate() {
                    text += &format!("  {:<4} {}\n", format!("#{number}"), escaped_text(frame));
                }
            }
            out.extend_from_slice(text.as_bytes());
        }
    }

    fn append_table(&self, out: &mut Vec<u8>) {
        let heads = self.by.iter().map(String::as_str).chain(["bytes", "share", "blocks", "since ns"]);
        let mut table = Table::new(self.by.len(), &heads.collect::<Vec<_>>());
        for group in &self.groups {
            let numbers = [
                grouped(group.bytes),
                format!("{:.1} %", self.share(group)),
                grouped(group.blocks),
                signed_grouped(group.first_ns),
            ];
            table.row(group.cells.iter().map(Shown::text).chain(numbers));
        }
        table.append_if_any(out);
    }

    fn share(&self, group: &Group) -> f64 {
        100.0 * group.bytes as f64 / self.bytes.max(1) as f64
    }

    /// Says why what is shown may be wrong.
    pub(super) fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if !self.certain {
            doubts.push("events are missing: what is shown may have been freed, and more may be live".into());
        }
        if self.faults > 0 {
            let events = grouped(self.faults);
            doubts.push(format!(
                "events that do not fit those before them: {events}; help: `telemetry replay --dry-run` lists them"
            ));
        }
        doubts
    }

    /// Says why nothing is shown, or no stack.
    pub(super) fn nothing(&self) -> Option<&'static str> {
        if self.allocations == 0 {
            return Some(
                "no allocation; help: mark the events of the allocator with `replay` in the registry, and \
                 switch them on",
            );
        }
        let wants_stacks = self.by.iter().any(|name| name == "stack");
        (wants_stacks && self.blocks > 0 && !self.has_stacks).then_some(
            "no allocation has a call stack; help: give its event a parameter of the type `stack`, or use --by event",
        )
    }
}

impl Shown {
    fn json(&self) -> Json {
        match self {
            Shown::None => Json::Null,
            Shown::Value(json, text) => {
                serde_json::from_str(json).unwrap_or_else(|_| Json::from(text.as_str()))
            }
            Shown::Frames(frames) => frames.iter().map(String::as_str).map(Json::from).collect(),
        }
    }

    fn text(&self) -> String {
        match self {
            Shown::None => "-".to_string(),
            Shown::Value(_, text) => text.clone(),
            Shown::Frames(frames) => {
                frames.iter().map(|frame| escaped_text(frame)).collect::<Vec<_>>().join(" <- ")
            }
        }
    }
}
