//! Counts of monitors.

use super::listed::Listed;
use super::traces::{Origin, Sums};
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

/// The monitor that a thread waits for, and the start of the wait.
pub(super) type Wait = Option<(usize, u64)>;

impl Monitors {
    /// Counts a step of the monitor of an object.
    pub(super) fn step(
        &mut self,
        item: &Item<'_>,
        (step, object): (u64, u64),
        wait: &mut Wait,
        origin: Origin<'_>,
    ) {
        let Monitors { all, steps } = self;
        let index = all.index_of(object);
        if let Some(count) = steps.get_mut(step as usize) {
            *count += 1;
        }
        if step != 1 {
            if let Some((index, since)) = wait.take() {
                let (monitor, time) = (&mut all.all[index].1, item.ticks.wrapping_sub(since));
                monitor.longest = monitor.longest.max(time);
                monitor.waited = monitor.waited.wrapping_add(time);
            }
            return;
        }
        *wait = Some((index, item.ticks));
        let monitor = &mut all.all[index].1;
        monitor.contentions += 1;
        let has_frames = matches!(item.what, What::MonitorContentionTraced | What::MonitorWaitTraced);
        origin.add(&mut monitor.traces, has_frames.then_some(item.lists[0]), 1);
    }
}
