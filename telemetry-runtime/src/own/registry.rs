//! The runtime's own registry: what it reports of itself in every stream.
// Its emitters are probes, too, if probes are compiled in.
#![cfg_attr(telemetry_usdt, allow(unsafe_code))]

use telemetry_derive::telemetry_event;
use telemetry_format::{Label, put};

use crate::memory::registry::Registry;
use crate::model::limit_def::LeftOut;
use crate::sys::Usage;

#[telemetry_event("telemetry.toml", crate = "crate", at = "own::registry::events")]
pub(crate) mod events {}

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use events::Signal;
pub(crate) use events::{ControlAction, ControlMask, MessageDrop};

pub(crate) use telemetry_format::own::{INTERN, LABEL_ADDRESS, LABEL_KIND, MAX_STRING, PROCESS};

/// What call stacks and samples need, where they are taken.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod for_stacks {
    pub(crate) use super::events::StackEnd;
    pub(crate) use telemetry_format::own::{
        MAX_BUILD_ID, MAX_FRAMES, MAX_PATH, MODULE, SAMPLE_KIND, SAMPLED, STACK,
    };
}
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) use for_stacks::*;

/// The most bytes of the message and of the file of `Panicked`.
const MAX_PANIC: usize = 1024;
const MAX_PANIC_FILE: usize = 512;

/// Returns the registry.
pub(crate) fn registry() -> &'static Registry {
    &events::REGISTRY
}

/// Starts the runtime unless it is running. Returns false once the run is over, and in code that
/// interrupts the thread that starts the runtime.
pub(crate) fn ensure() -> bool {
    (registry().upcalls().ensure)()
}

/// Starts the drain's thread unless it is running.
pub(crate) fn begin_drain() {
    (registry().upcalls().begin_drain)();
}

/// Emits that switches were changed. The thread must not have the lock of control, which the first
/// event of a registry needs.
pub(crate) fn control_change(mask: ControlMask, action: ControlAction, words: &str) {
    events::control_change!(mask, action, words);
}

/// Emits that a message was not posted.
pub(crate) fn message_dropped(registry: &str, message: &str, why: MessageDrop, dropped: u64) {
    events::messages_dropped!(registry, message, why, dropped);
}

/// Emits that this thread panics. What is too long is cut here: that is no loss of the stream.
pub(crate) fn panicked(message: &str, file: &str, line: u32) {
    events::panicked!(put::truncate(message, MAX_PANIC), put::truncate(file, MAX_PANIC_FILE), line);
}

/// Emits with which status the process ends.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
pub(crate) fn exited(status: i32) {
    events::exited!(status);
}

/// Emits that this thread got a signal.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn signaled(signal: Signal, code: i32, address: u64) {
    events::signaled!(signal, code, address);
}

/// Emits a sample of this thread.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) fn sampled(stack: u32, periods: u32) {
    events::sampled!(stack, periods);
}

/// Emits a mark, with a label that is asked for only if marks are on.
#[inline(always)]
pub(crate) fn mark(text: impl FnOnce() -> Label) {
    events::mark!(text());
}

/// Emits that events of a program were left out.
#[doc(hidden)]
pub fn left_out(told: &LeftOut) {
    let &LeftOut { registry, event, thread, left_out, so_far } = told;
    events::events_left_out!(registry, event, thread, left_out, so_far);
}

/// Emits what the process uses: the system's numbers, bytes of the pool in use, lost events.
pub(crate) fn process(usage: &Usage, pool: u64, lost: u64) {
    let &Usage { resident, user, system, minor_faults, major_faults, waits, preemptions } = usage;
    events::process!(resident, user, system, minor_faults, major_faults, waits, preemptions, pool, lost);
}
