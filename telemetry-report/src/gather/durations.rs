//! Durations of spans over time.

use hashbrown::HashMap;

use super::heat::Heat;
use super::threads::OTHERS;

/// Intervals of the axis in one of the heat maps, as a power of two.
pub(crate) const DURATION_SHIFT: u32 = 3;

/// The maximum of pairs of a type of span and a thread. Others count as other threads'.
const MAX_PAIRS: usize = 400;

/// Durations and self times, by type of span and thread.
#[derive(Debug, Default)]
pub(crate) struct Durations(pub(crate) HashMap<(u32, u32), [Heat; 2]>);

impl Durations {
    /// Adds a span to the interval of its end.
    pub(crate) fn add(&mut self, def: u32, thread: u32, at: usize, times: [u64; 2]) {
        let is_known = self.0.len() < MAX_PAIRS || self.0.contains_key(&(def, thread));
        let heats = self.0.entry((def, if is_known { thread } else { OTHERS })).or_default();
        for (heat, ns) in heats.iter_mut().zip(times) {
            heat.add(at >> DURATION_SHIFT, ns as f64);
        }
    }

    /// Merges each two intervals.
    pub(crate) fn fold(&mut self) {
        self.0.values_mut().flatten().for_each(Heat::fold);
    }
}
