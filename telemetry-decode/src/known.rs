//! What a stream has said so far of its sessions and registries.

use std::collections::HashMap;

use telemetry_format::{Header, flags};
use telemetry_schema::{Registry, parse_embedded};

use crate::clock::Clock;
use crate::filter::Filter;
use crate::registries::KnownRegistry;
use crate::session::{Facts, Session};

/// What a stream has said so far of its sessions and registries.
pub(crate) struct Known {
    pub(crate) sessions: Vec<Session>,
    pub(crate) registries: Vec<KnownRegistry>,
    /// Blocks that could not be understood: byte offset and why.
    pub(crate) unreadable: Vec<(u64, String)>,
    moments: Vec<Moments>,
    session_ids: HashMap<u64, usize>,
    registry_ids: HashMap<u64, usize>,
    /// The whole stream is looked through before its times are used.
    looks_ahead: bool,
}

/// Pairs of clock readings of a session's blocks: ticks, and nanoseconds since 1970.
#[derive(Clone, Copy)]
struct Moments {
    earliest: (u64, u64),
    farthest: (u64, u64),
}

impl Known {
    pub(crate) fn new(looks_ahead: bool) -> Known {
        Known {
            sessions: Vec::new(),
            registries: Vec::new(),
            unreadable: Vec::new(),
            moments: Vec::new(),
            session_ids: HashMap::new(),
            registry_ids: HashMap::new(),
            looks_ahead,
        }
    }

    /// The session of a block, whether or not its session block was seen; takes the block's clock
    /// readings.
    pub(crate) fn session(&mut self, header: &Header) -> usize {
        let moment = (header.base_ticks, header.base_wall);
        let index = *self.session_ids.entry(header.session).or_insert_with(|| {
            self.sessions.push(Session {
                id: header.session,
                facts: Facts::default(),
                clock: Clock::ticks(moment.0, moment.1, 0),
                threads: Default::default(),
                declared: false,
                ended: false,
            });
            self.moments.push(Moments { earliest: moment, farthest: moment });
            self.sessions.len() - 1
        });
        let (session, moments) = (&mut self.sessions[index], &mut self.moments[index]);
        if header.flags & flags::END != 0 {
            session.ended = true;
        }
        if moment == (0, 0) {
            return index;
        }
        moments.earliest = moments.earliest.min(moment);
        moments.farthest = moments.farthest.max(moment);
        if self.looks_ahead {
            session.clock.refine_farthest(moment.0, moment.1);
        } else {
            session.clock.refine(moment.0, moment.1);
        }
        index
    }

    /// Takes the facts of a session block. The first one that can be read counts; the others repeat it.
    pub(crate) fn session_block(&mut self, at: u64, header: &Header, payload: &[u8]) {
        let index = self.session(header);
        let (facts, wrong) = Facts::read(payload);
        let session = &mut self.sessions[index];
        if session.declared && !session.facts.is_empty() {
            return;
        }
        session.clock = match facts.text("clock") {
            Some("os") => Clock::nanoseconds(header.base_ticks, header.base_wall),
            _ => {
                let per_second = facts.number("ticks_per_second").unwrap_or(0);
                Clock::ticks(header.base_ticks, header.base_wall, per_second)
            }
        };
        let (ticks, wall) = self.moments[index].farthest;
        session.clock.refine_farthest(ticks, wall);
        session.declared = true;
        session.facts = facts;
        self.unreadable(at, "session block", wrong);
    }

    /// Takes the facts of a thread block; the latest of a thread count.
    pub(crate) fn thread_block(&mut self, at: u64, header: &Header, payload: &[u8]) {
        let index = self.session(header);
        let (facts, wrong) = Facts::read(payload);
        self.sessions[index].threads.insert(header.thread, facts);
        self.unreadable(at, "thread block", wrong);
    }

    /// Takes the registry of a registry block, unless it is known.
    pub(crate) fn registry_block(&mut self, at: u64, header: &Header, payload: &[u8], filter: &Filter) {
        self.session(header);
        if self.registry_ids.contains_key(&header.registry) {
            return;
        }
        let parsed = match std::str::from_utf8(payload) {
            Ok(text) => parse_embedded(text).map_err(|invalid| invalid.render("registry", text)),
            Err(_) => Err("not UTF-8".to_string()),
        };
        match parsed {
            Ok(registry) => self.add_registry(header.registry, registry, Some(at), filter),
            Err(why) => self.unreadable(at, "registry block", Some(why)),
        }
    }

    /// Adds a registry, unless one of its fingerprint is known.
    pub(crate) fn add_registry(
        &mut self,
        fingerprint: u64,
        registry: Registry,
        at: Option<u64>,
        filter: &Filter,
    ) {
        let registries = &mut self.registries;
        self.registry_ids.entry(fingerprint).or_insert_with(|| {
            registries.push(KnownRegistry::new(fingerprint, registry, at, filter));
            registries.len() - 1
        });
    }

    /// Index of the registry of a fingerprint.
    pub(crate) fn registry(&self, fingerprint: u64) -> Option<usize> {
        self.registry_ids.get(&fingerprint).copied()
    }

    /// Ends the look ahead: time of a session without a session block counts from its earliest block.
    pub(crate) fn settle(&mut self) {
        for (session, moments) in self.sessions.iter_mut().zip(&self.moments) {
            if !session.declared {
                session.clock = Clock::ticks(moments.earliest.0, moments.earliest.1, 0);
                session.clock.refine_farthest(moments.farthest.0, moments.farthest.1);
            }
        }
    }

    fn unreadable(&mut self, at: u64, what: &str, wrong: Option<String>) {
        if let Some(why) = wrong
            && self.unreadable.len() < crate::completeness::MAX_LISTED
        {
            self.unreadable.push((at, format!("{what}: {why}")));
        }
    }
}
