//! Spans that are open, as a rule sees them.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::checking::act::Scope;
use crate::checking::found::Moment;

/// The open spans of a rule.
#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    /// By number, so that the oldest is first.
    all: BTreeMap<u64, OpenSpan>,
    /// The numbers of those that an end may belong to, the innermost last.
    by_identity: HashMap<Scope, VecDeque<u64>>,
    /// The numbers of those that the rule counts together.
    groups: HashMap<Scope, BTreeSet<u64>>,
    /// Bytes of the keys that are strings.
    texts: usize,
}

#[derive(Debug)]
struct OpenSpan {
    identity: Scope,
    group: Scope,
    begin: Moment,
}

impl OpenSpans {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn texts(&self) -> usize {
        self.texts
    }

    /// Opens a span. Returns the number of open spans of its group, and the begin of the oldest.
    /// `number` rises.
    ///
    /// Spans of a key replace the oldest of them, so that at most `most_of_key` are open. The one
    /// that is replaced still counts: nothing has ended it.
    pub(super) fn begin(
        &mut self,
        number: u64,
        (identity, has_key): (Scope, bool),
        group: Scope,
        begin: Moment,
        most_of_key: usize,
    ) -> (usize, Moment) {
        let open = 1 + self.groups.get(&group).map_or(0, BTreeSet::len);
        let oldest = self.first_of(&group).unwrap_or(begin);
        let same = self.by_identity.get(&identity).filter(|same| has_key && same.len() >= most_of_key);
        if let Some(replaced) = same.and_then(|same| same.front().copied()) {
            self.remove(replaced);
        }
        self.texts += identity.key.text_len() + group.key.text_len();
        self.by_identity.entry(identity.clone()).or_default().push_back(number);
        self.groups.entry(group.clone()).or_default().insert(number);
        self.all.insert(number, OpenSpan { identity, group, begin });
        (open, oldest)
    }

    /// Closes the innermost span of an identity. An end without a begin changes nothing.
    pub(super) fn end(&mut self, identity: &Scope) {
        if let Some(number) = self.by_identity.get(identity).and_then(|numbers| numbers.back().copied()) {
            self.remove(number);
        }
    }

    /// Returns the begin of the oldest open span of a group.
    pub(super) fn first_of(&self, group: &Scope) -> Option<Moment> {
        let number = self.groups.get(group)?.first()?;
        self.all.get(number).map(|open| open.begin)
    }

    /// Forgets the oldest span. Returns false if there is none.
    pub(super) fn forget_oldest(&mut self) -> bool {
        let oldest = self.all.first_key_value().map(|(number, _)| *number);
        oldest.is_some_and(|number| self.remove(number))
    }

    fn remove(&mut self, number: u64) -> bool {
        let Some(OpenSpan { identity, group, .. }) = self.all.remove(&number) else { return false };
        self.texts -= identity.key.text_len() + group.key.text_len();
        if let Some(numbers) = self.by_identity.get_mut(&identity) {
            // It is the innermost one or the oldest of its identity.
            match numbers.back() == Some(&number) {
                true => numbers.pop_back(),
                false => numbers.pop_front(),
            };
            if numbers.is_empty() {
                self.by_identity.remove(&identity);
            }
        }
        if let Some(numbers) = self.groups.get_mut(&group) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.groups.remove(&group);
            }
        }
        true
    }
}
