//! Sessions, threads, kinds and events, with their names and docs.

use std::collections::HashSet;

use telemetry_decode::Session;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_schema::{Count, Param, Registry};

use super::forms::{EventForm, KindForm, ParamForm, SessionForm, ThreadForm};
use super::source::Source;
use crate::gather::cut::cut;
use crate::gather::threads::OTHERS;

impl Source<'_> {
    pub(super) fn session(&self, session: &Session) -> SessionForm {
        let facts = &session.facts;
        let text = |value: &dyn ToString| cut(&value.to_string());
        let args = facts.get("args").and_then(|args| args.as_list());
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
            endings: self
                .gathered
                .endings
                .get(&session.id)
                .into_iter()
                .flat_map(|ending| ending.rows())
                .map(|(what, text)| (what.to_string(), cut(&text)))
                .collect(),
            facts: facts
                .iter()
                .filter(|(key, _)| !shown.contains(key))
                .map(|(key, value)| (cut(key), value.as_str().map_or_else(|| text(value), cut)))
                .collect(),
        }
    }

    pub(super) fn threads(&self) -> Vec<ThreadForm> {
        let threads = &self.gathered.threads;
        let mut counts = vec![0; threads.list.len() + 1];
        let mut others = HashSet::new();
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
                let of = self.sessions.get(session);
                let name = of.and_then(|session| session.thread_name(*thread));
                let is_shared = |name: &str| of.is_some_and(|session| session.is_thread_name_shared(name));
                let name = match (name, thread) {
                    (Some(name), thread) if is_shared(name) => format!("{}#{thread}", cut(name)),
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

    pub(super) fn event(&mut self, fingerprint: u64, index: usize) -> EventForm {
        let known = self.registries.iter().find(|known| known.fingerprint == fingerprint);
        // Each event that was taken has a registry.
        let Some(registry) = known.map(|known| &known.registry) else {
            return EventForm::default();
        };
        let event = &registry.events[index];
        let bit = registry.kind_of(event).bit;
        let kind = self.kind_of(fingerprint, bit);
        EventForm {
            name: event.name.clone(),
            registry: self.registry_name(fingerprint),
            fingerprint: format!("{fingerprint:016x}"),
            code: event.code,
            kind,
            doc: event.doc.clone(),
            params: event.params.iter().map(|param| self.param(registry, param)).collect(),
        }
    }

    fn param(&self, registry: &Registry, param: &Param) -> ParamForm {
        let sort = registry
            .ty(param.sort)
            .map_or_else(|| param.sort.name().unwrap_or_default().to_string(), |ty| ty.name.clone());
        let ty = match param.count {
            Count::One => sort,
            _ => format!("list of {sort}"),
        };
        ParamForm {
            name: param.name.clone(),
            ty,
            unit: param.unit.clone(),
            is_counter: param.is_counter,
            doc: param.doc.clone(),
        }
    }

    pub(super) fn kind(&self, fingerprint: u64, bit: u8) -> KindForm {
        let registry = self.registry(fingerprint);
        let kind = registry.and_then(|registry| registry.kinds.iter().find(|kind| kind.bit == bit));
        KindForm {
            is_runtime: registry.is_some_and(|registry| registry.name == RUNTIME_REGISTRY),
            registry: self.registry_name(fingerprint),
            fingerprint: format!("{fingerprint:016x}"),
            // A stream may lose events of a registry that it does not have.
            name: kind.map_or_else(|| format!("kind {bit}"), |kind| kind.name.clone()),
            doc: kind.map_or_else(String::new, |kind| kind.doc.clone()),
        }
    }
}
