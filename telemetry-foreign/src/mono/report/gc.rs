//! Counts of the collector and its handles.

use super::traces::{Origin, Sums};
use crate::mono::decode::Item;
use crate::mono::what::What;

/// Counts of the collector.
#[derive(Default)]
pub(super) struct Gc {
    pub(super) resizes: u64,
    pub(super) largest: u64,
    pub(super) moves: u64,
    /// By generation: the number of collections, the longest, and the total time.
    pub(super) collections: [(u64, u64, u64); 3],
    /// By kind: created, destroyed, and the most at a time.
    pub(super) handles: [Handles; 4],
}

#[derive(Default)]
pub(super) struct Handles {
    pub(super) created: u64,
    pub(super) destroyed: u64,
    pub(super) most: u64,
    pub(super) created_traces: Sums,
    pub(super) destroyed_traces: Sums,
}

impl Gc {
    /// Counts a step of a collection. `started` says when the thread's collections began.
    pub(super) fn step(&mut self, item: &Item<'_>, started: &mut [u64; 3]) {
        let (step, generation) = (item.value(0), item.value(1) as usize);
        let Some((collections, started)) =
            self.collections.get_mut(generation).zip(started.get_mut(generation))
        else {
            return;
        };
        match step {
            0 => {
                *started = item.ticks;
                collections.0 += 1;
            }
            5 => {
                let time = item.ticks.wrapping_sub(*started);
                collections.1 = collections.1.max(time);
                collections.2 = collections.2.wrapping_add(time);
            }
            _ => {}
        }
    }

    /// Counts a handle that is created or destroyed.
    pub(super) fn handle(&mut self, item: &Item<'_>, is_created: bool, origin: Origin<'_>) {
        let Some(handles) = self.handles.get_mut(item.value(0) as usize) else { return };
        let sums = if is_created {
            handles.created += 1;
            handles.most = handles.most.max(handles.created.saturating_sub(handles.destroyed));
            &mut handles.created_traces
        } else {
            handles.destroyed += 1;
            &mut handles.destroyed_traces
        };
        let has_frames = matches!(item.what, What::HandleCreateTraced | What::HandleDestroyTraced);
        origin.add(sums, has_frames.then_some(item.lists[0]), 1);
    }
}
