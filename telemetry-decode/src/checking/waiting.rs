//! Events after which another one must come.

use std::collections::{BTreeMap, HashMap};

use crate::checking::act::Scope;
use crate::checking::found::Moment;

/// The first event of each scope that waits for another one. One that comes is for all that wait,
/// so the first one decides.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// By number, so that the oldest is first.
    all: BTreeMap<u64, (Scope, Moment)>,
    by_scope: HashMap<Scope, u64>,
    /// By session, the number before which those that are overdue were told.
    told: HashMap<u64, u64>,
    /// Bytes of the keys that are strings.
    texts: usize,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn texts(&self) -> usize {
        self.texts
    }

    /// Returns true if an event of this scope waits.
    pub(super) fn has(&self, scope: &Scope) -> bool {
        self.by_scope.contains_key(scope)
    }

    /// Adds an event. `number` rises.
    pub(super) fn add(&mut self, number: u64, scope: Scope, at: Moment) {
        self.texts += scope.key.text_len();
        self.by_scope.insert(scope.clone(), number);
        self.all.insert(number, (scope, at));
    }

    /// Removes the event that waits in a scope.
    pub(super) fn take(&mut self, scope: &Scope) -> Option<Moment> {
        let number = self.by_scope.remove(scope)?;
        self.texts -= scope.key.text_len();
        self.all.remove(&number).map(|(_, at)| at)
    }

    /// Removes the oldest event.
    pub(super) fn take_oldest(&mut self) -> Option<(Scope, Moment)> {
        let (_, (scope, at)) = self.all.pop_first()?;
        self.by_scope.remove(&scope);
        self.texts -= scope.key.text_len();
        Some((scope, at))
    }

    /// Visits the events before a time, each once.
    pub(super) fn overdue(&mut self, session: u64, before_ns: i64, mut visit: impl FnMut(&Scope, Moment)) {
        let told = self.told.entry(session).or_default();
        for (number, (scope, at)) in self.all.range(*told..) {
            if scope.session != session {
                continue;
            }
            if at.ns >= before_ns {
                break;
            }
            visit(scope, *at);
            *told = number + 1;
        }
    }
}
