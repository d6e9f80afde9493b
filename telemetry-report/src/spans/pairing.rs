//! Pairs the events that begin and end spans.

mod carried;

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use telemetry_decode::{Event, EventBatch, Registry, Value};

use super::earlier::Earlier;
use super::emissions::Emissions;
use super::found::{End, Found, Which};
use super::identity::Identity;
use super::nesting::{Nesting, Place, Placed};
use super::paths::Paths;
use super::roles::{Def, Role, may_have_role, roles as roles_of};
use crate::figures::keyed::PerEvent;

/// Pairs begins and ends of all sessions, whose events come by time.
pub struct Pairing {
    /// The maximum of open spans.
    most: usize,
    /// Bytes of the keys of open spans, as far as they are strings.
    texts: usize,
    /// The names of wanted spans; empty for all.
    names: Vec<String>,
    /// True if the names of spans show no sensitive values. Set it before the first event.
    pub hides_sensitive: bool,
    pub defs: Vec<Def>,
    /// Spans with a value behind their name, by the span and the value.
    detailed: HashMap<u32, HashMap<Box<str>, u32>>,
    roles: PerEvent<Arc<[Role]>>,
    /// Open spans and free places.
    open: Vec<Open>,
    free: Vec<u32>,
    /// The innermost open span of each identity.
    innermost: HashTable<u32>,
    hasher: DefaultHashBuilder,
    threads: HashMap<(u64, u32), Thread>,
    oldest: u32,
    newest: u32,
    earlier: Earlier,
    pub emissions: Emissions,
    pub paths: Paths,
    mark: Option<Mark>,
    nesting: Nesting,
    /// Number of events so far that began or ended spans.
    events: u64,
}

/// Says something about an event.
type Mark = Box<dyn FnMut(&Event<'_>) -> u64 + Send>;

struct Open {
    identity: Identity,
    /// Index into `defs`: that of its identity, or of the span with the value behind its name.
    def: u32,
    begin: End,
    self_ns: i64,
    path: u32,
    row: u8,
    /// Its neighbors by time of the begin: on the thread, with its identity, and among all.
    thread: Links,
    same: Links,
    all: Links,
}

/// What an event does to a span.
pub struct Step {
    pub at: End,
    is_end: bool,
    def: u32,
    identity: Identity,
}

#[derive(Clone, Copy)]
struct Links {
    before: u32,
    behind: u32,
}

/// Stands for no open span.
const NONE: u32 = u32::MAX;

/// The maximum of bytes in the keys of open spans.
const MAX_TEXTS: usize = 32 << 20;

struct Thread {
    /// The open span that the thread began last.
    innermost: u32,
    /// The time up to which spans got their share.
    until_ns: i64,
    /// Bits of the rows of open spans.
    rows: u64,
}

/// The maximum of spans with a value behind their name, each of which has tables of its own.
const MAX_DETAILED: usize = 1000;

/// The maximum of bytes in such a value.
const MAX_DETAIL: usize = 256;

/// The maximum of inner spans that get another path when an outer one ends before them.
const MAX_MOVED: usize = 32;

impl Pairing {
    /// Pairs spans with these names, or all. With `is_net`, subtracts the time of emissions.
    pub fn new(most: usize, names: &[String], is_net: bool) -> Pairing {
        Pairing {
            most: most.clamp(1, NONE as usize),
            texts: 0,
            names: names.to_vec(),
            hides_sensitive: false,
            defs: Vec::new(),
            detailed: HashMap::new(),
            roles: PerEvent::default(),
            open: Vec::new(),
            free: Vec::new(),
            innermost: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            threads: HashMap::new(),
            oldest: NONE,
            newest: NONE,
            earlier: Earlier::default(),
            emissions: Emissions::new(is_net),
            paths: Paths::default(),
            mark: None,
            nesting: Nesting::default(),
            events: 0,
        }
    }

    /// Sets what the caller notes about begins and ends of spans, in [`End::marks`].
    pub fn mark_by(&mut self, mark: impl FnMut(&Event<'_>) -> u64 + Send + 'static) {
        self.mark = Some(Box::new(mark));
    }

    /// Decides the places of spans from now on.
    pub fn keep_places(&mut self) {
        self.nesting.keep();
    }

    /// Returns true if pairing needs the events of a type. The others change nothing.
    pub fn needs(&self, registry: &Registry, event: usize) -> bool {
        self.emissions.is_wanted() || may_have_role(registry, event)
    }

    /// Takes an event, and appends what it completes or contradicts. Returns true if it begins a
    /// span that stops the program.
    pub fn take(&mut self, event: &Event<'_>, found: &mut Vec<Found>) -> bool {
        let (names, hides, defs) = (&self.names, self.hides_sensitive, &mut self.defs);
        let roles = self.roles.get(event, |event| roles_of(event, names, hides, defs).into());
        if roles.is_empty() {
            self.emissions.take(event);
            return false;
        }
        let roles = Arc::clone(roles);
        self.apply_earlier(event.ticks(), found);
        let at = self.end_of(event);
        for role in &*roles {
            let step = self.step(role, event, at);
            self.apply(step, found);
        }
        self.emissions.take(event);
        if !self.names.is_empty() {
            found.retain(|found| self.defs[found.def()].is_wanted);
        }
        roles.iter().any(|role| role.begins_pause)
    }

    /// Visits what events do to spans, for a caller that sorts it by time. Emissions are not
    /// subtracted.
    pub fn steps(&mut self, batch: &EventBatch<'_>, mut visit: impl FnMut(Step)) {
        for row in batch.rows() {
            let roles = &self.roles.of_registry(batch.known_registry())[row.index as usize];
            if roles.as_ref().is_some_and(|roles| roles.is_empty()) {
                continue;
            }
            let event = batch.event(&row);
            let (names, hides, defs) = (&self.names, self.hides_sensitive, &mut self.defs);
            let roles =
                Arc::clone(self.roles.get(&event, |event| roles_of(event, names, hides, defs).into()));
            if roles.is_empty() {
                continue;
            }
            let at = self.end_of(&event);
            roles.iter().for_each(|role| visit(self.step(role, &event, at)));
        }
    }

    /// Does what an event does to a span. Steps of a session come by time.
    pub fn apply(&mut self, step: Step, found: &mut Vec<Found>) {
        match step.is_end {
            true => self.end(step.identity, step.at, found),
            false => self.begin(step.identity, step.def, step.at, found),
        }
    }

    fn step(&mut self, role: &Role, event: &Event<'_>, at: End) -> Step {
        let identity = Identity::new(role, event);
        let def = role.named_by.filter(|_| !role.is_end).map(|param| match role.hidden {
            Some(text) => self.detailed(role.def, text.into()),
            None => self.named(role.def, event, param),
        });
        Step { at, is_end: role.is_end, def: def.unwrap_or(role.def), identity }
    }

    fn end_of(&mut self, event: &Event<'_>) -> End {
        self.events += 1;
        End {
            thread: event.thread(),
            ns: event.time_ns(),
            spent_ns: self.emissions.spent_ns(event.session().id, event.thread()),
            ticks: event.ticks(),
            offset: event.offset(),
            marks: self.mark.as_mut().map_or(0, |mark| mark(event)),
            number: self.events,
        }
    }

    /// Returns the path of the innermost span that is open on a thread, if one is.
    pub fn path_on(&self, session: u64, thread: u32) -> Option<u32> {
        let thread = self.threads.get(&(session, thread))?;
        self.open.get(thread.innermost as usize).map(|open| open.path)
    }

    /// Returns the number of spans that an event begins: inside, `None` if it also ends none;
    /// outside, `None` if no event of its type was taken yet.
    #[inline]
    pub fn begins_of(&mut self, event: &Event<'_>) -> Option<Option<u32>> {
        let roles = self.roles.of_registry(event.known_registry())[event.index()].as_ref()?;
        if roles.is_empty() {
            return Some(None);
        }
        Some(Some(roles.iter().filter(|role| !role.is_end).count() as u32))
    }

    /// Returns the number of the last event that began or ended spans, as in [`End::number`].
    pub fn number(&self) -> u64 {
        self.events
    }

    /// Takes some events, as [`Pairing::take`] does.
    pub fn take_batch(&mut self, batch: &EventBatch<'_>, found: &mut Vec<Found>) {
        for row in batch.rows() {
            // Most events are no ends of spans.
            let roles = &self.roles.of_registry(batch.known_registry())[row.index as usize];
            if self.emissions.is_wanted() || roles.as_ref().is_none_or(|roles| !roles.is_empty()) {
                self.take(&batch.event(&row), found);
            }
        }
    }

    /// Returns true if another span can only be opened after the oldest is dropped.
    fn is_full(&self) -> bool {
        let open = self.open.len() - self.free.len();
        open > 0 && (open >= self.most || self.texts >= MAX_TEXTS)
    }

    /// Returns the span with the value of a parameter behind its name, as an index into `defs`.
    fn named(&mut self, def: u32, event: &Event<'_>, param: usize) -> u32 {
        let Some(value) = event.value(param) else { return def };
        let text = match value {
            Value::Label(number) => event.label(number).map(Cow::Borrowed),
            Value::String(text) => Some(text.to_string().into()),
            value => Some(value.to_string().into()),
        };
        text.map_or(def, |text| self.detailed(def, text))
    }

    fn detailed(&mut self, def: u32, text: Cow<'_, str>) -> u32 {
        if let Some(index) = self.detailed.get(&def).and_then(|of_span| of_span.get(&*text)) {
            return *index;
        }
        let known: usize = self.detailed.values().map(HashMap::len).sum();
        if known >= MAX_DETAILED || text.len() > MAX_DETAIL {
            return def;
        }
        let index = self.defs.len() as u32;
        self.defs.push(self.defs[def as usize].with_detail(&text));
        self.detailed.entry(def).or_default().insert(text.into(), index);
        index
    }

    fn begin(&mut self, identity: Identity, def: u32, at: End, found: &mut Vec<Found>) {
        while self.is_full() {
            let (which, begin, _) = self.remove(self.oldest);
            found.push(Found::Dropped(which, begin));
        }
        let hash = self.hasher.hash_one(&identity);
        let outer = match self.find(hash, &identity) {
            // An open span with a key has a unique identity.
            Some(outer) if identity.thread.is_none() => {
                let (which, begin, _) = self.remove(outer);
                found.push(Found::NoEnd(which, begin, Place::Apart));
                None
            }
            outer => outer,
        };
        self.account(identity.session, at.thread, at.net_ns());
        let thread = self.threads.entry((identity.session, at.thread)).or_insert(Thread::at(at.net_ns()));
        let (session, before) = (identity.session, thread.innermost);
        // The lowest free row; spans beyond the last share it.
        let row = thread.rows.trailing_ones().min(u64::BITS - 1);
        thread.rows |= 1 << row;
        self.texts += identity.key.text_len();
        let outside = self.open.get(before as usize).map_or(NONE, |open| open.path);
        let open = Open {
            path: self.paths.of(outside, def),
            row: row as u8,
            identity,
            def,
            begin: at,
            self_ns: 0,
            thread: Links { before, behind: NONE },
            same: Links { before: outer.unwrap_or(NONE), behind: NONE },
            all: Links { before: self.newest, behind: NONE },
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.open[index as usize] = open;
                index
            }
            None => {
                self.open.push(open);
                self.open.len() as u32 - 1
            }
        };
        let has_key = self.open[index as usize].identity.thread.is_none();
        self.nesting.begin(index, (session, at.thread), at.ns, has_key);
        if let Some(thread) = self.threads.get_mut(&(session, at.thread)) {
            thread.innermost = index;
        }
        if before != NONE {
            self.open[before as usize].thread.behind = index;
        }
        match self.newest {
            NONE => self.oldest = index,
            newest => self.open[newest as usize].all.behind = index,
        }
        self.newest = index;
        match outer {
            Some(outer) => {
                self.open[outer as usize].same.behind = index;
                if let Ok(entry) = self.innermost.find_entry(hash, |known| *known == outer) {
                    *entry.into_mut() = index;
                }
            }
            None => {
                let (open, hasher) = (&self.open, &self.hasher);
                self.innermost
                    .insert_unique(hash, index, |index| hasher.hash_one(&open[*index as usize].identity));
            }
        }
    }

    fn end(&mut self, identity: Identity, at: End, found: &mut Vec<Found>) {
        let Some(index) = self.find(self.hasher.hash_one(&identity), &identity) else {
            let def = identity.def;
            return found.extend(self.earlier.keep(identity.which(def), at));
        };
        let began_on = self.open[index as usize].begin.thread;
        let end = End { spent_ns: self.emissions.spent_ns(identity.session, began_on), ..at };
        self.account(identity.session, began_on, end.net_ns());
        let Open { path, row, .. } = self.open[index as usize];
        let Placed { place, tell } = self.nesting.end(index, at.thread);
        if let Some(outer) = tell.and_then(|outer| self.open.get(outer as usize)) {
            found.push(Found::Begun(outer.identity.clone().which(outer.def), outer.begin));
        }
        let (which, begin, self_ns) = self.remove(index);
        // Events may come faster than their measured cost.
        let self_ns = if end.spent_ns == 0 { self_ns } else { self_ns.min(end.since(&begin)) };
        found.push(Found::Whole { which, begin, end, self_ns, path, row, place });
    }

    /// Finds the innermost open span of an identity.
    fn find(&self, hash: u64, identity: &Identity) -> Option<u32> {
        self.innermost.find(hash, |index| self.open[*index as usize].identity == *identity).copied()
    }

    /// Adds the time since the last event to the innermost open span of a thread.
    fn account(&mut self, session: u64, thread: u32, ns: i64) {
        let Some(thread) = self.threads.get_mut(&(session, thread)) else { return };
        if let Some(open) = self.open.get_mut(thread.innermost as usize) {
            open.self_ns = open.self_ns.saturating_add(ns.saturating_sub(thread.until_ns).max(0));
        }
        thread.until_ns = thread.until_ns.max(ns);
    }

    /// Removes an open span from all lists.
    fn remove(&mut self, index: u32) -> (Which, End, i64) {
        let Open { def, begin, self_ns, row, thread, same, all, .. } = self.open[index as usize];
        if same.behind == NONE {
            let hash = self.hasher.hash_one(&self.open[index as usize].identity);
            if let Ok(entry) = self.innermost.find_entry(hash, |known| *known == index) {
                match same.before {
                    NONE => drop(entry.remove()),
                    before => *entry.into_mut() = before,
                }
            }
        }
        // A free place must not keep a string.
        let identity = std::mem::replace(&mut self.open[index as usize].identity, Identity::FREE);
        self.texts -= identity.key.text_len();
        let of_thread = self.threads.get_mut(&(identity.session, begin.thread));
        if let Some(of_thread) = of_thread {
            of_thread.rows &= !(1 << row);
            if of_thread.innermost == index {
                of_thread.innermost = thread.before;
            }
        }
        if self.oldest == index {
            self.oldest = all.behind;
        }
        if self.newest == index {
            self.newest = all.before;
        }
        for (links, select) in [(thread, thread_links as Select), (same, same_links), (all, all_links)] {
            if let Some(before) = self.open.get_mut(links.before as usize) {
                select(before).behind = links.behind;
            }
            if let Some(behind) = self.open.get_mut(links.behind as usize) {
                select(behind).before = links.before;
            }
        }
        self.nesting.remove(index);
        self.free.push(index);
        self.move_out(thread.behind);
        (identity.which(def), begin, self_ns)
    }

    /// Gives new paths to spans that are open after the span around them ended.
    fn move_out(&mut self, first: u32) {
        let mut at = first;
        for _ in 0..MAX_MOVED {
            let Some(open) = self.open.get(at as usize) else { return };
            let (behind, def) = (open.thread.behind, open.def);
            let outside = self.open.get(open.thread.before as usize).map_or(NONE, |open| open.path);
            self.open[at as usize].path = self.paths.of(outside, def);
            at = behind;
        }
    }
}

type Select = fn(&mut Open) -> &mut Links;

fn thread_links(open: &mut Open) -> &mut Links {
    &mut open.thread
}

fn same_links(open: &mut Open) -> &mut Links {
    &mut open.same
}

fn all_links(open: &mut Open) -> &mut Links {
    &mut open.all
}

impl Thread {
    fn at(ns: i64) -> Thread {
        Thread { innermost: NONE, until_ns: ns, rows: 0 }
    }
}
