//! The test of a registry's events.

use std::ops::RangeInclusive;

use telemetry_decode::Session;
use telemetry_decode::condition::{Candidate, Test};

use crate::fit::fields::NameTest;
use crate::test::tree::Tree;

/// The test of a registry's events.
#[derive(Debug)]
pub(super) struct Events {
    /// By the event's index.
    pub(super) trees: Vec<Tree>,
    /// The comparisons with lanes, and whether they are with threads; others are with sessions.
    pub(super) lanes: Vec<(bool, NameTest)>,
}

impl Events {
    fn tree(&self, event: usize) -> &Tree {
        self.trees.get(event).unwrap_or(&Tree::Never)
    }
}

impl Test for Events {
    fn lane(&self, session: &Session, thread: u32) -> u64 {
        let bits = self.lanes.iter().enumerate().map(|(bit, (is_thread, test))| {
            let passes = match is_thread {
                true => test.passes(thread.into(), session.thread_name(thread).unwrap_or_default()),
                false => test.passes(session.id, session.facts.text("program").unwrap_or_default()),
            };
            u64::from(passes) << bit
        });
        bits.fold(0, |bits, bit| bits | bit)
    }

    fn may_match(&self, event: usize) -> bool {
        !matches!(self.tree(event), Tree::Never)
    }

    fn may_match_in(&self, event: usize, lane: u64, times: &RangeInclusive<i64>) -> bool {
        self.tree(event).may_match(lane, times)
    }

    #[inline]
    fn matches(&self, candidate: &Candidate<'_>, lane: u64) -> bool {
        self.tree(candidate.index()).matches(candidate, lane)
    }
}
