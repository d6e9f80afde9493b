//! The ranges as text and JSON.

use serde::Serialize;
use telemetry_decode::completeness::Gap;
use telemetry_decode::{KnownRegistry, Session};

use super::lives::{All, Found, How, Mention, Moment};
use super::owners::Owner;
use super::step::BLOCK;
use crate::input::verdict::Verdict;
use crate::text::print::thread_name;
use crate::text::table::Table;
use crate::text::{escaped_text, grouped, signed_grouped};

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
pub(super) struct Life<'a> {
    version: u32,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_ns: Option<i64>,
    ranges: Vec<Row>,
    events: Vec<Event>,
    left_out: u64,
    completeness: &'a Verdict,
    #[serde(skip)]
    has_sessions: bool,
}

#[derive(Serialize)]
struct Row {
    what: String,
    registry: String,
    session: String,
    base: String,
    size: Option<u64>,
    key: Option<String>,
    name: Option<String>,
    begin: Option<Edge>,
    end: Option<Edge>,
    owners: Vec<Belongs>,
    certain: bool,
    #[serde(skip)]
    limit: Option<u64>,
    /// False if no event of the registry ends such ranges.
    #[serde(skip)]
    can_end: bool,
}

/// A begin or an end.
#[derive(Serialize)]
struct Edge {
    /// `event`, `moved` or `replaced`.
    how: &'static str,
    time_ns: i64,
    thread: u32,
    thread_name: String,
    /// Of a move, the other address.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<String>,
}

#[derive(Serialize)]
struct Belongs {
    param: String,
    value: String,
    name: Option<String>,
}

#[derive(Serialize)]
struct Event {
    event: String,
    params: Vec<String>,
    session: String,
    time_ns: i64,
    thread: u32,
    thread_name: String,
}

impl<'a> Life<'a> {
    pub(super) fn new(
        address: u64,
        at_ns: Option<i64>,
        all: &All,
        sessions: &[Session],
        registries: &[KnownRegistry],
        gaps: &[Gap],
        verdict: &'a Verdict,
    ) -> Life<'a> {
        let session = |id: u64| sessions.iter().find(|session| session.id == id);
        let row = |found: &Found| Row::new(found, session(found.session), registries, gaps);
        let ids = all.ranges.iter().map(|found| found.session);
        let mut ids: Vec<u64> = ids.chain(all.events.iter().map(|event| event.session)).collect();
        ids.sort_unstable();
        ids.dedup();
        Life {
            version: 1,
            address: format!("{address:#x}"),
            at_ns,
            ranges: all.ranges.iter().map(row).collect(),
            events: all.events.iter().map(|event| Event::new(event, session(event.session))).collect(),
            left_out: all.dropped + all.events_dropped,
            completeness: verdict,
            has_sessions: ids.len() > 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the number of ranges within which events may be missing.
    pub(super) fn uncertain(&self) -> u64 {
        self.ranges.iter().filter(|row| !row.certain).count() as u64
    }

    pub(super) fn append_text(&self, out: &mut Vec<u8>) {
        let words: &[&str] = if self.has_sessions { &["session"] } else { &[] };
        let head = [words, &["what", "from", "to", "bytes", "begin", "end", "threads and owners"]].concat();
        let mut table = Table::new(words.len() + 1, &head).with_words_last();
        for row in &self.ranges {
            let session = self.has_sessions.then(|| row.session.clone());
            table.row(session.into_iter().chain(row.cells()));
        }
        if !self.ranges.is_empty() {
            table.append(out, 0);
        }
        let head = [words, &["event", "parameter", "thread", "time"]].concat();
        let mut table = Table::new(words.len() + 3, &head);
        for event in &self.events {
            let session = self.has_sessions.then(|| event.session.clone());
            let cells = [
                event.event.clone(),
                event.params.join(" "),
                event.thread_name.clone(),
                signed_grouped(event.time_ns),
            ];
            table.row(session.into_iter().chain(cells));
        }
        match self.ranges.is_empty() {
            true if self.events.is_empty() => {}
            true => table.append(out, 0),
            false => table.append_if_any(out),
        }
    }
}

impl Row {
    fn new(found: &Found, session: Option<&Session>, registries: &[KnownRegistry], gaps: &[Gap]) -> Row {
        let known = registries.iter().find(|known| known.fingerprint == found.registry);
        let edge = |edge: &Option<(Moment, How)>| edge.map(|(at, how)| Edge::new(at, how, session));
        let ticks = |edge: &Option<(Moment, How)>, other: u64| edge.map_or(other, |(at, _)| at.ticks);
        let (from, until) = (ticks(&found.begin, 0), ticks(&found.end, u64::MAX));
        let kinds: Vec<u8> = known.map_or(Vec::new(), |known| {
            let events = known.registry.events.iter().filter(|event| is_about(event, &found.what));
            events.map(|event| known.registry.kind_of(event).bit).collect()
        });
        let is_missing = |gap: &Gap| {
            let is_of_it = gap.registry == found.registry && kinds.contains(&gap.kind);
            gap.session == found.session
                && (gap.registry == 0 || is_of_it)
                && gap.from_ticks < until
                && gap.until_ticks > from
        };
        Row {
            what: found.what.clone(),
            registry: known.map_or(String::new(), |known| known.registry.name.clone()),
            session: format!("{:016x}", found.session),
            base: format!("{:#x}", found.base),
            size: found.size,
            limit: found.size.map(|size| found.base.saturating_add(size)),
            key: found.key.map(|key| place_text(key, found.is_key_place)),
            name: found.name.clone(),
            begin: edge(&found.begin),
            end: edge(&found.end),
            owners: found.owners.iter().map(Belongs::new).collect(),
            certain: !gaps.iter().any(is_missing),
            can_end: known.is_some_and(|known| can_end(known, &found.what)),
        }
    }

    fn cells(&self) -> impl Iterator<Item = String> {
        let mut what = self.what.clone();
        if let Some(key) = &self.key {
            what += &format!(" {key}");
        }
        if let Some(name) = &self.name {
            what += &format!(" [{}]", escaped_text(name));
        }
        let time = |edge: &Option<Edge>| edge.as_ref().map(|edge| signed_grouped(edge.time_ns));
        let begin = time(&self.begin).unwrap_or("unseen".to_string());
        let end = time(&self.end).unwrap_or(if self.can_end { "open" } else { "unseen" }.to_string());
        let limit = self.limit.map_or("?".to_string(), |limit| format!("{limit:#x}"));
        let size = self.size.map_or("?".to_string(), grouped);
        [what, self.base.clone(), limit, size, begin, end, self.notes()].into_iter()
    }

    /// Returns the threads, the owners, and what is unusual.
    fn notes(&self) -> String {
        let threads = [&self.begin, &self.end].into_iter().flatten().map(|edge| edge.thread_name.as_str());
        let mut threads: Vec<&str> = threads.collect();
        threads.dedup();
        let mut notes = vec![threads.join(", ")];
        notes.extend(self.owners.iter().map(Belongs::text));
        let how = [("from", &self.begin), ("to", &self.end)].into_iter().filter_map(|(direction, edge)| {
            let edge = edge.as_ref()?;
            match &edge.other {
                Some(other) if *other == self.base => Some("(resized)".to_string()),
                Some(other) => Some(format!("(moved {direction} {other})")),
                None => (edge.how == "replaced").then(|| "(replaced)".to_string()),
            }
        });
        notes.extend(how);
        notes.extend((!self.certain).then(|| "(uncertain)".to_string()));
        notes.join(" ")
    }
}

impl Edge {
    fn new(at: Moment, how: How, session: Option<&Session>) -> Edge {
        let Moment { time_ns, thread, .. } = at;
        let (how, other) = match how {
            How::Told => ("event", None),
            How::Moved(other) => ("moved", Some(format!("{other:#x}"))),
            How::Replaced => ("replaced", None),
        };
        Edge { how, time_ns, thread, thread_name: named(session, thread), other }
    }
}

impl Belongs {
    fn new(owner: &Owner) -> Belongs {
        let Owner { param, value, is_place, name } = owner;
        Belongs { param: param.clone(), value: place_text(*value, *is_place), name: name.clone() }
    }

    fn text(&self) -> String {
        match &self.name {
            Some(name) => format!("{}:{} [{}]", self.param, self.value, escaped_text(name)),
            None => format!("{}:{}", self.param, self.value),
        }
    }
}

impl Event {
    fn new(mention: &Mention, session: Option<&Session>) -> Event {
        Event {
            event: mention.event.clone(),
            params: mention.params.clone(),
            session: format!("{:016x}", mention.session),
            time_ns: mention.at.time_ns,
            thread: mention.at.thread,
            thread_name: named(session, mention.at.thread),
        }
    }
}

fn place_text(value: u64, is_place: bool) -> String {
    if is_place { format!("{value:#x}") } else { value.to_string() }
}

fn named(session: Option<&Session>, thread: u32) -> String {
    session.map_or_else(|| format!("#{thread}"), |session| thread_name(session, thread))
}

/// Returns true if an event begins, ends or moves ranges of a name.
fn is_about(event: &telemetry_schema::Event, what: &str) -> bool {
    match &event.range {
        Some(range) => range.what == what,
        None => event.replay.is_some() && what == BLOCK,
    }
}

/// Returns true if an event of the registry ends ranges of a name.
fn can_end(known: &KnownRegistry, what: &str) -> bool {
    known.registry.events.iter().any(|event| match &event.range {
        Some(range) => range.what == what && range.action == telemetry_schema::RangeAction::End,
        None => event.replay.is_some() && what == BLOCK,
    })
}
