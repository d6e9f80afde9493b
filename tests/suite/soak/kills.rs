//! Processes beside a long life that are killed while they write a ring file. Each finds the ring
//! file of the one before, as after a restart.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Life, Random, run};
use crate::ring::kill::{kill, moment};

/// The processes that were killed.
#[derive(Debug, Default)]
pub(super) struct Kills {
    pub(super) processes: u64,
    /// Those that had moved the ring file of the process before.
    pub(super) restarts: u64,
    /// Events that were recorded, and then recovered, or known to be evicted.
    pub(super) events: u64,
}

/// Kills processes until the long life has ended. Checks what each of them leaves. Most have only
/// the flight recorder on. Every fourth has a stream beside the ring file, and sinks that come and
/// go.
pub(super) fn kill_and_restart(ended: &AtomicBool) -> Kills {
    let mut random = Random(11);
    let (mut kills, mut earlier) = (Kills::default(), None::<Vec<u8>>);
    while !ended.load(Ordering::Acquire) || kills.restarts == 0 {
        let number = kills.processes;
        kills.processes += 1;
        if number % 4 == 3 {
            // These seeds are those of lives that end by a kill.
            kills.events += run(Life::new(6 * number + 1));
        } else {
            let buffer = random.of(["256k", "1M", "4M"]);
            let killed = kill(buffer, moment(number, random.below(1 << 40)), earlier.as_deref());
            kills.restarts += u64::from(killed.has_moved);
            kills.events += killed.recorded;
            earlier = killed.ring();
        }
        std::thread::sleep(Duration::from_millis(random.below(300)));
    }
    kills
}
