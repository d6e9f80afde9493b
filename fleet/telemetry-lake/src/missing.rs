//! What a lake does not have of a session.

use telemetry_decode::accounts::Step;

use crate::range::Range;

/// Events that are not rows, or that no stream ever had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The number of the lane; `None` at the ends of lanes that are not known.
    pub lane: Option<usize>,
    /// When the first of them can have happened, in nanoseconds since 1970.
    pub from_ns: i64,
    /// When the last of them can have happened.
    pub until_ns: i64,
    /// How many; `None` if that is not known.
    pub events: Option<u64>,
    /// Why.
    pub why: Why,
}

/// Why events are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Their program had no memory for them.
    Pool,
    /// They interrupted an emission of their lane.
    Reentrant,
    /// Their program's sink did not take them.
    Sink,
    /// Their shipper had no space for them, and shed them.
    Shed,
    /// They are recorded, but in no segment that was committed: on the way, damaged, or gone.
    Hole,
    /// The session has not ended, and nothing is known from here on.
    Open,
}

impl Why {
    /// Returns the word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Why::Pool => "pool",
            Why::Reentrant => "reentrant",
            Why::Sink => "sink",
            Why::Shed => "shed",
            Why::Hole => "hole",
            Why::Open => "open",
        }
    }
}

/// Recorded events that are not rows, because the program's sink did not give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotGiven {
    /// The sink lost them.
    pub sink: u64,
    /// The sink was not to have them.
    pub excluded: u64,
}

impl NotGiven {
    /// Returns the number of events.
    pub fn sum(&self) -> u64 {
        self.sink.saturating_add(self.excluded)
    }
}

/// Returns what an increase explains. `there` has the events that are or were rows, or were shed or
/// withheld; those before the index `next` are before all increases that follow.
pub(crate) fn not_given(step: &Step<i64>, there: &[Range], next: &mut usize) -> NotGiven {
    *next += there[*next..].partition_point(|range| range.until <= step.after);
    let within = there[*next..].iter().take_while(|range| range.from < step.before);
    let within = within.map(|range| range.until.min(step.before) - range.from.max(step.after));
    let absent = (step.before - step.after).saturating_sub(within.sum());
    let sink = step.change.lost.sink.min(absent);
    NotGiven { sink, excluded: step.change.excluded.min(absent - sink) }
}
