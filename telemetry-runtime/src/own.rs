//! The runtime's own registry: what it says of itself in every stream.

use telemetry_derive::telemetry_event;

use crate::registry::Registry;

#[telemetry_event("telemetry.toml", crate = "crate", at = "own::events")]
pub(crate) mod events {}

pub(crate) use events::{ControlAction, ControlMask, MessageDrop};

/// Bit of the kind `Label`.
pub(crate) const LABEL_KIND: u8 = 1;
/// Code of `Intern`.
pub(crate) const INTERN: u16 = 2;
/// Code of `LabelAddress`.
pub(crate) const LABEL_ADDRESS: u16 = 3;
/// Most bytes of the string of `Intern`.
pub(crate) const MAX_STRING: usize = 4096;

/// The registry.
pub(crate) fn registry() -> &'static Registry {
    &events::REGISTRY
}

/// Tells that switches were changed. Not while the thread has the lock of control, which the first
/// event of a registry needs.
pub(crate) fn control_change(mask: ControlMask, action: ControlAction, words: &str) {
    events::control_change!(mask, action, words);
}

/// Tells that a message was not posted.
pub(crate) fn message_dropped(registry: &str, message: &str, why: MessageDrop, dropped: u64) {
    events::messages_dropped!(registry, message, why, dropped);
}
