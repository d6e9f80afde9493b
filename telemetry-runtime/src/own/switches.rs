//! The switches that the program and its users change. Events of the runtime's own registry report
//! changes.

use crate::control::switches::{self as control, Mask};
use crate::memory::registry::{self, Registry};
use crate::own::registry::{self as own, ControlAction, ControlMask};

/// Switches on what the words name, so that it is recorded and output.
///
/// ```
/// telemetry_runtime::set("Arena Pool -PoolAlloc gc:Trace");
/// ```
pub fn set(words: &str) {
    try_change(Mask::Output, words, true);
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
    if !own::ensure() || !control::try_change(mask, words, set) {
        return false;
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
