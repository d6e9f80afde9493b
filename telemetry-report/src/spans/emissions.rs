//! The time that the emission of events cost the emitting threads.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use telemetry_decode::Event;

/// The time that threads spent on emissions, if their sessions say what one costs.
#[derive(Default)]
pub struct Emissions {
    is_wanted: bool,
    /// Picoseconds, by session and thread.
    spent: HashMap<(u64, u32), u64>,
    /// Sessions that do not say it.
    unknown: BTreeSet<u64>,
}

impl Emissions {
    /// Counts only if `is_wanted`; otherwise no time is spent.
    pub fn new(is_wanted: bool) -> Emissions {
        Emissions { is_wanted, ..Emissions::default() }
    }

    /// Returns true if emissions are counted.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Adds the emission of an event. Its time is the moment before.
    pub fn take(&mut self, event: &Event<'_>) {
        if !self.is_wanted {
            return;
        }
        let session = event.session().id;
        match event.session().facts.number("emission_ps") {
            Some(cost) => {
                let spent = self.spent.entry((session, event.thread())).or_default();
                *spent = spent.saturating_add(cost);
            }
            None => _ = self.unknown.insert(session),
        }
    }

    /// Returns the nanoseconds that a thread has spent so far.
    pub fn spent_ns(&self, session: u64, thread: u32) -> i64 {
        if !self.is_wanted {
            return 0;
        }
        let spent = self.spent.get(&(session, thread)).copied().unwrap_or_default();
        i64::try_from(spent / 1000).unwrap_or(i64::MAX)
    }

    /// Returns the sessions that do not say what an emission costs.
    pub fn unknown(&self) -> impl Iterator<Item = u64> {
        self.unknown.iter().copied()
    }
}
