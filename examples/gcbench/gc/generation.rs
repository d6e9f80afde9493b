//! Generations: most objects die young, so the young ones are collected more often.

/// Number of generations. Objects are made in the first, the nursery; those that survive a trace
/// move to the next one.
pub(crate) const GENERATIONS: usize = 3;

/// The last.
pub(crate) const OLDEST: usize = GENERATIONS - 1;

/// How many nurseries each holds before it is full; the last adapts to what lives in it.
const NURSERIES: [usize; GENERATIONS] = [1, 4, 1];

/// Objects of about one age.
pub(crate) struct Generation {
    /// Its segments.
    pub(crate) segments: Vec<usize>,
    /// Bytes of objects in them.
    pub(crate) size: usize,
    /// At this size it is full.
    pub(crate) capacity: usize,
}

impl Generation {
    /// An empty generation, where a nursery has so many bytes.
    pub(crate) fn new(serial: usize, nursery: usize) -> Generation {
        Generation { segments: Vec::new(), size: 0, capacity: NURSERIES[serial] * nursery }
    }

    /// True if it is time to collect it.
    pub(crate) fn is_full(&self) -> bool {
        self.size >= self.capacity
    }
}

/// The oldest generation to be collected when the nursery is full: with an older one all younger
/// ones are collected, since they may refer to it.
pub(crate) fn top_full(generations: &[Generation]) -> usize {
    generations.iter().rposition(Generation::is_full).unwrap_or(0)
}

/// The capacity of the oldest generation once so much lives in it: as much again may be made before
/// all of it is copied anew.
pub(crate) fn capacity_for(live: usize, nursery: usize) -> usize {
    (2 * live).max(NURSERIES[OLDEST] * nursery)
}
