//! Groups as text and JSON.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};
use telemetry_decode::names::Numbers;
use telemetry_decode::{Events, Session};
use telemetry_report::figures::distribution::Exact;
use telemetry_schema::{Registry, Sort};

use super::grouping::{Column, Grouping};
use super::groups::{Dropped, Form, Group, Groups};
use super::sum::Sum;
use crate::input::verdict::Verdict;
use crate::symbols::Stacks;
use crate::text::print::thread_name;
use crate::text::table::Table;
use crate::text::{count, escaped_bytes, escaped_text, grouped, json, number_text, scalar};

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
pub(crate) struct Grouped<'a> {
    version: u32,
    by: Vec<&'a str>,
    /// Number of events in groups, listed or not.
    events: u64,
    /// Number of events that lack a column.
    without: u64,
    /// The one with the most events first.
    groups: Vec<GroupStats>,
    /// Number of groups beyond the limit.
    omitted: u64,
    dropped: DroppedGroups,
    completeness: &'a Verdict,
    #[serde(skip)]
    head: Vec<String>,
    /// The columns that an event may lack.
    #[serde(skip)]
    params: Vec<String>,
}

/// Groups that were dropped because there were too many.
#[derive(Serialize)]
struct DroppedGroups {
    groups: u64,
    events: u64,
    /// The count of a group that is listed may be too low by this.
    error: u64,
}

#[derive(Serialize)]
struct GroupStats {
    values: Map<String, Json>,
    events: u64,
    share: f64,
    sums: Vec<SumStats>,
    #[serde(skip)]
    cells: Vec<String>,
    /// The cells of the table.
    #[serde(skip)]
    shown: Vec<String>,
}

#[derive(Serialize)]
struct SumStats {
    param: String,
    count: u64,
    sum: Json,
    percentiles: Vec<Percentile>,
}

#[derive(Serialize)]
struct Percentile {
    percent: f64,
    value: Json,
}

/// A value of a group.
#[derive(Default)]
struct Cell {
    json: Json,
    /// All of it as text, by which groups are told apart.
    text: String,
    /// What a table has of it, if that is less.
    short: Option<String>,
}

/// The innermost functions of a stack that a table has.
const SHOWN_FRAMES: usize = 3;

/// Groups with the same text are one. They had other numbers, as in other sessions.
#[derive(Default)]
struct Joined {
    values: Vec<Cell>,
    events: u64,
    sums: Vec<Sum>,
}

impl<'a> Grouped<'a> {
    pub(crate) fn new(
        events: &Events<'_>,
        grouping: &'a Grouping,
        groups: &Groups,
        stacks: &mut Stacks,
        verdict: &'a Verdict,
    ) -> Grouped<'a> {
        let mut joined: BTreeMap<Vec<String>, Joined> = BTreeMap::new();
        for group in groups.each() {
            let session = events.sessions().iter().find(|known| known.id == group.session);
            let values: Vec<Cell> = group
                .columns
                .iter()
                .map(|(form, value)| match (form, session) {
                    (Form::Stack, Some(session)) => Cell::of_stack(&stacks.frames(session, *value)),
                    (Form::Frames, _) => {
                        let text = String::from_utf8_lossy(groups.text(*value));
                        Cell::of_stack(&text.split('\n').collect::<Vec<_>>())
                    }
                    (Form::Places, _) => {
                        let text = String::from_utf8_lossy(groups.text(*value));
                        let lines = text.split('\n').enumerate();
                        let names = lines.map(|(at, place)| stacks.name_of_place(group.session, at, place));
                        Cell::of_stack(&names.collect::<Vec<_>>())
                    }
                    _ => value_of(events, groups, session, *form, *value).into(),
                })
                .collect();
            let texts = values.iter().map(|cell| cell.text.clone()).collect();
            let one = joined.entry(texts).or_default();
            one.values = values;
            one.add(&group);
        }
        let Dropped { groups: dropped, events: lost, error } = groups.dropped;
        let total = lost + joined.values().map(|one| one.events).sum::<u64>();
        let mut groups_of: Vec<GroupStats> =
            joined.into_values().map(|one| one.shown(grouping, total)).collect();
        // The sort is stable, so groups with the same number of events are in the order of values.
        groups_of.sort_by_key(|group| Reverse(group.events));
        let omitted = groups_of.len().saturating_sub(grouping.limit) as u64;
        groups_of.truncate(grouping.limit);
        let names = grouping.by.iter().map(|(name, _)| name.as_str());
        let params = grouping.by.iter().filter_map(|(_, column)| match column {
            Column::Param(name) => Some(format!("`{name}`")),
            Column::Field(_) => None,
        });
        let mut head: Vec<String> = names.clone().map(str::to_string).collect();
        head.extend(["events".to_string(), "share".to_string()]);
        for name in &grouping.sums {
            head.push(format!("{name} sum"));
            head.extend(grouping.percentiles.iter().map(|percent| format!("p{percent}")));
        }
        Grouped {
            version: 1,
            by: names.collect(),
            events: total,
            without: groups.without,
            groups: groups_of,
            omitted,
            dropped: DroppedGroups { groups: dropped, events: lost, error },
            completeness: verdict,
            head,
            params: params.collect(),
        }
    }

    /// Returns the values of each group as text, its number of events, and its sums.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&[String], u64, impl Iterator<Item = &Json>)> {
        self.groups
            .iter()
            .map(|group| (group.cells.as_slice(), group.events, group.sums.iter().map(|sum| &sum.sum)))
    }

    /// Appends the table, and what it does not have.
    pub(crate) fn append_text(&self, out: &mut Vec<u8>) {
        let head: Vec<&str> = self.head.iter().map(String::as_str).collect();
        let mut table = Table::new(self.by.len(), &head);
        for group in &self.groups {
            let mut cells = group.shown.clone();
            cells.push(grouped(group.events));
            cells.push(format!("{:.1} %", group.share * 100.0));
            for sum in &group.sums {
                cells.push(number_text(&sum.sum));
                cells.extend(sum.percentiles.iter().map(|percentile| number_text(&percentile.value)));
            }
            table.row(cells);
        }
        table.append(out, 0);
        if self.omitted > 0 {
            out.extend_from_slice(format!("and {}\n", count(self.omitted, "more group")).as_bytes());
        }
        if self.without > 0 {
            let text = format!("{} without {}\n", count(self.without, "event"), self.params.join(" or "));
            out.extend_from_slice(text.as_bytes());
        }
        let DroppedGroups { groups, events, error } = &self.dropped;
        if *groups > 0 {
            let (groups, events) = (count(*groups, "rare group"), count(*events, "event"));
            let error = grouped(*error);
            let text = format!("{groups} dropped, with {events}; other counts may be too low by {error}\n");
            out.extend_from_slice(text.as_bytes());
        }
    }
}

impl From<(Json, String)> for Cell {
    fn from((json, text): (Json, String)) -> Cell {
        Cell { json, text, short: None }
    }
}

impl Cell {
    /// Makes one of a call stack, whose innermost function is the first.
    fn of_stack<T: AsRef<str>>(frames: &[T]) -> Cell {
        let join = |frames: &[T]| {
            let frames: Vec<String> = frames.iter().map(|frame| escaped_text(frame.as_ref())).collect();
            frames.join(" <- ")
        };
        let short = (frames.len() > SHOWN_FRAMES + 1).then(|| {
            let more = frames.len() - SHOWN_FRAMES;
            format!("{} <- {more} more", join(&frames[..SHOWN_FRAMES]))
        });
        let json = frames.iter().map(|frame| Json::from(frame.as_ref())).collect();
        Cell { json: Json::Array(json), text: join(frames), short }
    }
}

impl Joined {
    fn add(&mut self, group: &Group<'_>) {
        self.events += group.events;
        self.sums.resize_with(group.sums.len().max(self.sums.len()), Sum::default);
        self.sums.iter_mut().zip(group.sums).for_each(|(sum, other)| sum.join(other));
    }

    fn shown(self, grouping: &Grouping, total: u64) -> GroupStats {
        let Joined { values, events, sums } = self;
        let names = grouping.by.iter().map(|(name, _)| name.clone());
        let sums = grouping.sums.iter().zip(&sums).map(|(param, sum)| SumStats {
            param: param.clone(),
            count: sum.count,
            sum: sum.total(),
            percentiles: grouping
                .percentiles
                .iter()
                .map(|percent| Percentile { percent: *percent, value: sum.percentile(*percent) })
                .collect(),
        });
        GroupStats {
            sums: sums.collect(),
            events,
            share: events as f64 / total.max(1) as f64,
            shown: values.iter().map(|cell| cell.short.as_ref().unwrap_or(&cell.text).clone()).collect(),
            cells: values.iter().map(|cell| cell.text.clone()).collect(),
            values: names.zip(values.into_iter().map(|cell| cell.json)).collect(),
        }
    }
}

impl Sum {
    /// Returns the sum; null without a number.
    pub(crate) fn total(&self) -> Json {
        match (self.count, self.has_floats) {
            (0, _) => Json::Null,
            (_, false) => whole(self.whole),
            (_, true) => float(self.float + self.whole as f64),
        }
    }

    fn percentile(&self, percent: f64) -> Json {
        let found = self.distribution.as_ref().and_then(|all| all.quantile(percent / 100.0));
        found.map_or(Json::Null, |found| match found {
            Exact::Whole(number) => whole(number),
            Exact::Float(number) => float(number),
        })
    }
}

fn whole(number: i128) -> Json {
    match (u64::try_from(number), i64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => float(number as f64),
    }
}

/// JSON has no infinite numbers and no NaN.
fn float(number: f64) -> Json {
    serde_json::Number::from_f64(number).map_or_else(|| Json::from(float_text(number)), Json::Number)
}

fn float_text(number: f64) -> String {
    match number {
        f64::INFINITY => "Infinity".to_string(),
        f64::NEG_INFINITY => "-Infinity".to_string(),
        number => number.to_string(),
    }
}

/// Returns a value for JSON and as text.
fn value_of(
    events: &Events<'_>,
    groups: &Groups,
    session: Option<&Session>,
    form: Form,
    value: u64,
) -> (Json, String) {
    let known = |fingerprint| events.registries().iter().find(|known| known.fingerprint == fingerprint);
    let plain = |value: u64| (Json::from(value), grouped(value));
    match form {
        Form::Text | Form::Frames | Form::Places => {
            (json::string_value(groups.text(value)), escaped_bytes(groups.text(value)))
        }
        Form::Stack => plain(value),
        Form::Thread => {
            let name = session.map(|session| thread_name(session, value as u32));
            name.map_or_else(|| plain(value), |name| (Json::from(name.clone()), name))
        }
        Form::Session => {
            let session = events.sessions().iter().find(|known| known.id == value);
            let program = session.and_then(|session| session.facts.text("program")).unwrap_or_default();
            let id = format!("{value:016x}");
            (
                Json::from(id.clone()),
                if program.is_empty() { id } else { format!("{} {id}", escaped_text(program)) },
            )
        }
        Form::Numbered(fingerprint, event, param) => {
            let text = known(fingerprint).and_then(|known| {
                let space = known.registry.events.get(event)?.params.get(param)?.number_space();
                session?.labels.string_of(Numbers::of(&known.registry.name, space), value)
            });
            text.map_or_else(
                || plain(value),
                |text| (Json::from(text), format!("\"{}\"", escaped_text(text))),
            )
        }
        Form::Scalar(_, sort @ (Sort::F32 | Sort::F64)) => {
            let number =
                if sort == Sort::F64 { f64::from_bits(value) } else { f32::from_bits(value as u32).into() };
            let text = if sort == Sort::F64 { number.to_string() } else { (number as f32).to_string() };
            (float(number), text)
        }
        Form::Scalar(fingerprint, sort) => {
            let empty = Registry::default();
            let registry = known(fingerprint).map_or(&empty, |known| &known.registry);
            scalar::shown(registry, sort, value, session)
        }
    }
}
