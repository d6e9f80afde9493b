//! Counts of the collector and its handles.

use super::tally::Tally;
use super::traces::Sums;
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

impl Tally {
    /// Counts a step of a collection.
    pub(super) fn gc_event(&mut self, item: &Item<'_>) {
        let (step, generation) = (item.value(0), item.value(1) as usize);
        let started = &mut self.threads[self.thread].gc_started;
        let Some((collections, started)) =
            self.gc.collections.get_mut(generation).zip(started.get_mut(generation))
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
    pub(super) fn handle(&mut self, item: &Item<'_>, is_created: bool) {
        let Some(handles) = self.gc.handles.get_mut(item.value(0) as usize) else { return };
        let sums = if is_created {
            handles.created += 1;
            handles.most = handles.most.max(handles.created.saturating_sub(handles.destroyed));
            &mut handles.created_traces
        } else {
            handles.destroyed += 1;
            &mut handles.destroyed_traces
        };
        if let Some(traces) = &mut self.traces {
            let stack = &self.stack.frames;
            let has_frames = matches!(item.what, What::HandleCreateTraced | What::HandleDestroyTraced);
            traces.add(sums, has_frames.then_some(item.lists[0]), stack, 1);
        }
    }
}
