//! Checks the rules of all registries, event by event.

use std::collections::HashMap;
use std::sync::Arc;

use telemetry_format::own;
use telemetry_schema::{CounterPer, Registry, RuleForm};

use crate::checking::act::{Act, Scope, Step};
use crate::checking::found::{Broken, How, Moment};
use crate::checking::open::OpenSpans;
use crate::checking::roles::{Part, Role, has_role, roles};
use crate::checking::rule::{CheckedRule, LimitOf};
use crate::checking::switches::Switches;
use crate::checking::waiting::Waiting;
use crate::decode::event_batch::EventBatch;
use crate::registry::event::Event;
use crate::registry::known_registry::Kept;
use crate::registry::owned::OwnedEvent;
use crate::report::opaque::opaque;
use crate::sessions::left_out::EVENTS_LEFT_OUT;
use crate::values::key::Key;
use crate::values::value::Value;

/// The most bytes of keys that are strings.
const MAX_TEXTS: usize = 32 << 20;

/// Checks the rules of registries. Events of a session come in the order of time.
///
/// Memory is bounded: the number of events that wait and of spans that are open has a limit. Beyond
/// it, the oldest is forgotten and counted.
pub struct Checker {
    /// The most events that wait and spans that are open, over all rules.
    most: usize,
    kept: usize,
    texts: usize,
    rules: Vec<CheckedRule>,
    states: Vec<State>,
    registries: Vec<OfRegistry>,
    /// Index of the registry of the last event.
    last: usize,
    switches: Switches,
    /// Says which events come at all.
    followed: Option<Followed>,
    /// Limits did not hold when the events were emitted.
    is_unlimited: bool,
    /// The time of the latest event of each session.
    latest: HashMap<u64, i64>,
    /// Number of events that were given one by one.
    events: u64,
    /// Number of the last entry of a state.
    entries: u64,
}

opaque!(Checker, "Checker");

/// Says whether the events of a type come at all.
type Followed = Box<dyn Fn(&Registry, usize) -> bool + Send>;

struct OfRegistry {
    fingerprint: u64,
    kept: Arc<Kept>,
    /// By index of the event.
    roles: Vec<Vec<Role>>,
    /// The first of its rules.
    first: usize,
}

enum State {
    Waiting(Waiting),
    Open(OpenSpans),
}

impl Checker {
    /// Makes a checker that keeps at most `most` events that wait and spans that are open, about
    /// 300 bytes each.
    #[must_use]
    pub fn new(most: usize) -> Checker {
        Checker {
            most: most.max(1),
            kept: 0,
            texts: 0,
            rules: Vec::new(),
            states: Vec::new(),
            registries: Vec::new(),
            last: 0,
            switches: Switches::default(),
            followed: None,
            is_unlimited: false,
            latest: HashMap::new(),
            events: 0,
            entries: 0,
        }
    }

    /// Checks only the rules all of whose events are followed, by registry and index of the event.
    /// Must be called before the first event.
    pub fn check_only(&mut self, is_followed: impl Fn(&Registry, usize) -> bool + Send + 'static) {
        self.followed = Some(Box::new(is_followed));
    }

    /// Tells the checker that limits of the registries did not hold when the events were emitted,
    /// as in captures of tests. Must be called before the first event.
    pub fn ignore_limits(&mut self) {
        self.is_unlimited = true;
    }

    /// Tells the checker that switches and the words of the stream's sink leave out no event of the
    /// rules. The caller knows that they name all of these. Must be called before the first event.
    pub fn ignore_switches(&mut self) {
        self.switches.ignore_words();
    }

    /// Returns true if a check needs the events of a type. The others change nothing.
    pub fn needs(registry: &Registry, event: usize) -> bool {
        match registry.name == own::NAME {
            true => [CONTROL_CHANGE, EVENTS_LEFT_OUT].contains(&&*registry.events[event].name),
            false => has_role(registry, event),
        }
    }

    /// Returns the rules of the registries whose events came so far, and their counts.
    pub fn rules(&self) -> &[CheckedRule] {
        &self.rules
    }

    /// Takes an event, and appends what it breaks.
    pub fn take(&mut self, event: &Event<'_>, found: &mut Vec<Broken>) {
        self.events += 1;
        if let Some(step) = self.step(event) {
            self.apply(step, found);
        }
    }

    /// Takes an event with memory of its own, and appends what it breaks. Such events say
    /// nothing of switches and limits.
    pub fn take_owned(&mut self, event: &OwnedEvent, found: &mut Vec<Broken>) {
        self.events += 1;
        if event.registry().name == own::NAME {
            return;
        }
        let registry = self.registry(event.kept.fingerprint, || Arc::clone(&event.kept));
        if self.registries[registry].roles[event.index].is_empty() {
            return;
        }
        let at = Moment {
            thread: event.thread(),
            ns: event.time_ns(),
            ticks: event.ticks(),
            offset: event.offset(),
            number: self.events - 1,
        };
        let step = self.step_of((registry, event.index), event.session_id(), at, |index| event.value(index));
        self.apply(step, found);
    }

    /// Takes some events, and appends what they break.
    pub fn take_batch(&mut self, batch: &EventBatch<'_>, found: &mut Vec<Broken>) {
        let known = batch.known_registry();
        if known.registry.name != own::NAME && known.registry.rules.is_empty() {
            return;
        }
        for row in batch.rows() {
            if Checker::is_needed(self, batch, row.index as usize) {
                self.take(&batch.event(&row), found);
            }
        }
    }

    /// Visits what events do to rules, for a caller that sorts it by time.
    pub fn steps(&mut self, batch: &EventBatch<'_>, mut visit: impl FnMut(Step)) {
        for row in batch.rows() {
            if self.is_needed(batch, row.index as usize)
                && let Some(step) = self.step(&batch.event(&row))
            {
                visit(step);
            }
        }
    }

    /// Does what an event does to rules, and appends what it breaks. Steps of a session come by
    /// time.
    pub fn apply(&mut self, step: Step, found: &mut Vec<Broken>) {
        let Step { session, at, event, acts } = step;
        let latest = self.latest.entry(session).or_insert(at.ns);
        *latest = at.ns.max(*latest);
        self.switches.saw(session, event, at.ns);
        for act in acts {
            self.act(session, at, act, found);
        }
    }

    /// Appends what is overdue at a time of a session, each once: events that should have come
    /// before.
    pub fn overdue(&mut self, session: u64, ns: i64, found: &mut Vec<Broken>) {
        let Checker { rules, states, registries, switches, .. } = self;
        for (index, (rule, state)) in rules.iter().zip(states).enumerate() {
            let (RuleForm::Comes { within_ns: Some(within), .. }, State::Waiting(waiting)) =
                (rule.rule.form, state)
            else {
                continue;
            };
            let before = ns.saturating_sub_unsigned(within);
            waiting.overdue(session, before, |scope, first| {
                found.push(Broken {
                    rule: index,
                    session,
                    key: scope.key.clone(),
                    first,
                    second: None,
                    how: How::Overdue,
                    was_off: was_off(switches, registries, rule, session, first.ns, ns),
                    was_left_out: was_left_out(switches, registries, rule, session, ns),
                });
            });
        }
    }

    /// Appends what never came, at the end of all events. `has_ended` says whether a session ended
    /// in good order. If one did not, what was not overdue yet is not broken.
    pub fn finish(&mut self, has_ended: impl Fn(u64) -> bool, found: &mut Vec<Broken>) {
        let Checker { rules, states, registries, switches, latest, .. } = self;
        for (index, (rule, state)) in rules.iter().zip(states).enumerate() {
            let (RuleForm::Comes { within_ns, .. }, State::Waiting(waiting)) = (rule.rule.form, state) else {
                continue;
            };
            while let Some((Scope { session, key, .. }, first)) = waiting.take_oldest() {
                let last_ns = latest.get(&session).copied().unwrap_or(first.ns);
                let is_overdue =
                    within_ns.is_some_and(|within| last_ns > first.ns.saturating_add_unsigned(within));
                if has_ended(session) || is_overdue {
                    let was_off = was_off(switches, registries, rule, session, first.ns, i64::MAX);
                    let was_left_out = was_left_out(switches, registries, rule, session, i64::MAX);
                    let (second, how) = (None, How::Missing);
                    found.push(Broken {
                        rule: index,
                        session,
                        key,
                        first,
                        second,
                        how,
                        was_off,
                        was_left_out,
                    });
                }
            }
        }
        (self.kept, self.texts) = self.sums();
    }

    /// Returns true if the event of this index has a role, or changes switches.
    fn is_needed(&mut self, batch: &EventBatch<'_>, event: usize) -> bool {
        let known = batch.known_registry();
        if known.registry.name == own::NAME {
            return Checker::needs(&known.registry, event);
        }
        let registry = self.registry(known.fingerprint, || known.kept());
        !self.registries[registry].roles[event].is_empty()
    }

    /// Returns what an event does to rules, if it does anything. Notes changes of switches.
    fn step(&mut self, event: &Event<'_>) -> Option<Step> {
        let known = event.known_registry();
        if known.registry.name == own::NAME {
            let (session, ns) = (event.session().id, event.time_ns());
            match event.name() {
                CONTROL_CHANGE => self.switches.note(session, ns, |name| event.get(name)),
                EVENTS_LEFT_OUT => self.switches.note_left_out(session, ns, |name| event.get(name)),
                _ => {}
            }
            return None;
        }
        let registry = self.registry(known.fingerprint, || known.kept());
        if self.registries[registry].roles[event.index()].is_empty() {
            return None;
        }
        let at = Moment {
            thread: event.thread(),
            ns: event.time_ns(),
            ticks: event.ticks(),
            offset: event.offset(),
            number: self.events.saturating_sub(1),
        };
        self.switches.begin(event.session());
        Some(self.step_of((registry, event.index()), event.session().id, at, |index| event.value(index)))
    }

    fn step_of<'v>(
        &self,
        event: (usize, usize),
        session: u64,
        at: Moment,
        value: impl Fn(usize) -> Option<Value<'v>>,
    ) -> Step {
        let of = &self.registries[event.0];
        let key = |index: Option<usize>| index.and_then(&value).map(|value| Key::new(&value));
        let acts = of.roles[event.1].iter().map(|role| Act {
            rule: of.first + role.rule,
            part: role.part,
            by: key(role.by).unwrap_or(Key::None),
            span: key(role.key),
        });
        Step { session, at, event, acts: acts.collect() }
    }

    /// Returns the index of a registry, and adds its rules if it is new.
    fn registry(&mut self, fingerprint: u64, kept: impl FnOnce() -> Arc<Kept>) -> usize {
        if self.registries.get(self.last).is_none_or(|of| of.fingerprint != fingerprint) {
            let found = self.registries.iter().position(|of| of.fingerprint == fingerprint);
            self.last = found.unwrap_or_else(|| self.add(fingerprint, kept()));
        }
        self.last
    }

    #[cold]
    fn add(&mut self, fingerprint: u64, kept: Arc<Kept>) -> usize {
        let (registry, first) = (&kept.registry, self.rules.len());
        for rule in &registry.rules {
            self.states.push(match rule.form {
                RuleForm::Comes { .. } => State::Waiting(Waiting::default()),
                RuleForm::Never { .. } | RuleForm::AtMost { .. } => State::Open(OpenSpans::default()),
            });
            let mut rule = CheckedRule::new(registry, fingerprint, rule);
            if self.is_unlimited {
                rule.limit = LimitOf::None;
            }
            self.rules.push(rule);
        }
        let followed = self.followed.as_ref();
        let roles = roles(registry, |event| followed.is_none_or(|followed| followed(registry, event)));
        self.registries.push(OfRegistry { fingerprint, kept, roles, first });
        self.registries.len() - 1
    }

    fn act(&mut self, session: u64, at: Moment, act: Act, found: &mut Vec<Broken>) {
        let Act { rule: index, part, by, span } = act;
        let thread = (self.rules[index].rule.per == CounterPer::Thread).then_some(at.thread);
        let scope = Scope { session, thread, key: by };
        let adds = match (part, &self.states[index]) {
            // One that waits already stands for this one, too.
            (Part::After, State::Waiting(waiting)) => !waiting.has(&scope),
            _ => part == Part::Begin,
        };
        if adds {
            self.make_room(index);
        }
        self.entries += 1;
        let number = self.entries;
        let rule = &mut self.rules[index];
        let before = self.states[index].size();
        let result = match (part, &mut self.states[index]) {
            (Part::After, State::Waiting(waiting)) => {
                rule.checked += 1;
                if !waiting.has(&scope) {
                    waiting.add(number, scope, at);
                }
                None
            }
            (Part::Comes, State::Waiting(waiting)) => {
                let first = waiting.take(&scope);
                let RuleForm::Comes { within_ns, .. } = rule.rule.form else { return };
                let late = first.filter(|first| {
                    within_ns.is_some_and(|within| at.ns > first.ns.saturating_add_unsigned(within))
                });
                late.map(|first| (scope.key, first, How::Late))
            }
            (Part::End, State::Open(open)) => {
                open.end(&identity(session, at.thread, span).0);
                None
            }
            (Part::Never, State::Open(open)) => {
                rule.checked += 1;
                open.first_of(&scope).map(|first| (scope.key, first, How::WhileOpen))
            }
            (Part::Begin, State::Open(open)) => {
                let (most, key) = (rule.most(), scope.key.clone());
                let is_limit = most > 0;
                rule.checked += u64::from(is_limit);
                let identity = identity(session, at.thread, span);
                let (count, first) = open.begin(number, identity, scope, at, rule.most_of_key);
                let count = count as u64;
                // What is beyond the limit is told once.
                (is_limit && count == most + 1).then_some((key, first, How::TooMany(count)))
            }
            _ => None,
        };
        let after = self.states[index].size();
        (self.kept, self.texts) = (self.kept + after.0 - before.0, self.texts + after.1 - before.1);
        if let Some((key, first, how)) = result {
            let rule = &self.rules[index];
            let was_off = was_off(&self.switches, &self.registries, rule, session, first.ns, at.ns);
            let was_left_out = was_left_out(&self.switches, &self.registries, rule, session, at.ns);
            let second = Some(at);
            found.push(Broken { rule: index, session, key, first, second, how, was_off, was_left_out });
        }
    }

    /// Forgets the oldest entries until there is room for one more.
    fn make_room(&mut self, index: usize) {
        while self.kept > 0 && (self.kept >= self.most || self.texts >= MAX_TEXTS) {
            let is_full = |state: &State| state.size().0 > 0;
            let from = match is_full(&self.states[index]) {
                true => Some(index),
                false => self.states.iter().position(is_full),
            };
            let Some(from) = from else { return };
            let before = self.states[from].size();
            let is_forgotten = match &mut self.states[from] {
                State::Waiting(waiting) => waiting.take_oldest().is_some(),
                State::Open(open) => open.forget_oldest(),
            };
            self.rules[from].given_up += u64::from(is_forgotten);
            let after = self.states[from].size();
            (self.kept, self.texts) = (self.kept + after.0 - before.0, self.texts + after.1 - before.1);
        }
    }

    /// Returns the number of entries of all rules, and the bytes of their strings.
    fn sums(&self) -> (usize, usize) {
        self.states.iter().map(State::size).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// The event of the runtime that tells of a change of switches.
const CONTROL_CHANGE: &str = "ControlChange";

impl State {
    /// Returns the number of entries, and the bytes of their strings.
    fn size(&self) -> (usize, usize) {
        match self {
            State::Waiting(waiting) => (waiting.len(), waiting.texts()),
            State::Open(open) => (open.len(), open.texts()),
        }
    }
}

/// Returns the identity of a span, and whether it has a key. Without one, spans nest per thread.
fn identity(session: u64, thread: u32, key: Option<Key>) -> (Scope, bool) {
    let has_key = key.is_some();
    let thread = (!has_key).then_some(thread);
    (Scope { session, thread, key: key.unwrap_or(Key::None) }, has_key)
}

/// Returns true if the event that explains a broken rule was off at any time between two times.
fn was_off(
    switches: &Switches,
    registries: &[OfRegistry],
    rule: &CheckedRule,
    session: u64,
    from_ns: i64,
    until_ns: i64,
) -> bool {
    let found = registries.iter().enumerate().find(|(_, of)| of.fingerprint == rule.fingerprint);
    found.is_some_and(|(index, of)| {
        let event = (session, (index, rule.explaining));
        switches.was_off(event, &of.kept.registry, from_ns, until_ns)
    })
}

/// Returns true if a limit may have left out the event that explains a broken rule, before a time.
fn was_left_out(
    switches: &Switches,
    registries: &[OfRegistry],
    rule: &CheckedRule,
    session: u64,
    until_ns: i64,
) -> bool {
    match rule.limit {
        LimitOf::None => false,
        LimitOf::Sample => true,
        LimitOf::Rate => {
            let found = registries.iter().find(|of| of.fingerprint == rule.fingerprint);
            found.is_some_and(|of| {
                let event = &of.kept.registry.events[rule.explaining].name;
                switches.was_left_out(session, &rule.registry, event, until_ns)
            })
        }
    }
}
