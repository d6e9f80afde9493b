//! The switches that the program and its users change. Events of the runtime's own registry report
//! changes.

use std::time::{Duration, Instant};

use crate::control::switches::{self as control, Expired, Mask};
use crate::memory::registry::{self, Registry};
use crate::own::registry::{self as own, ControlAction, ControlMask};
use crate::own::sample::sample;
use crate::run::wake::wake;

/// Switches on what the words name, so that it is recorded and output.
///
/// ```
/// telemetry_runtime::set("Arena Pool -PoolAlloc gc:Trace");
/// ```
pub fn set(words: &str) {
    try_change(Mask::Output, words, true);
}

/// The longest time of [`set_for`]: a day.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Switches on what the words name for a time, at most a day. Then it is as if the call had not
/// been made.
///
/// What [`set`] and [`reset`] do meanwhile stays, and [`get`] does not have these words. A call
/// with the same words extends the time. [`reset`] also ends the time of what it names. At most 64
/// lists of words are on for a time; further ones are reported, and have no effect.
///
/// The thread of the drain ends the time. A program that ends, or that forks, needs to do nothing.
///
/// ```
/// use std::time::Duration;
/// telemetry_runtime::set_for("Ref", Duration::from_secs(5));
/// ```
pub fn set_for(words: &str, time: Duration) {
    try_set_for(words, time);
}

/// Does the same as [`set_for`]. Returns false if it did nothing: the run is over, or this code
/// interrupts the owner of the lock.
pub(crate) fn try_set_for(words: &str, time: Duration) -> bool {
    let until = Instant::now() + time.min(MAX_TIME);
    if words.trim().is_empty() || !own::ensure() || !control::try_set_for(words, until) {
        return false;
    }
    sample();
    own::control_change(ControlMask::Output, ControlAction::Set, words);
    own::begin_drain();
    // It may sleep for longer.
    wake();
    true
}

/// Ends the times of [`set_for`] that are over. Returns how long the next one still has. Called by
/// the drain.
pub(crate) fn expire() -> Option<Duration> {
    let now = Instant::now();
    if control::is_due(now) {
        sample();
    }
    let Expired { over, still, rest } = control::expire(now);
    for words in &over {
        own::control_change(ControlMask::Output, ControlAction::Reset, words);
    }
    for words in &still {
        own::control_change(ControlMask::Output, ControlAction::Set, words);
    }
    rest
}

/// Switches off what the words name. `reset("all")` switches everything off. A leading `-` switches
/// on.
pub fn reset(words: &str) {
    try_change(Mask::Output, words, false);
}

/// Returns the words that say what is output, in a form that [`set`] accepts. After `reset("all")`
/// they restore this state, also for registries that come into use later. Words without effect are
/// left out.
///
/// ```
/// telemetry_runtime::set("Arena Pool -PoolAlloc");
/// let before = telemetry_runtime::get();
/// telemetry_runtime::set("all");
/// telemetry_runtime::reset("all");
/// telemetry_runtime::set(&before);
/// assert_eq!(telemetry_runtime::get(), "Arena Pool -PoolAlloc");
/// ```
pub fn get() -> String {
    remembered(Mask::Output)
}

/// Returns what is output in the registries in use: `registry:Kind` for a kind with all events on,
/// else `registry:Event`. The text is empty if nothing is on. A registry is in use from its first
/// event on.
pub fn enabled() -> String {
    in_use(Mask::Output)
}

/// Makes the flight recorder record what the words name, even if it is not output, see
/// [`crate::snapshot`]. If an event of such a kind is output, the sinks get all recorded events of
/// the kind.
pub fn set_record(words: &str) {
    try_change(Mask::Record, words, true);
}

/// Removes what the words name from the flight recorder. Events that are output are still recorded.
pub fn reset_record(words: &str) {
    try_change(Mask::Record, words, false);
}

/// Returns the words that say what the flight recorder records, in the form of [`get`].
pub fn get_record() -> String {
    remembered(Mask::Record)
}

/// Returns what the flight recorder records in the registries in use, in the form of [`enabled`].
pub fn enabled_record() -> String {
    in_use(Mask::Record)
}

/// Returns what is on, for other processes that ask. The form is that of [`enabled`], or that of
/// [`get`] while no registry is in use.
#[cfg_attr(any(not(unix), miri), allow(dead_code))]
pub(crate) fn shown(mask: Mask) -> String {
    match registry::all().all(Registry::is_own) {
        true => remembered(mask),
        false => in_use(mask),
    }
}

/// Reports words that match nothing, see [`control::warn`].
pub(crate) fn warn() {
    control::warn(own::registry());
}

/// Returns the words that match nothing in the registries in use.
#[cfg_attr(any(not(unix), miri), allow(dead_code))]
pub(crate) fn unknown(words: &str) -> Vec<String> {
    control::unknown(own::registry(), words)
}

/// Adds words to a mask, or takes them away. Returns false if it did nothing: the run is over, or
/// this code interrupts the owner of the lock.
pub(crate) fn try_change(mask: Mask, words: &str, set: bool) -> bool {
    if !own::ensure() {
        return false;
    }
    // The last values of counters that are switched off, and the first of those that are switched
    // on.
    if !set {
        sample();
    }
    if !control::try_change(mask, words, set) {
        return false;
    }
    if set {
        sample();
    }
    let mask = match mask {
        Mask::Output => ControlMask::Output,
        Mask::Record => ControlMask::Record,
    };
    let action = if set { ControlAction::Set } else { ControlAction::Reset };
    own::control_change(mask, action, words);
    true
}

fn remembered(mask: Mask) -> String {
    if own::ensure() { control::remembered(mask) } else { String::new() }
}

fn in_use(mask: Mask) -> String {
    if own::ensure() { control::in_use(mask) } else { String::new() }
}
