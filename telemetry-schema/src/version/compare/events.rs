//! Differences between the events of two registries.

use std::collections::{HashMap, HashSet};

use crate::text::words::is_near;
use crate::version::change::Thing;
use crate::version::compare::changes::{Changes, Names, Renamed};
use crate::version::compare::params;
use crate::version::lock::{Lock, LockEvent, LockParam, State};
use crate::version::rule::Rule;

/// Compares the events, and returns the renamed ones.
pub(super) fn compare<'a>(
    changes: &mut Changes,
    old: &'a Lock,
    new: &'a Lock,
    renamed: &Renamed,
) -> Names<'a> {
    let pairs = Pairs::new(old, new);
    let mut names = Names::new();
    for (index, is) in new.events.iter().enumerate() {
        let was = pairs.of_new[index].map(|index| &old.events[index]);
        // A code belongs to its first event for ever.
        if let Some(owner) = old.event(is.code).filter(|owner| was.is_none_or(|was| was.code != owner.code)) {
            let things = (Some(thing(owner)), Some(thing(is)));
            let values = (owner.name.clone(), format!("{:#06x}", is.code));
            changes.add(Rule::CodeReused, things, "code", values);
            continue;
        }
        let Some(was) = was else {
            changes.whole(Rule::EventAdded, (None, Some(thing(is))));
            continue;
        };
        // Most are unchanged.
        if was == is {
            continue;
        }
        if was.name != is.name {
            names.insert(&was.name, &is.name);
        }
        event(changes, was, is, renamed);
        params::compare(changes, was, is, (old.version, new.version), renamed);
    }
    let known: HashSet<usize> = pairs.of_new.iter().flatten().copied().collect();
    for (index, was) in old.events.iter().enumerate() {
        // An event with another event's code is reported there.
        if known.contains(&index) || new.event(was.code).is_some() {
            continue;
        }
        let rule = match was.state {
            State::Used => Rule::EventRemoved,
            State::Retired => Rule::EventForgotten,
            State::Gone(_) => continue,
        };
        changes.whole(rule, (Some(thing(was)), None));
    }
    names
}

fn event(changes: &mut Changes, was: &LockEvent, is: &LockEvent, renamed: &Renamed) {
    let things = (Some(thing(was)), Some(thing(is)));
    changes.field(Rule::EventRenamed, &things, "name", &was.name, &is.name);
    let code = |event: &LockEvent| format!("{:#06x}", event.code);
    changes.field(Rule::EventRecoded, &things, "code", &code(was), &code(is));
    let kind = renamed.kinds.get(was.kind.as_str()).copied().unwrap_or(&was.kind);
    if kind != is.kind {
        changes.field(Rule::EventKindChanged, &things, "kind", &was.kind, &is.kind);
    }
    let always = |event: &LockEvent| event.always.to_string();
    changes.field(Rule::EventAlwaysChanged, &things, "always", &always(was), &always(is));
    changes.field(Rule::EventReplayChanged, &things, "replay", &was.replay, &is.replay);
    changes.field(Rule::EventRangeChanged, &things, "range", &was.range, &is.range);
    changes.field(Rule::EventCensusChanged, &things, "census", &was.census, &is.census);
    changes.field(Rule::EventTimeChanged, &things, "time", &was.time, &is.time);
    match (was.state, is.state) {
        (State::Gone(_), _) => changes.whole(Rule::EventAdded, things.clone()),
        (State::Used, State::Retired) => {
            changes.field(Rule::EventRetired, &things, "used", "true", "false");
        }
        (State::Retired, State::Used) => {
            changes.field(Rule::EventRestored, &things, "used", "false", "true");
        }
        _ => {}
    }
    changes.docs(things, was.docs, is.docs);
}

/// The pairs of new and old events.
struct Pairs {
    /// By index of the new event, the index of the old one.
    of_new: Vec<Option<usize>>,
    /// By index of the old event: true if it has a new one.
    taken: Vec<bool>,
}

impl Pairs {
    /// Pairs the events. They match by name and code; otherwise by name; otherwise by code, if they
    /// are similar; otherwise if both their names and their forms are.
    fn new(old: &Lock, new: &Lock) -> Pairs {
        let mut pairs = Pairs { of_new: vec![None; new.events.len()], taken: vec![false; old.events.len()] };
        let by_code = |code| old.events.binary_search_by_key(&code, |event| event.code).ok();
        let listed = old.events.iter().enumerate().filter(|(_, event)| event.state.is_listed());
        let by_name: HashMap<&str, usize> = listed.map(|(at, event)| (event.name.as_str(), at)).collect();

        pairs.each(new, |is| by_code(is.code).filter(|&was| old.events[was].name == is.name));
        pairs.each(new, |is| by_name.get(is.name.as_str()).copied());
        // An event with a spent code is not a renamed one, unless it is still retired.
        pairs.each(new, |is| {
            by_code(is.code).filter(|&was| {
                let was = &old.events[was];
                was.state.is_listed()
                    && (was.state == State::Used || is.state == State::Retired)
                    && are_alike(was, is)
            })
        });
        let left = (0..old.events.len()).filter(|&was| !pairs.taken[was]);
        let gone = left
            .filter(|&was| old.events[was].state == State::Used && new.event(old.events[was].code).is_none());
        let gone: Vec<usize> = gone.take(MAX_COMPARED).collect();
        pairs.each(new, |is| {
            let same =
                |was: &LockEvent| !is.params.is_empty() && has_form_of(was, is) && has_name_like(was, is);
            gone.iter().copied().find(|&was| old.event(is.code).is_none() && same(&old.events[was]))
        });
        pairs
    }

    /// Pairs each unmatched new event with the old event that is found, if that is free.
    fn each(&mut self, new: &Lock, find: impl Fn(&LockEvent) -> Option<usize>) {
        for (index, is) in new.events.iter().enumerate() {
            if self.of_new[index].is_none()
                && let Some(was) = find(is)
                && !std::mem::replace(&mut self.taken[was], true)
            {
                self.of_new[index] = Some(was);
            }
        }
    }
}

/// Limits the work if everything differs. If more events than this are gone, the others are not
/// searched for under another name.
const MAX_COMPARED: usize = 50;

/// Returns true if events with one code may match although their names differ: the names are
/// similar, or half of the parameters are the same.
fn are_alike(a: &LockEvent, b: &LockEvent) -> bool {
    let has = |param: &LockParam| {
        b.params.iter().any(|other| (&other.name, &other.sort) == (&param.name, &param.sort))
    };
    let shared = a.params.iter().filter(|param| has(param)).count();
    2 * shared >= a.params.len().max(b.params.len()) || has_name_like(a, b)
}

fn has_name_like(a: &LockEvent, b: &LockEvent) -> bool {
    is_near(&a.name, &b.name)
}

fn has_form_of(a: &LockEvent, b: &LockEvent) -> bool {
    fn form(param: &LockParam) -> (&str, &str) {
        (&param.name, &param.sort)
    }
    a.params.iter().map(form).eq(b.params.iter().map(form))
}

fn thing(event: &LockEvent) -> Thing {
    Thing::Event { name: event.name.clone(), code: event.code }
}
