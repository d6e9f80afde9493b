//! Checks rules, and keeps what breaks them.

use std::collections::HashSet;

use telemetry_decode::rules::{Broken, Checker};
use telemetry_decode::{EventBatch, Registry, Session};
use telemetry_report::spans::Gaps;

/// The most findings that are listed. The rest is counted.
const MAX_LISTED: usize = 10_000;

/// The rules of all registries, and what breaks them.
pub(crate) struct Rules {
    checker: Checker,
    is_skipped: bool,
    /// What is not decided yet.
    found: Vec<Broken>,
    /// The first findings, each with whether it is certain.
    listed: Vec<(Broken, bool)>,
    /// By rule, how often it is broken and how often it is not decided.
    counts: Vec<Counts>,
}

/// How often a rule was broken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) broken: u64,
    pub(crate) undecided: u64,
}

impl Rules {
    /// Keeps at most `most` events that wait and spans that are open.
    pub(crate) fn new(most: usize) -> Rules {
        let checker = Checker::new(most);
        Rules { checker, is_skipped: false, found: Vec::new(), listed: Vec::new(), counts: Vec::new() }
    }

    /// Checks nothing from now on.
    pub(crate) fn skip(&mut self) {
        self.is_skipped = true;
    }

    pub(crate) fn are_skipped(&self) -> bool {
        self.is_skipped
    }

    pub(crate) fn checker(&self) -> &Checker {
        &self.checker
    }

    pub(crate) fn listed(&self) -> &[(Broken, bool)] {
        &self.listed
    }

    /// Returns how often a rule was broken, by its index in the checker.
    pub(crate) fn counts(&self, rule: usize) -> Counts {
        self.counts.get(rule).copied().unwrap_or_default()
    }

    /// Returns true if a check needs the events of a type.
    pub(crate) fn needs(&self, registry: &Registry, event: usize) -> bool {
        !self.is_skipped && Checker::needs(registry, event)
    }

    /// Takes some events. Returns true if they break a rule.
    pub(crate) fn take(&mut self, batch: &EventBatch<'_>) -> bool {
        if !self.is_skipped {
            self.checker.take_batch(batch, &mut self.found);
        }
        !self.found.is_empty()
    }

    /// Decides what was found.
    pub(crate) fn decide(&mut self, gaps: &Gaps) {
        self.counts.resize(self.checker.rules().len(), Counts::default());
        for broken in self.found.drain(..) {
            let is_certain = broken.is_certain(&self.checker.rules()[broken.rule], gaps.all());
            let counts = &mut self.counts[broken.rule];
            match is_certain {
                true => counts.broken += 1,
                false => counts.undecided += 1,
            }
            if self.listed.len() < MAX_LISTED {
                self.listed.push((broken, is_certain));
            }
        }
    }

    /// Finds and decides what never came.
    pub(crate) fn finish(&mut self, sessions: &[Session], gaps: &Gaps) {
        let ended: HashSet<u64> =
            sessions.iter().filter(|session| session.ended).map(|session| session.id).collect();
        self.checker.finish(|id| ended.contains(&id), &mut self.found);
        self.decide(gaps);
    }
}
