//! What an event does to rules.

use crate::checking::found::Moment;
use crate::checking::roles::Part;
use crate::values::key::Key;

/// What an event does to rules, for a caller that sorts it by time.
#[derive(Debug)]
pub struct Step {
    pub(super) session: u64,
    pub(super) at: Moment,
    /// The registry of the event, by its index in the checker, and the event's index there.
    pub(super) event: (usize, usize),
    pub(super) acts: Vec<Act>,
}

/// What an event does to one rule.
#[derive(Debug)]
pub(super) struct Act {
    pub(super) rule: usize,
    pub(super) part: Part,
    /// The value of `by`.
    pub(super) by: Key,
    /// The value of the span's key; none without one.
    pub(super) span: Option<Key>,
}

/// Where a state of a rule applies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) session: u64,
    pub(super) thread: Option<u32>,
    pub(super) key: Key,
}

impl Step {
    /// Returns the place of the event.
    pub fn at(&self) -> Moment {
        self.at
    }
}
