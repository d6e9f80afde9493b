//! The sessions and registries of a stream, as far as it was read.

use std::borrow::Cow;
use std::collections::HashMap;

use telemetry_format::{BlockType, Header, flags};
use telemetry_schema::{Registry, parse_embedded};

use super::name_lane::NameLane;
use crate::bytes::compression::unpack;
use crate::registry::filter::Filter;
use crate::registry::known_registry::KnownRegistry;
use crate::report::completeness::{MAX_LISTED, Reason};
use crate::sessions::clock::Clock;
use crate::sessions::facts::Facts;
use crate::sessions::labels;
use crate::sessions::marks::{KnownRegistries, take_names};
use crate::sessions::session::Session;
use crate::sessions::texts::{self, Text, Texts};

/// The sessions and registries of a stream, as far as it was read.
pub(crate) struct StreamState {
    pub(crate) sessions: Vec<Session>,
    pub(crate) registries: Vec<KnownRegistry>,
    /// Unreadable blocks: byte offset and reason.
    unreadable: Vec<(u64, String)>,
    pub(super) texts: Texts,
    /// By session: its facts are from a whole text.
    whole: Vec<bool>,
    moments: Vec<Moments>,
    /// By session: the number of events given to the stream, from sync blocks; 0 is unknown.
    pub(crate) given: Vec<u64>,
    name_lanes: HashMap<u32, NameLane>,
    /// Memory left for names.
    name_room: usize,
    /// Memory left for facts, and for registries.
    facts_room: usize,
    registries_room: usize,
    /// Returns newer versions of registries.
    known_registries: KnownRegistries,
    /// Registries from the caller with marks `names`.
    marked: Vec<Registry>,
    session_ids: HashMap<u64, usize>,
    registry_ids: HashMap<u64, usize>,
    pub(super) hiding: Hiding,
    /// The whole stream is scanned before its times are used.
    looks_ahead: bool,
}

/// The maximum length of the facts of a session or a thread, and of the text of a registry.
const MAX_FACTS: usize = 1 << 20;
const MAX_REGISTRY: usize = 4 << 20;

/// The memory limits for all facts, and all registries. Blocks beyond them are skipped.
const MAX_ALL_FACTS: usize = 32 << 20;
const MAX_ALL_REGISTRIES: usize = 48 << 20;

/// The memory of a registry per byte of its text, and the minimum for a short one.
const REGISTRY_TIMES: usize = 6;
const MIN_REGISTRY_SIZE: usize = 4 << 10;

/// Whether the values of sensitive parameters are hidden.
#[derive(Clone, Default)]
pub(super) struct Hiding {
    /// The reader's filter, if it hides them.
    hides: Option<Filter>,
    /// By session: whether all its blocks say that it is scrubbed; none if there is no such block.
    scrubbed: Vec<Option<bool>>,
    /// The number of sessions that do not say so.
    unscrubbed: usize,
    /// [`Hiding::is_over`], as the registries follow it.
    was_over: bool,
    /// The number of times that it changed. It has a limit, because registries are made again each
    /// time.
    changes: u32,
    /// A sensitive parameter stands for labels, or one of a later registry may.
    has_labels: bool,
    /// A registry was added, or what is hidden has changed, since the condition was last accepted.
    pub(super) has_news: bool,
    /// The session of which a text has begun that is in several parts.
    begun: Option<usize>,
}

/// The beginning of the line of the fact in a session block.
const SCRUBBED_LINE: &[u8] = b"scrubbed = ";

/// The most changes from hiding to showing and back. Then values stay hidden.
const MAX_CHANGES: u32 = 16;

impl Hiding {
    /// Returns true if nothing needs to be hidden: all sessions, at least one, are scrubbed.
    fn is_over(&self) -> bool {
        self.unscrubbed == 0 && self.changes < MAX_CHANGES
    }

    /// Takes a session block. Copies of a session that are not scrubbed may be beside one that is.
    fn session_block(&mut self, session: usize, header: &Header, payload: &[u8]) {
        if self.begun.is_some_and(|begun| begun != session) {
            self.is_cut();
        }
        // The fact is in the last part of a text.
        if header.flags & flags::LAST == 0 {
            self.begun = Some(session);
            return;
        }
        self.begun = None;
        let says = payload.split(|byte| *byte == b'\n').any(|line| line.starts_with(SCRUBBED_LINE));
        self.decide(session, says);
    }

    /// Takes that a text has no last part, and so no fact. Returns true if one had begun.
    fn is_cut(&mut self) -> bool {
        let begun = self.begun.take();
        begun.into_iter().for_each(|session| self.decide(session, false));
        begun.is_some()
    }

    /// Takes whether a block of a session says that it is scrubbed.
    fn decide(&mut self, session: usize, says: bool) {
        self.scrubbed.resize(self.scrubbed.len().max(session + 1), None);
        match (&mut self.scrubbed[session], says) {
            (before @ None, true) => {
                *before = Some(true);
                self.unscrubbed = self.unscrubbed.saturating_sub(1);
            }
            (before @ Some(true), false) => {
                *before = Some(false);
                self.unscrubbed += 1;
            }
            (before @ None, false) => *before = Some(false),
            (Some(_), _) => {}
        }
    }

    fn hides_labels(&self) -> bool {
        self.has_labels && self.hides.is_some() && !self.was_over
    }

    /// Returns the filter with which registries are read now.
    pub(super) fn filter(&self, filter: &Filter) -> Filter {
        Filter { hides_sensitive: filter.hides_sensitive && !self.was_over, ..filter.clone() }
    }
}

/// Pairs of clock readings of a session's blocks: ticks, and nanoseconds since 1970.
#[derive(Clone, Copy)]
struct Moments {
    earliest: (u64, u64),
    farthest: (u64, u64),
}

impl StreamState {
    pub(crate) fn new(looks_ahead: bool, known_registries: KnownRegistries) -> StreamState {
        StreamState {
            sessions: Vec::new(),
            registries: Vec::new(),
            unreadable: Vec::new(),
            texts: Texts::default(),
            whole: Vec::new(),
            moments: Vec::new(),
            given: Vec::new(),
            name_lanes: HashMap::new(),
            name_room: labels::MAX_NAMES_LEN,
            facts_room: MAX_ALL_FACTS,
            registries_room: MAX_ALL_REGISTRIES,
            known_registries,
            marked: Vec::new(),
            session_ids: HashMap::new(),
            registry_ids: HashMap::new(),
            hiding: Hiding::default(),
            looks_ahead,
        }
    }

    /// Returns the sessions and registries for another decoder of the same stream.
    pub(crate) fn fork(&self) -> StreamState {
        StreamState {
            sessions: self.sessions.clone(),
            registries: self.registries.clone(),
            whole: self.whole.clone(),
            moments: self.moments.clone(),
            given: self.given.clone(),
            session_ids: self.session_ids.clone(),
            registry_ids: self.registry_ids.clone(),
            hiding: self.hiding.clone(),
            ..StreamState::new(self.looks_ahead, self.known_registries)
        }
    }

    /// Returns a session of which a block was found.
    pub(crate) fn known_session(&self, id: u64) -> Option<&Session> {
        self.session_ids.get(&id).map(|index| &self.sessions[*index])
    }

    /// Returns the session of a block, and creates it if needed. Takes the block's clock readings.
    pub(crate) fn session(&mut self, header: &Header) -> usize {
        let moment = (header.base_ticks, header.base_wall);
        let known = self.sessions.len();
        let index = *self.session_ids.entry(header.session).or_insert_with(|| {
            let clock = Clock::ticks(moment.0, moment.1, 0);
            let mut session = Session::new(header.session, Facts::default(), clock);
            session.declared = false;
            session.labels.set_unlisted(self.hiding.hides_labels());
            self.sessions.push(session);
            self.moments.push(Moments { earliest: moment, farthest: moment });
            self.given.push(0);
            self.whole.push(false);
            self.sessions.len() - 1
        });
        if self.sessions.len() > known {
            self.hiding.unscrubbed += 1;
            // A session block says in a moment whether the session is scrubbed.
            if header.block_type != BlockType::Session {
                self.hide_again();
            }
        }
        if header.block_type != BlockType::Session && self.hiding.is_cut() {
            self.hide_again();
        }
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

    /// Takes the counts of a sync block.
    pub(crate) fn sync_block(&mut self, header: &Header) {
        let index = self.session(header);
        self.given[index] = self.given[index].max(header.before);
    }

    /// Takes a block of text that cannot be decompressed.
    pub(crate) fn not_unpacked(&mut self, at: u64, header: &Header, why: &Reason) {
        self.session(header);
        // It may be that of a session, and does not say that the session is scrubbed.
        self.hide_again();
        self.not_understood(at, header, true, Some(why.to_string()));
    }

    /// Takes the facts of a session block. The first readable whole text counts, and the others
    /// repeat it.
    pub(crate) fn session_block(&mut self, at: u64, header: &Header, payload: &[u8]) {
        let index = self.session(header);
        self.hiding.session_block(index, header, payload);
        self.hide_again();
        let (text, is_whole) = match self.texts.take(at, header, payload) {
            Text::Part => return,
            Text::Beginning(text) => (Cow::Borrowed(text), false),
            Text::Whole(text) => (text, true),
        };
        let session = &mut self.sessions[index];
        let is_better = is_whole && !self.whole[index];
        if session.declared && !session.facts.is_empty() && !is_better {
            return session.repeat(&text, is_whole);
        }
        let (facts, wrong) = read_facts(&text, session.facts.room(), &mut self.facts_room);
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
        self.whole[index] |= is_whole;
        self.not_understood(at, header, is_whole, wrong);
    }

    /// Takes the facts of a thread block. The latest facts of a thread count.
    pub(crate) fn thread_block(&mut self, at: u64, header: &Header, payload: &[u8]) {
        let index = self.session(header);
        let (text, is_whole) = match self.texts.take(at, header, payload) {
            Text::Part => return,
            Text::Beginning(text) => (Cow::Borrowed(text), false),
            Text::Whole(text) => (text, true),
        };
        let session = &mut self.sessions[index];
        let before = session.threads().get(&header.thread).map_or(0, Facts::room);
        let (facts, wrong) = read_facts(&text, before, &mut self.facts_room);
        if wrong.is_none() || !facts.is_empty() {
            session.set_thread(header.thread, facts);
        }
        self.not_understood(at, header, is_whole, wrong);
    }

    /// Takes the registry of a registry block. It replaces one from the caller. Units and docs,
    /// which the fingerprint does not cover, are then those of the program. Of a registry that is
    /// known already, only stricter marks of sensitive parameters are taken.
    pub(crate) fn registry_block(&mut self, at: u64, header: &Header, payload: &[u8], filter: &Filter) {
        self.session(header);
        let known = self.registry(header.registry);
        let (text, is_whole) = match self.texts.take(at, header, payload) {
            Text::Part => return,
            Text::Beginning(text) => (Cow::Borrowed(text), false),
            Text::Whole(text) => (text, true),
        };
        if let Some(index) = known.filter(|index| self.registries[*index].at.is_some()) {
            return self.registry_again(index, header, &text, filter);
        }
        let room = text.len().saturating_mul(REGISTRY_TIMES) + MIN_REGISTRY_SIZE;
        let read = match self.registries_room.checked_sub(room).filter(|_| text.len() <= MAX_REGISTRY) {
            Some(_) => read_registry(header.registry, &text),
            None => Err(format!(
                "a text of {} bytes, expected at most {MAX_REGISTRY}, and {MAX_ALL_REGISTRIES} of memory for all",
                text.len()
            )),
        };
        match read {
            Ok(mut registry) => {
                self.registries_room -= room;
                self.texts.forget(header);
                self.mark(&mut registry);
                if let Some(index) = known {
                    registry.take_sensitive(self.registries[index].recorded());
                }
                let text = crc32c::crc32c(&text);
                let filter = self.hiding.filter(filter);
                let mut new = KnownRegistry::new(header.registry, registry, Some(at), &filter);
                new.text = text;
                self.add(new, &filter);
            }
            Err(why) => self.not_understood(at, header, is_whole, Some(why)),
        }
    }

    /// Returns true if a lane has events that give names, or that tell what limits left out.
    pub(crate) fn has_names(&self, registry: u64, kind: u8) -> bool {
        let Some(known) = self.registry(registry).map(|index| &self.registries[index]) else { return false };
        known.namings.has_kind(kind) || known.left_out.is_some_and(|places| places.kind == kind)
    }

    /// Takes the names of a part of a lane that [`StreamState::has_names`].
    pub(crate) fn names_block(&mut self, lane: u32, header: &Header, payload: &[u8]) {
        let session = self.session(header);
        let Some(registry) = self.registry(header.registry) else { return };
        let Ok((header, payload)) = unpack(header, payload) else { return };
        let (registry, session) = (&self.registries[registry], &mut self.sessions[session]);
        let reader = self.name_lanes.entry(lane).or_default();
        reader.read(registry, &header, &payload, session, &mut self.name_room);
    }

    /// Adds a registry from the caller, unless one with its fingerprint is known. Returns the
    /// fingerprint.
    pub(crate) fn add_registry(&mut self, mut registry: Registry, filter: &Filter) -> u64 {
        let fingerprint = registry.fingerprint();
        self.mark(&mut registry);
        if registry.gives_names() {
            self.marked.push(registry.clone());
        }
        if self.registry(fingerprint).is_none() {
            let filter = self.hiding.filter(filter);
            self.add(KnownRegistry::new(fingerprint, registry, None, &filter), &filter);
        }
        fingerprint
    }

    /// Adds a session that was not read from a stream. If its id is taken, it gets another one.
    pub(crate) fn add_session(&mut self, mut session: Session) {
        while self.session_ids.contains_key(&session.id) {
            session.id = session.id.wrapping_add(1);
        }
        let moment = (session.clock.start_ticks(), session.clock.start_wall());
        self.session_ids.insert(session.id, self.sessions.len());
        self.moments.push(Moments { earliest: moment, farthest: moment });
        self.given.push(0);
        self.whole.push(true);
        self.sessions.push(session);
    }

    /// Adds marks `names` of a later version to a registry without any.
    fn mark(&self, registry: &mut Registry) {
        self.marked.iter().for_each(|later| registry.take_names(later));
        take_names(registry, self.known_registries);
    }

    /// Adds a registry, or replaces one from the caller.
    pub(super) fn add(&mut self, registry: KnownRegistry, filter: &Filter) {
        self.hiding.has_labels |= registry.has_sensitive_labels;
        self.hiding.has_news = true;
        match self.registry(registry.fingerprint) {
            Some(index) => self.registries[index] = registry,
            None => {
                self.registry_ids.insert(registry.fingerprint, self.registries.len());
                self.registries.push(registry);
            }
        }
        if self.hiding.has_labels {
            self.hide_labels(filter);
        }
    }

    /// Lets only events that refer to a label show it, if it may be sensitive.
    fn hide_labels(&mut self, filter: &Filter) {
        let hides = self.hiding.hides_labels();
        if hides {
            self.registries.iter_mut().for_each(|known| known.hide_interned(filter));
        }
        self.sessions.iter_mut().for_each(|session| session.labels.set_unlisted(hides));
    }

    /// Sets the filter of a reader that hides sensitive values.
    pub(crate) fn hide(&mut self, filter: &Filter) {
        self.hiding.hides = Some(filter.clone()).filter(|filter| filter.hides_sensitive);
        self.hiding.has_labels = filter.hides_labels;
    }

    /// Hides sensitive values, or shows them, after a session became known.
    fn hide_again(&mut self) {
        let Some(filter) = &self.hiding.hides else { return };
        let is_over = self.hiding.is_over();
        if is_over == self.hiding.was_over {
            return;
        }
        (self.hiding.was_over, self.hiding.has_news) = (is_over, true);
        self.hiding.changes += 1;
        let filter = self.hiding.filter(filter);
        self.registries.iter_mut().for_each(|known| known.hide_again(&filter));
        self.hide_labels(&filter);
    }

    /// Returns the index of a registry by its fingerprint.
    pub(crate) fn registry(&self, fingerprint: u64) -> Option<usize> {
        self.registry_ids.get(&fingerprint).copied()
    }

    /// Ends the scan. Time of a session without a session block then counts from its earliest
    /// block.
    pub(crate) fn settle(&mut self) {
        for (session, moments) in self.sessions.iter_mut().zip(&self.moments) {
            if !session.declared {
                session.clock = Clock::ticks(moments.earliest.0, moments.earliest.1, 0);
                session.clock.refine_farthest(moments.farthest.0, moments.farthest.1);
            }
        }
    }

    /// Returns all unreadable blocks of text, including incomplete texts.
    pub(crate) fn all_unreadable(&self) -> Vec<(u64, String)> {
        let incomplete = self.texts.incomplete(|registry| self.registry(registry).is_some());
        let mut all: Vec<_> = self.unreadable.iter().cloned().chain(incomplete).collect();
        all.sort();
        all.truncate(MAX_LISTED);
        all
    }

    /// Stores the error in a text. If more parts may come, it only counts if none do.
    fn not_understood(&mut self, at: u64, header: &Header, is_whole: bool, wrong: Option<String>) {
        match wrong {
            Some(why) if !is_whole => self.texts.note(header, why),
            Some(why) if self.unreadable.len() < MAX_LISTED => {
                self.unreadable.push((at, format!("{}: {why}", texts::name(header.block_type))));
            }
            _ => {}
        }
    }
}

/// Reads facts that replace others, whose memory is returned to `room`.
fn read_facts(text: &[u8], before: usize, room: &mut usize) -> (Facts, Option<String>) {
    if text.len() > MAX_FACTS {
        let why = format!("{} bytes of facts, expected at most {MAX_FACTS}", text.len());
        return (Facts::default(), Some(why));
    }
    let (facts, wrong) = Facts::read(text);
    let left = *room + before;
    match left.checked_sub(facts.room()) {
        Some(left) => *room = left,
        None => {
            *room = left;
            let why = format!("facts take more than {MAX_ALL_FACTS} bytes of memory with those before");
            return (Facts::default(), Some(why));
        }
    }
    (facts, wrong)
}

/// Reads the text of a registry, and checks its fingerprint.
pub(super) fn read_registry(fingerprint: u64, text: &[u8]) -> Result<Registry, String> {
    let text = std::str::from_utf8(text).map_err(|_| "not UTF-8".to_string())?;
    let registry = parse_embedded(text).map_err(|invalid| invalid.render("registry", text))?;
    let found = registry.fingerprint();
    match found == fingerprint {
        true => Ok(registry),
        false => Err(format!("a text of fingerprint {found:016x}, expected {fingerprint:016x}")),
    }
}
