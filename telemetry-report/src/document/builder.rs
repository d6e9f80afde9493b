//! Makes the document from what was gathered.

use serde::Serialize;
use serde_json::Value as Json;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Events, KnownRegistry, Session};
use telemetry_schema::{Count, Param, Registry};

use super::forms::{
    CountsForm, Document, EventForm, KindForm, ParamForm, RateForm, SampleForm, SessionForm, ThreadForm,
};
use super::room::Room;
use super::texts::{Texts, cut};
use super::{losses, memory, spans, trim};
use crate::gather::axis::{INTERVALS, Series};
use crate::gather::gatherer::Gatherer;
use crate::gather::threads::OTHERS;

/// The program that makes the page, and what it knows beside the events.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// Name and version of the program.
    pub made_by: String,
    /// Names of the inputs.
    pub inputs: Vec<String>,
}

/// What the parts of a document are made from.
pub(super) struct Source<'a> {
    pub(super) gathered: &'a Gatherer,
    pub(super) sessions: &'a [Session],
    pub(super) registries: &'a [KnownRegistry],
    /// All kinds, by fingerprint of the registry and bit.
    kinds: Vec<(u64, u8)>,
    pub(super) room: Room,
}

impl Document {
    /// Makes a document with at most this much of each table. `stats` and `paired` are the objects
    /// of `telemetry stats --json` and `telemetry spans --json`.
    ///
    /// # Errors
    /// If one of the objects cannot be serialized.
    pub(crate) fn new(
        gathered: &Gatherer,
        events: &Events<'_>,
        origin: &Origin,
        stats: &impl Serialize,
        paired: &impl Serialize,
        room: Room,
    ) -> serde_json::Result<Document> {
        let mut source = Source {
            gathered,
            sessions: events.sessions(),
            registries: events.registries(),
            kinds: Vec::new(),
            room,
        };
        let (mut stats, mut paired) = (serde_json::to_value(stats)?, serde_json::to_value(paired)?);
        if let Some(Json::Array(events)) = stats.get_mut("events") {
            // The counts of each thread are in `rate`.
            events.iter_mut().filter_map(Json::as_object_mut).for_each(|event| _ = event.remove("threads"));
        }
        [&mut stats, &mut paired].into_iter().for_each(|object| trim::trim(object, room.listed));
        // The page has the verdict once.
        paired.as_object_mut().and_then(|paired| paired.remove("completeness"));
        let mut texts = Texts::default();
        let event_forms: Vec<_> =
            gathered.events.iter().map(|(fingerprint, index)| source.event(*fingerprint, *index)).collect();
        let completeness = events.completeness();
        for lane in completeness.lanes.iter().filter(|lane| lane.missing > 0 || lane.lost.events() > 0) {
            source.kind_of(lane.registry, lane.kind);
        }
        let (losses, more_losses) = losses::losses(&source, &completeness);
        Ok(Document {
            version: 1,
            made_by: origin.made_by.clone(),
            inputs: origin.inputs.iter().map(|name| cut(name)).collect(),
            origin: gathered.axis.origin().to_string(),
            duration: gathered.axis.until(),
            sessions: source.sessions.iter().map(|session| source.session(session)).collect(),
            threads: source.threads(),
            kinds: source.kinds.iter().map(|(of, bit)| source.kind(*of, *bit)).collect(),
            events: event_forms,
            spans: spans::types(&source),
            stats,
            paired,
            losses,
            more_losses,
            rate: source.rate(),
            lanes: spans::lanes(&source, &mut texts),
            durations: spans::durations(&source),
            values: spans::values(&source),
            memory: memory::memory(&source),
            pauses: spans::pauses(&source, &mut texts),
            flames: spans::flames(&source, &mut texts),
            sample: source.sample(),
            notes: source.notes(),
            texts: texts.list,
        })
    }
}

impl Source<'_> {
    pub(super) fn registry(&self, fingerprint: u64) -> Option<&Registry> {
        let known = self.registries.iter().find(|known| known.fingerprint == fingerprint);
        known.map(|known| &known.registry)
    }

    /// Returns the number of a kind on the page, if an event of it occurred.
    pub(super) fn kind_number(&self, fingerprint: u64, bit: u8) -> Option<usize> {
        self.kinds.iter().position(|kind| *kind == (fingerprint, bit))
    }

    /// Returns the start of a session on the page's axis.
    pub(super) fn start(&self, session: &Session) -> i64 {
        let start = session.clock.wall_ns(session.clock.start_ticks());
        start.saturating_sub(self.gathered.axis.origin())
    }

    /// Returns the number of a thread on the page, or nothing if it has none.
    pub(super) fn thread_number(&self, session: u64, thread: u32) -> Option<u32> {
        Some(self.gathered.threads.known(session, thread)).filter(|number| *number != OTHERS)
    }

    fn session(&self, session: &Session) -> SessionForm {
        let facts = &session.facts;
        let text = |value: &dyn ToString| cut(&value.to_string());
        let args = facts.get("args").and_then(|args| args.as_array());
        let shown = ["program", "args", "pid", "host"];
        SessionForm {
            id: format!("{:016x}", session.id),
            program: cut(facts.text("program").unwrap_or_default()),
            args: args
                .map(|args| args.iter().map(|arg| arg.as_str().map_or_else(|| text(arg), cut)).collect())
                .unwrap_or_default(),
            pid: facts.number("pid"),
            host: facts.text("host").map(cut),
            start: self.start(session),
            ended: session.ended,
            facts: facts
                .iter()
                .filter(|(key, _)| !shown.contains(key))
                .map(|(key, value)| (cut(key), value.as_str().map_or_else(|| text(value), cut)))
                .collect(),
        }
    }

    fn threads(&self) -> Vec<ThreadForm> {
        let threads = &self.gathered.threads;
        let mut counts = vec![0; threads.list.len() + 1];
        let mut others = std::collections::HashSet::new();
        for ((session, thread, _), lane) in &self.gathered.tally.lanes {
            let count: u64 = lane.iter().map(|(_, count)| count.count).sum();
            let number = threads.known(*session, *thread);
            if number == OTHERS {
                others.insert((*session, *thread));
            }
            counts[(number as usize).min(threads.list.len())] += count;
        }
        let mut forms: Vec<_> = threads
            .list
            .iter()
            .zip(&counts)
            .map(|((id, thread), events)| {
                let session = self.sessions.iter().position(|session| session.id == *id).unwrap_or(0);
                let name = self.sessions.get(session).and_then(|session| session.thread_name(*thread));
                let name = match (name, thread) {
                    (Some(name), _) => cut(name),
                    (None, 0) => "no thread".to_string(),
                    (None, thread) => format!("#{thread}"),
                };
                ThreadForm { session, thread: *thread, name, events: *events, others: 0 }
            })
            .collect();
        if !others.is_empty() {
            let name = format!("{} other threads", others.len());
            let events = counts[threads.list.len()];
            forms.push(ThreadForm { session: 0, thread: 0, name, events, others: others.len() });
        }
        forms
    }

    fn event(&mut self, fingerprint: u64, index: usize) -> EventForm {
        let known = self.registries.iter().find(|known| known.fingerprint == fingerprint);
        // Each event that was taken has a registry.
        let Some(registry) = known.map(|known| &known.registry) else {
            let (name, registry, doc) = (String::new(), String::new(), String::new());
            return EventForm { name, registry, code: 0, kind: 0, doc, params: Vec::new() };
        };
        let event = &registry.events[index];
        let bit = registry.kind_of(event).bit;
        let kind = self.kind_of(fingerprint, bit);
        EventForm {
            name: event.name.clone(),
            registry: registry.name.clone(),
            code: event.code,
            kind,
            doc: event.doc.clone(),
            params: event.params.iter().map(|param| self.param(registry, param)).collect(),
        }
    }

    /// Returns the number of a kind, and adds a new one.
    fn kind_of(&mut self, fingerprint: u64, bit: u8) -> usize {
        self.kind_number(fingerprint, bit).unwrap_or_else(|| {
            self.kinds.push((fingerprint, bit));
            self.kinds.len() - 1
        })
    }

    fn param(&self, registry: &Registry, param: &Param) -> ParamForm {
        let sort = registry
            .ty(param.sort)
            .map_or_else(|| param.sort.name().unwrap_or_default().to_string(), |ty| ty.name.clone());
        let ty = match param.count {
            Count::One => sort,
            _ => format!("list of {sort}"),
        };
        ParamForm { name: param.name.clone(), ty, unit: param.unit.clone(), doc: param.doc.clone() }
    }

    fn kind(&self, fingerprint: u64, bit: u8) -> KindForm {
        let registry = self.registry(fingerprint);
        let kind = registry.and_then(|registry| registry.kinds.iter().find(|kind| kind.bit == bit));
        let name = registry.map_or_else(String::new, |registry| registry.name.clone());
        KindForm {
            is_runtime: name == RUNTIME_REGISTRY,
            registry: name,
            // A stream may lose events of a registry that it does not have.
            name: kind.map_or_else(|| format!("kind {bit}"), |kind| kind.name.clone()),
            doc: kind.map_or_else(String::new, |kind| kind.doc.clone()),
        }
    }

    fn rate(&self) -> RateForm {
        let slots = &self.gathered.slots.list;
        let mut series: Vec<_> =
            slots.iter().map(|slot| (slot.thread, slot.event, slot.counts.clone())).collect();
        let mut width = self.gathered.axis.width();
        let numbers = |series: &[(u32, u32, Series<u64>)]| -> usize {
            series.iter().map(|(_, _, counts)| counts.values.len()).sum()
        };
        while numbers(&series) > self.room.counts && width < u64::MAX / 4 {
            series.iter_mut().for_each(|(_, _, counts)| counts.fold());
            width *= 2;
            if series.iter().all(|(_, _, counts)| counts.values.len() <= 1) {
                break;
            }
        }
        let series = series.into_iter().filter(|(_, _, counts)| !counts.values.is_empty());
        RateForm {
            width,
            buckets: (self.gathered.axis.until() / width + 1).min(INTERVALS),
            series: series
                .map(|(thread, event, counts)| CountsForm {
                    thread: self.shown_thread(thread),
                    event,
                    first: counts.first,
                    counts: counts.values,
                })
                .collect(),
        }
    }

    /// Returns the number of a thread in the document, where all others come last.
    pub(super) fn shown_thread(&self, thread: u32) -> u32 {
        if thread == OTHERS { self.gathered.threads.list.len() as u32 } else { thread }
    }

    fn sample(&self) -> Vec<SampleForm> {
        let list = &self.gathered.samples.list;
        let all: usize = list.iter().map(|sample| sample.rows.len()).sum();
        // One of each `step` of those that were kept.
        let step = all.div_ceil(self.room.rows.max(1)).max(1).next_power_of_two();
        let forms = list.iter().enumerate().map(|(number, sample)| {
            let step = if sample.rows.len() < 100 { 1 } else { step };
            let mut before = 0;
            let rows = sample.rows.iter().step_by(step).map(|row| {
                let since = row.moment.saturating_sub(before);
                before = row.moment;
                let head = [Json::from(since), Json::from(self.shown_thread(row.thread))];
                head.into_iter().chain(row.values.iter().cloned()).collect()
            });
            let rows = rows.collect();
            SampleForm { event: number as u32, every: sample.every * step as u64, total: sample.total, rows }
        });
        forms.collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(ended) = self.gathered.memory.ended {
            notes.push(format!(
                "The record of memory ends {ended} ns after the first event: too much memory was live."
            ));
        }
        if self.gathered.flames.dropped > 0 {
            notes.push(format!(
                "{} spans are not in the flame graphs: there are too many different paths.",
                self.gathered.flames.dropped
            ));
        }
        notes
    }
}
