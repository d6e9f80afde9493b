//! Generations: most objects die young, so young generations are collected more often.

/// Number of generations. Objects are allocated in the first, the nursery. Objects that survive a
/// trace move to the next one.
pub(crate) const GENERATIONS: usize = 3;

/// The last generation.
pub(crate) const OLDEST: usize = GENERATIONS - 1;

/// Capacity of each generation in nurseries. That of the last adapts to its live objects.
const NURSERIES: [usize; GENERATIONS] = [1, 4, 1];

/// Objects of about one age.
pub(crate) struct Generation {
    /// Its segments.
    pub(crate) segments: Vec<usize>,
    /// Bytes of objects in them.
    pub(crate) size: usize,
    /// The size at which it is full.
    pub(crate) capacity: usize,
}

impl Generation {
    /// An empty generation, in a heap whose nursery has `nursery` bytes.
    pub(crate) fn new(serial: usize, nursery: usize) -> Generation {
        Generation { segments: Vec::new(), size: 0, capacity: NURSERIES[serial] * nursery }
    }

    /// True if it is time to collect it.
    pub(crate) fn is_full(&self) -> bool {
        self.size >= self.capacity
    }
}

/// The oldest generation to collect when the nursery is full. All younger generations are collected
/// with it, since they may refer to it.
pub(crate) fn top_full(generations: &[Generation]) -> usize {
    generations.iter().rposition(Generation::is_full).unwrap_or(0)
}

/// The capacity of the oldest generation with `live` bytes in it: they may double before all of it
/// is copied again.
pub(crate) fn capacity_for(live: usize, nursery: usize) -> usize {
    (2 * live).max(NURSERIES[OLDEST] * nursery)
}
