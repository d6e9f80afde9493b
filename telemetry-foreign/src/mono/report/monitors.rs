//! Counts of monitors.

use super::listed::Listed;
use super::tally::Tally;
use super::traces::Sums;
use crate::mono::decode::Item;
use crate::mono::what::What;

/// Counts of monitors.
#[derive(Default)]
pub(super) struct Monitors {
    /// By object.
    pub(super) all: Listed<Monitor>,
    /// By step, from 1: contention, done, fail.
    pub(super) steps: [u64; 4],
}

#[derive(Default)]
pub(super) struct Monitor {
    pub(super) contentions: u64,
    pub(super) waited: u64,
    pub(super) longest: u64,
    pub(super) traces: Sums,
}

impl Tally {
    /// Counts a step of a monitor.
    pub(super) fn monitor(&mut self, item: &Item<'_>, step: u64, object: u64) {
        let Monitors { all, steps } = &mut self.monitors;
        let index = all.index_of(object);
        if let Some(count) = steps.get_mut(step as usize) {
            *count += 1;
        }
        let waits = &mut self.threads[self.thread].waits;
        if step != 1 {
            if let Some((index, since)) = waits.take() {
                let (monitor, time) = (&mut all.all[index].1, item.ticks.wrapping_sub(since));
                monitor.longest = monitor.longest.max(time);
                monitor.waited = monitor.waited.wrapping_add(time);
            }
            return;
        }
        *waits = Some((index, item.ticks));
        let monitor = &mut all.all[index].1;
        monitor.contentions += 1;
        if let Some(traces) = &mut self.traces {
            let stack = &self.stack.frames;
            let has_frames = matches!(item.what, What::MonitorContentionTraced | What::MonitorWaitTraced);
            traces.add(&mut monitor.traces, has_frames.then_some(item.lists[0]), stack, 1);
        }
    }
}
