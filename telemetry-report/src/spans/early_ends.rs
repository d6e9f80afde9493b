//! Ends whose begins come later.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::found::{End, Found, Which};
use super::identity::Identity;

/// Ends that came before their begins: blocks of other threads and kinds may come later, and have
/// earlier events.
#[derive(Default)]
pub(super) struct EarlyEnds {
    /// The most ends. Of more, the first is at once an end without a begin.
    most: usize,
    count: usize,
    ends: HashMap<Identity, VecDeque<End>>,
    /// The identities in the order of their ends, and of some that found their begins.
    order: VecDeque<Identity>,
}

impl EarlyEnds {
    pub(super) fn new(most: usize) -> EarlyEnds {
        EarlyEnds { most, ..EarlyEnds::default() }
    }

    /// Returns true if ends are kept.
    pub(super) fn keeps(&self) -> bool {
        self.most > 0
    }

    /// Takes all, in any order.
    pub(super) fn take_all(&mut self) -> Vec<(Which, End)> {
        let all = std::mem::replace(self, EarlyEnds::new(self.most));
        let ends = all.ends.into_iter().flat_map(|(identity, ends)| {
            ends.into_iter().map(move |end| (identity.clone().which(identity.def), end))
        });
        ends.collect()
    }

    /// Takes the first end of a span that began at a clock reading.
    pub(super) fn take(&mut self, identity: &Identity, ticks: u64) -> Option<End> {
        if self.count == 0 {
            return None;
        }
        let ends = self.ends.get_mut(identity)?;
        let end = ends.remove(ends.iter().position(|end| end.ticks >= ticks)?);
        self.count -= 1;
        if ends.is_empty() {
            self.ends.remove(identity);
        }
        end
    }

    /// Keeps an end. Returns one that is not kept: this or another.
    ///
    /// Spans without a key nest, so an end alone does not tell which begin is its own.
    pub(super) fn keep(&mut self, identity: Identity, end: End) -> Option<Found> {
        if self.most == 0 || identity.thread.is_some() {
            return Some(no_begin(identity, end));
        }
        self.count += 1;
        self.ends.entry(identity.clone()).or_default().push_back(end);
        self.order.push_back(identity);
        while self.count > self.most || self.order.len() > 2 * self.most {
            let first = self.order.pop_front()?;
            if let Some(end) = self.take(&first, 0) {
                return Some(no_begin(first, end));
            }
        }
        None
    }
}

fn no_begin(identity: Identity, end: End) -> Found {
    let def = identity.def;
    Found::NoBegin(identity.which(def), end)
}
