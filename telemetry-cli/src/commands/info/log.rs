//! The content of another system's log, from one scan.

use std::collections::BTreeMap;

use serde::Serialize;
use telemetry_decode::{Events, Session};

use super::facts::{RegistryInfo, fact_text};
use crate::input::remedy;
use crate::input::verdict::Verdict;
use crate::text::table::Table;
use crate::text::{escaped_text, grouped};

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
pub(super) struct LogInfo<'a> {
    version: u32,
    sessions: Vec<LogSession<'a>>,
    /// The most frequent first, without those that the log does not have.
    events: Vec<EventCount<'a>>,
    registries: Vec<RegistryInfo<'a>>,
    completeness: &'a Verdict,
}

#[derive(Serialize)]
struct LogSession<'a> {
    id: String,
    ended: bool,
    ticks_per_second: f64,
    facts: BTreeMap<&'a str, serde_json::Value>,
    /// The same facts in the log's own order.
    #[serde(skip)]
    listed_facts: Vec<(&'a str, String)>,
    threads: Vec<LogThread<'a>>,
}

#[derive(Serialize)]
struct LogThread<'a> {
    thread: u32,
    name: Option<&'a str>,
    tid: Option<u64>,
}

#[derive(Serialize)]
struct EventCount<'a> {
    registry: &'a str,
    kind: &'a str,
    event: &'a str,
    events: u64,
}

impl<'a> LogInfo<'a> {
    pub(super) fn new(events: &'a Events<'_>, completeness: &'a Verdict) -> Self {
        let registries = events.registries();
        let counts = events.log_counts().unwrap_or_default();
        let counts = counts.iter().filter(|count| count.count > 0).filter_map(|count| {
            let registry = registries.get(count.registry)?;
            let event = registry.registry.events.get(count.event)?;
            let kind = &registry.registry.kind_of(event).name;
            Some(EventCount {
                registry: &registry.registry.name,
                kind,
                event: &event.name,
                events: count.count,
            })
        });
        let mut counts: Vec<_> = counts.collect();
        counts.sort_by_key(|count| std::cmp::Reverse(count.events));
        LogInfo {
            version: 1,
            sessions: events.sessions().iter().map(LogSession::new).collect(),
            events: counts,
            // The command itself has the registries of logs.
            registries: registries
                .iter()
                .map(|known| RegistryInfo { in_stream: true, ..RegistryInfo::new(known) })
                .collect(),
            completeness,
        }
    }

    pub(super) fn append_text(&self, out: &mut Vec<u8>) {
        for session in &self.sessions {
            session.append_text(out);
            out.push(b'\n');
        }
        let mut counts = Table::new(3, &["event", "kind", "registry", "events"]);
        for EventCount { registry, kind, event, events } in &self.events {
            counts.row([event.to_string(), kind.to_string(), registry.to_string(), grouped(*events)]);
        }
        let all = self.events.iter().map(|count| count.events).sum();
        counts.row(["all".to_string(), String::new(), String::new(), grouped(all)]);
        counts.append(out, 0);
        out.push(b'\n');
        for registry in &self.registries {
            out.extend_from_slice(registry.line().as_bytes());
        }
        remedy::append(out, self.completeness);
    }
}

impl<'a> LogSession<'a> {
    fn new(session: &'a Session) -> Self {
        let threads = session.threads().iter().map(|(thread, facts)| LogThread {
            thread: *thread,
            name: facts.text("name"),
            tid: facts.number("tid"),
        });
        let facts = || session.facts.iter();
        LogSession {
            id: format!("{:016x}", session.id),
            ended: session.ended,
            ticks_per_second: session.clock.ticks_per_second().round(),
            facts: facts()
                .map(|(key, value)| (key, serde_json::to_value(value).unwrap_or_default()))
                .collect(),
            listed_facts: facts().map(|(key, value)| (key, fact_text(value.as_str(), value))).collect(),
            threads: threads.collect(),
        }
    }

    fn append_text(&self, out: &mut Vec<u8>) {
        let mut facts = Table::new(2, &["session", &self.id]);
        for (key, value) in &self.listed_facts {
            facts.row([format!("  {}", escaped_text(key)), value.clone()]);
        }
        facts.row(["  clock rate".to_string(), format!("{} ticks/s", grouped(self.ticks_per_second as u64))]);
        facts.append(out, 0);
        if self.threads.is_empty() {
            return;
        }
        out.push(b'\n');
        let mut threads = Table::new(2, &["thread", "name", "tid"]);
        for LogThread { thread, name, tid } in &self.threads {
            let tid = tid.map_or_else(String::new, |tid| tid.to_string());
            threads.row([thread.to_string(), escaped_text(name.unwrap_or_default()), tid]);
        }
        threads.append(out, 2);
    }
}
