//! What an event asks of an allocator.

use telemetry_schema::{Replay, ReplayAction, ReplayRole};

use crate::registry::event::Event;

/// The alignment of memory whose event does not say it: that of C's `malloc` on most systems.
pub const DEFAULT_ALIGN: u64 = 16;

/// What an event asks of an allocator. Pointers are those of the recorded program; 0 is no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Memory was allocated.
    Alloc {
        /// Where; 0 if the allocation failed.
        pointer: u64,
        /// Bytes.
        size: u64,
        /// What the pointer is a multiple of.
        align: u64,
    },
    /// Memory was freed.
    Free {
        /// Where it was.
        pointer: u64,
        /// Bytes, where the event says it.
        size: Option<u64>,
    },
    /// Memory was given another size, and perhaps another place.
    Realloc {
        /// Where it was; 0 if there was none.
        old: u64,
        /// Where it is; 0 if that failed.
        pointer: u64,
        /// Bytes.
        size: u64,
        /// What the pointer is a multiple of.
        align: u64,
    },
}

impl Step {
    /// What an event asks for; none without a mark, or with one for the program's own replayer only.
    pub fn of(event: &Event<'_>) -> Option<Step> {
        Step::marked(event, event.schema.replay.as_ref()?)
    }

    /// The same by a mark that the event's own registry may not have.
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
