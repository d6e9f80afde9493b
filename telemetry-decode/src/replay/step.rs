//! The operation of an event on an allocator.

use telemetry_schema::{Replay, ReplayAction, ReplayRole};

use crate::registry::event::Event;

/// The alignment if the event does not have one: that of C's `malloc` on most systems.
pub const DEFAULT_ALIGN: u64 = 16;

/// The operation of an event on an allocator. Pointers are those of the recorded program; 0 is no
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Memory was allocated.
    Alloc {
        /// The address; 0 if the allocation failed.
        pointer: u64,
        /// Bytes.
        size: u64,
        /// The alignment of the pointer.
        align: u64,
    },
    /// Memory was freed.
    Free {
        /// The address.
        pointer: u64,
        /// Its size, if the event has it.
        size: Option<u64>,
    },
    /// Memory got another size, and perhaps another address.
    Realloc {
        /// The old address; 0 if there was none.
        old: u64,
        /// The new address; 0 if the reallocation failed.
        pointer: u64,
        /// Bytes.
        size: u64,
        /// The alignment of the pointer.
        align: u64,
    },
}

impl Step {
    /// Returns the operation of an event. Returns `None` without a mark, or for a mark that only
    /// the program's own replayer handles.
    pub fn of(event: &Event<'_>) -> Option<Step> {
        Step::marked(event, event.schema.replay.as_ref()?)
    }

    /// Returns the operation by a mark that the event's own registry may not have.
    pub fn marked(event: &Event<'_>, replay: &Replay) -> Option<Step> {
        let number = |role| event.value(replay.param(role)?)?.as_u64();
        let align = || number(ReplayRole::Align).unwrap_or(DEFAULT_ALIGN);
        let (pointer, size) = (number(ReplayRole::Pointer), number(ReplayRole::Size));
        Some(match replay.action {
            ReplayAction::Alloc => Step::Alloc { pointer: pointer?, size: size?, align: align() },
            ReplayAction::Free => Step::Free { pointer: pointer?, size },
            ReplayAction::Realloc => {
                let old = number(ReplayRole::Old)?;
                Step::Realloc { old, pointer: pointer?, size: size?, align: align() }
            }
            ReplayAction::Custom => return None,
        })
    }
}
