//! Begins and ends of spans that wait for the other one.

use std::collections::VecDeque;

use super::found::{End, Found, Which};

/// A begin or an end without the other, apart from the pairing that found it.
#[derive(Debug, Clone)]
pub struct Carried {
    pub which: Which,
    pub at: End,
    /// For a begin: the time in which no span that the thread began later was open, and up to which
    /// that is known. `None` for an end.
    pub open: Option<(i64, i64)>,
}

/// What is carried from earlier events to later ones.
#[derive(Default)]
pub(super) struct Earlier {
    /// Begins and ends of earlier events, by time, that are not applied yet.
    pub(super) parts: VecDeque<Carried>,
    /// The most ends that are kept. Of more, the first is at once an end without a begin.
    pub(super) most: usize,
    /// Ends without begins, by time: blocks of other threads and kinds may come later, and have
    /// earlier events.
    pub(super) ends: VecDeque<(Which, End)>,
}

/// The longest key that is kept, in bytes.
pub(super) const MAX_KEY: usize = 256;

impl Earlier {
    /// Keeps an end without a begin. Returns one that is not kept: this or another.
    pub(super) fn keep(&mut self, which: Which, end: End) -> Option<Found> {
        if self.most == 0 || which.key.text_len() > MAX_KEY {
            return Some(Found::NoBegin(which, end));
        }
        self.ends.push_back((which, end));
        let over = if self.ends.len() > self.most { self.ends.pop_front() } else { None };
        over.map(|(which, end)| Found::NoBegin(which, end))
    }
}
