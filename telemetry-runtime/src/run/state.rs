//! The state of the run, from its start to its end, and its policy and latency.

use std::time::Duration;

use crate::run::clock::{self, Moment};
use crate::sys;
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};

const DEFAULT_LATENCY: Duration = Duration::from_secs(1);

const NEW: u32 = 0;
const STARTING: u32 = 1;
const READY: u32 = 2;
const OVER: u32 = 3;
/// The bits of the state. Above them is the process that starts the runtime or runs it.
const STATE_BITS: u32 = 2;

/// The state and its process in one word, so that a copy of the memory has both or none.
static STATE: AtomicU32 = AtomicU32::new(NEW);
static SESSION: AtomicU64 = AtomicU64::new(0);
static START_TICKS: AtomicU64 = AtomicU64::new(0);
static START_WALL: AtomicU64 = AtomicU64::new(0);

/// Returns the number of this run.
pub(crate) fn session() -> u64 {
    SESSION.load(Ordering::Relaxed)
}

/// Returns when this run began.
pub(crate) fn moment() -> Moment {
    Moment { ticks: START_TICKS.load(Ordering::Relaxed), wall: START_WALL.load(Ordering::Relaxed) }
}

/// Returns true between the start and the end.
pub(crate) fn is_running() -> bool {
    state() == READY
}

fn state() -> u32 {
    STATE.load(Ordering::Acquire) % (1 << STATE_BITS)
}

fn of_this_process(state: u32) -> u32 {
    std::process::id() << STATE_BITS | state
}

/// Returns true if the state is that of another process: its fork made this one, and began before
/// the runtime had asked for the calls around forks. So this process has its memory, but not the
/// thread that starts the runtime, or the drain's.
pub(crate) fn is_of_parent() -> bool {
    let word = STATE.load(Ordering::Acquire);
    let state = word % (1 << STATE_BITS);
    [STARTING, READY].contains(&state) && word != of_this_process(state)
}

/// Ends the run: from now on nothing is recorded or written.
pub(crate) fn end() {
    STATE.store(OVER, Ordering::Release);
}

/// Returns true once the run has ended.
pub(crate) fn is_over() -> bool {
    state() == OVER
}

/// Returns true if the runtime has not begun to start.
pub(crate) fn is_new() -> bool {
    state() == NEW
}

/// Returns true while a thread starts the runtime.
pub(crate) fn is_starting() -> bool {
    state() == STARTING
}

/// Takes the right to start the runtime. Returns false if another thread has taken it.
pub(crate) fn claim() -> bool {
    let starting = of_this_process(STARTING);
    STATE.compare_exchange(NEW, starting, Ordering::Acquire, Ordering::Acquire).is_ok()
}

/// Begins a session, and sets its number and its first moment. Its events are not recorded before
/// [`run`].
pub(crate) fn begin() {
    let moment = clock::now();
    START_TICKS.store(moment.ticks, Ordering::Relaxed);
    START_WALL.store(moment.wall, Ordering::Relaxed);
    SESSION.store(sys::random(), Ordering::Relaxed);
}

/// Records that the runtime has started.
pub(crate) fn run() {
    STATE.store(of_this_process(READY), Ordering::Release);
}

/// Returns to the state before the first event, in the child of a fork.
pub(crate) fn reset_in_child() {
    STATE.store(NEW, Ordering::Release);
}

/// What happens to an event if the pool is full. Whatever the policy, the flight recorder evicts
/// its blocks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// The event is lost.
    #[default]
    DropNewest,
    /// The event overwrites the oldest block that no sink has taken, whose events are then lost.
    OverwriteOldest,
    /// The thread waits for memory, for this long at most, from 1 µs to an hour. Then the event is
    /// lost. The drain's thread never waits for memory; it waits this long for a sink whose reader
    /// is slow.
    Wait(Duration),
}

/// The policy: 0 drops, 1 overwrites, and larger values are 2 plus the nanoseconds to wait.
static POLICY: AtomicU64 = AtomicU64::new(0);

/// Returns what happens to events while the pool is full.
pub(crate) fn policy() -> Policy {
    match POLICY.load(Ordering::Relaxed) {
        0 => Policy::DropNewest,
        1 => Policy::OverwriteOldest,
        wait => Policy::Wait(Duration::from_nanos(wait - 2)),
    }
}

pub(crate) fn set_policy(policy: Policy) {
    let number = match policy {
        Policy::DropNewest => 0,
        Policy::OverwriteOldest => 1,
        Policy::Wait(longest) => {
            2 + longest.clamp(Duration::from_micros(1), Duration::from_secs(3600)).as_nanos() as u64
        }
    };
    POLICY.store(number, Ordering::Relaxed);
}

/// How long an event may stay in memory, in nanoseconds; 0 before the start.
static LATENCY: AtomicU64 = AtomicU64::new(0);

/// Sets how long an event may stay in memory. `None` is the default.
pub(crate) fn set_latency(latency: Option<Duration>) {
    let latency = latency.unwrap_or(DEFAULT_LATENCY);
    let latency = latency.clamp(Duration::from_millis(1), Duration::from_secs(3600));
    LATENCY.store(latency.as_nanos() as u64, Ordering::Relaxed);
}

/// Returns how long an event may stay in memory.
pub(crate) fn latency() -> Duration {
    match LATENCY.load(Ordering::Relaxed) {
        0 => DEFAULT_LATENCY,
        latency => Duration::from_nanos(latency),
    }
}

/// How often counters are sampled, in nanoseconds; 0 is never.
static SAMPLE_INTERVAL: AtomicU64 = AtomicU64::new(0);

/// Sets how often counters are sampled, from 1 ms to an hour. `None` is never.
pub(crate) fn set_sample_interval(interval: Option<Duration>) {
    let interval =
        interval.map(|interval| interval.clamp(Duration::from_millis(1), Duration::from_secs(3600)));
    SAMPLE_INTERVAL.store(interval.map_or(0, |interval| interval.as_nanos() as u64), Ordering::Relaxed);
}

/// Returns how often counters are sampled.
pub(crate) fn sample_interval() -> Option<Duration> {
    Some(SAMPLE_INTERVAL.load(Ordering::Relaxed)).filter(|&interval| interval > 0).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);
    const MILLI: Duration = Duration::from_millis(1);
    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_secs(3600);

    /// The only test that sets them. No start of the runtime does meanwhile.
    #[test]
    fn what_is_set_is_limited_and_comes_back() {
        assert!(crate::own::registry::ensure());
        for (given, expected) in [
            (Policy::OverwriteOldest, Policy::OverwriteOldest),
            (Policy::Wait(Duration::ZERO), Policy::Wait(MICRO)),
            (Policy::Wait(5 * SECOND), Policy::Wait(5 * SECOND)),
            (Policy::Wait(Duration::MAX), Policy::Wait(HOUR)),
            (Policy::DropNewest, Policy::DropNewest),
        ] {
            set_policy(given);
            assert_eq!(policy(), expected);
        }
        for (given, expected) in [
            (Some(Duration::ZERO), MILLI),
            (Some(7 * MILLI), 7 * MILLI),
            (Some(Duration::MAX), HOUR),
            (None, SECOND),
        ] {
            set_latency(given);
            assert_eq!(latency(), expected);
        }
        for (given, expected) in [
            (None, None),
            (Some(MICRO), Some(MILLI)),
            (Some(7 * MILLI), Some(7 * MILLI)),
            (Some(Duration::MAX), Some(HOUR)),
            (Some(SECOND), Some(SECOND)),
        ] {
            set_sample_interval(given);
            assert_eq!(sample_interval(), expected);
        }
    }
}
