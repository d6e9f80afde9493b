//! The line on standard error about the events that a process has lost.

use core::fmt::Write;

use telemetry_format::{Grouped, Loss, LossCause, Notice};

use crate::memory::mapping;
use crate::run::state::{self, Policy};
use crate::store::counters::{counters, untaken};
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};

/// True if the process says nothing about its losses.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether the process reports its losses.
pub(super) fn set_reported(on: bool) {
    IS_QUIET.store(!on, Ordering::Relaxed);
}

/// Reports how many events the process has lost, why, and what helps. Says nothing without a loss.
pub(super) fn report() {
    let mut found = counters();
    let emitted = found.emitted();
    // What waits for a sink that has failed is lost now, unless it is in a ring file.
    if found.lost_sink > 0 && !mapping::is_file() {
        found.lost_sink += untaken();
    }
    if found.lost() == 0 || IS_QUIET.load(Ordering::Relaxed) {
        return;
    }
    let loss =
        Loss { pool: found.lost_pool, reentrant: found.lost_reentrant, sink: found.lost_sink, truncated: 0 };
    let (mut causes, mut remedies) = (String::new(), Vec::new());
    for (cause, events) in loss.causes() {
        let gap = if causes.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = match events == found.lost() {
            true => write!(causes, "{}", cause.text()),
            false => write!(causes, "{gap}{} ({})", Grouped::from(events), cause.text()),
        };
        let remedy = remedy(cause, state::policy());
        if !remedies.contains(&remedy) {
            remedies.push(remedy);
        }
    }
    let (lost, emitted, remedies) =
        (Grouped::from(found.lost()), Grouped::from(emitted), remedies.join(", "));
    sys::report(Notice::EventsLost, format_args!("{lost} of {emitted} events lost: {causes}; {remedies}"));
}

/// Returns what helps against a cause under a policy.
fn remedy(cause: LossCause, policy: Policy) -> &'static str {
    match (cause, policy) {
        (LossCause::PoolFull, Policy::Wait(_)) => "raise TELEMETRY_BUFFER",
        // Sinks did not take the blocks that were overwritten.
        (LossCause::Sink, Policy::OverwriteOldest) => LossCause::PoolFull.remedy(),
        (cause, _) => cause.remedy(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helps_depends_on_the_policy() {
        let wait = Policy::Wait(core::time::Duration::from_secs(1));
        for (cause, policy, expected) in [
            (LossCause::PoolFull, Policy::DropNewest, LossCause::PoolFull.remedy()),
            (LossCause::PoolFull, Policy::OverwriteOldest, LossCause::PoolFull.remedy()),
            (LossCause::PoolFull, wait, "raise TELEMETRY_BUFFER"),
            (LossCause::Sink, Policy::DropNewest, LossCause::Sink.remedy()),
            (LossCause::Sink, Policy::OverwriteOldest, LossCause::PoolFull.remedy()),
            (LossCause::Sink, wait, LossCause::Sink.remedy()),
            (LossCause::Reentrant, wait, LossCause::Reentrant.remedy()),
            (LossCause::Reentrant, Policy::OverwriteOldest, LossCause::Reentrant.remedy()),
        ] {
            assert_eq!(remedy(cause, policy), expected, "{cause:?} {policy:?}");
        }
    }
}
