//! Nested spans of each thread, added up.

use hashbrown::HashMap;

use super::axis::Series;
use super::threads::OTHERS;

/// Intervals of the axis in one of a flame graph, as a power of two.
pub(crate) const FLAME_SHIFT: u32 = 4;

/// The maximum of nodes in all graphs. Further ones are not shown.
const MAX_NODES: usize = 20_000;

/// A graph for each thread.
#[derive(Debug, Default)]
pub(crate) struct Flames {
    /// By thread and path.
    pub(crate) nodes: HashMap<(u32, u32), Node>,
    /// Spans that are in no node.
    pub(crate) dropped: u64,
}

/// All spans of a path, without those inside of them.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) count: u64,
    pub(crate) self_ns: u64,
    /// Their own time in each interval, in proportion to the time that they were open.
    pub(crate) slices: Series<f64>,
}

impl Flames {
    /// Adds a span.
    pub(crate) fn add(
        &mut self,
        thread: u32,
        path: u32,
        begin: u64,
        duration: u64,
        self_ns: u64,
        shift: u32,
    ) {
        let key = (thread, path);
        if thread == OTHERS || self.nodes.len() >= MAX_NODES && !self.nodes.contains_key(&key) {
            self.dropped += 1;
            return;
        }
        let node = self.nodes.entry(key).or_default();
        node.count += 1;
        node.self_ns = node.self_ns.saturating_add(self_ns);
        let shift = shift + FLAME_SHIFT;
        let end = begin + duration;
        let (first, last) = (begin >> shift, end >> shift);
        if first == last {
            return node.slices.add(first as usize, self_ns as f64);
        }
        let share = self_ns as f64 / duration as f64;
        for at in first..=last {
            let (from, until) = ((at << shift).max(begin), ((at + 1) << shift).min(end));
            node.slices.add(at as usize, (until - from) as f64 * share);
        }
    }

    /// Merges each two intervals.
    pub(crate) fn fold(&mut self) {
        self.nodes.values_mut().for_each(|node| node.slices.fold());
    }
}
