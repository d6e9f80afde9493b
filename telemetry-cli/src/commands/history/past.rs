//! The history of a registry's events, from its first revision to its last.

use std::collections::HashMap;

use serde::Serialize;
use telemetry_schema::Registry;
use telemetry_schema::version::{Change, Lock, Rule, Thing, compare};

use crate::registry::change::ChangeReport;

/// The history of a registry, up to a revision.
#[derive(Default)]
pub(super) struct Past {
    /// All events of all revisions.
    pub(super) events: Vec<EventPast>,
    /// Changes outside events.
    pub(super) other: Vec<Step>,
    pub(super) reused: Vec<Reuse>,
    /// Index of the first revision of this registry.
    pub(super) first: usize,
    /// The last revision, with its memory of those before.
    pub(super) latest: Option<Lock>,
    /// Index of the event that has a code now.
    by_code: HashMap<u16, usize>,
}

/// An event and its changes.
#[derive(Clone, Serialize)]
pub(super) struct EventPast {
    /// Its last name.
    pub(super) event: String,
    /// Its last code.
    pub(super) code: u16,
    /// Oldest first.
    pub(super) steps: Vec<Step>,
}

/// A revision's changes to an event.
#[derive(Clone, Serialize)]
pub(super) struct Step {
    /// Index of the revision.
    pub(super) revision: usize,
    /// Version of the registry in this revision.
    pub(super) version: String,
    pub(super) what: What,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<ChangeReport>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    Came,
    Changed,
    Retired,
    Restored,
    /// Its entry was removed after it was retired.
    Forgotten,
    /// Its entry was removed.
    Removed,
}

/// A code that was given to another event.
#[derive(Clone, Serialize)]
pub(super) struct Reuse {
    pub(super) code: u16,
    pub(super) was: String,
    pub(super) is: String,
    /// Index of the revision.
    pub(super) revision: usize,
    #[serde(skip)]
    pub(super) registry: String,
    /// False if no stream can have the code.
    pub(super) released: bool,
}

impl EventPast {
    /// Returns true if it has or had a name, or has a code.
    pub(super) fn is_called(&self, word: &str) -> bool {
        let code = match word.strip_prefix("0x") {
            Some(digits) => u16::from_str_radix(digits, 16),
            None => word.parse(),
        };
        self.event.eq_ignore_ascii_case(word)
            || code.is_ok_and(|code| code == self.code)
            || self.steps.iter().flat_map(|step| &step.changes).any(|change| change.was_named(word))
    }
}

impl Step {
    /// Returns a line for each change, except of docs, which change often.
    pub(super) fn messages(&self) -> Vec<String> {
        let whole = match self.what {
            What::Came => Some("came"),
            What::Changed => None,
            What::Retired => Some("retired"),
            What::Restored => Some("used again"),
            What::Forgotten => Some("gone, after it was retired"),
            What::Removed => Some("gone, and was not retired"),
        };
        let changes = self.changes.iter().filter(|change| !change.is_of_docs());
        let changes = changes.map(|change| change.message.clone());
        whole.map(str::to_string).into_iter().chain(changes).collect()
    }
}

impl Past {
    /// Adds a revision.
    pub(super) fn add(&mut self, revision: usize, registry: &Registry) {
        let version = registry.version.to_string();
        match self.latest.take_if(|latest| latest.registry == registry.name) {
            Some(latest) => {
                let by_code = self.by_code.clone();
                for change in compare(&latest, registry) {
                    let step =
                        Step { revision, version: version.clone(), what: What::Changed, changes: vec![] };
                    self.change(&change, step, &by_code, registry);
                }
                self.latest = Some(Lock::of(registry, Some(&latest)));
            }
            // The first revision of this registry, with its own events and codes.
            None => {
                *self = Past { first: revision, latest: Some(Lock::of(registry, None)), ..Past::default() };
                for event in &registry.events {
                    let step = Step { revision, version: version.clone(), what: What::Came, changes: vec![] };
                    self.come(&event.name, event.code, step);
                }
            }
        }
    }

    /// Adds a change. `before` has the codes before this revision.
    fn change(&mut self, change: &Change, step: Step, before: &HashMap<u16, usize>, registry: &Registry) {
        let what = match change.rule {
            // These concern the version of a release.
            Rule::SinceMissing | Rule::SinceWrong => return,
            Rule::EventAdded | Rule::CodeReused => What::Came,
            Rule::EventRetired => What::Retired,
            Rule::EventRestored => What::Restored,
            Rule::EventForgotten => What::Forgotten,
            Rule::EventRemoved => What::Removed,
            _ => What::Changed,
        };
        let old = event_of(change.old.as_ref());
        let new = event_of(change.new.as_ref());
        if what == What::Came {
            let Some((name, code)) = new else { return };
            if let Some((was, _)) = old {
                if let Some(&index) = before.get(&code) {
                    self.events[index].add(step.clone(), Some(change));
                }
                self.reused.push(Reuse {
                    code,
                    was: was.to_string(),
                    is: name.to_string(),
                    revision: step.revision,
                    registry: registry.name.clone(),
                    released: true,
                });
            }
            return self.come(name, code, Step { what, ..step });
        }
        let index = old.and_then(|(_, code)| before.get(&code));
        let index = index.or_else(|| new.and_then(|(_, code)| self.by_code.get(&code))).copied();
        let Some(event) = index.and_then(|index| self.events.get_mut(index)) else {
            return add_to(&mut self.other, step, Some(change));
        };
        if let (Some((name, code)), Some(index)) = (new, index) {
            event.event = name.to_string();
            event.code = code;
            self.by_code.insert(code, index);
        }
        // For a change of the whole event, its word says all.
        event.add(Step { what, ..step }, (what == What::Changed).then_some(change));
    }

    fn come(&mut self, name: &str, code: u16, step: Step) {
        self.by_code.insert(code, self.events.len());
        self.events.push(EventPast { event: name.to_string(), code, steps: vec![step] });
    }
}

impl EventPast {
    fn add(&mut self, step: Step, change: Option<&Change>) {
        add_to(&mut self.steps, step, change);
    }
}

/// Adds a change. All changes by one revision are one step.
fn add_to(steps: &mut Vec<Step>, step: Step, change: Option<&Change>) {
    let is_same = |last: &&mut Step| {
        last.revision == step.revision && (last.what == step.what || step.what == What::Changed)
    };
    let last = match steps.last_mut().filter(is_same) {
        Some(_) => steps.len() - 1,
        None => {
            steps.push(step);
            steps.len() - 1
        }
    };
    steps[last].changes.extend(change.map(ChangeReport::new));
}

/// Returns name and code of the event that an item is or belongs to.
fn event_of(thing: Option<&Thing>) -> Option<(&str, u16)> {
    match thing? {
        Thing::Event { name, code } | Thing::Param { event: name, code, .. } => Some((name, *code)),
        _ => None,
    }
}
