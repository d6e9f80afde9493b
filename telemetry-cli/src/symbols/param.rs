//! The parameter of an event that is a call stack.

use telemetry_decode::Event;
use telemetry_report::stacks::StackRole;
use telemetry_schema::Role;

use super::stacks::Stacks;

/// The maximum of frames of a list.
const MAX_FRAMES: usize = 500;

/// How the stacks of a type of event are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StackParam {
    /// The frames are in a list.
    Listed(StackRole),
    /// The parameter with this index has the number of a stack.
    Numbered(usize),
}

impl StackParam {
    /// Returns how the stacks of a type of event are taken, if it has some.
    pub(crate) fn of(event: &Event<'_>) -> Option<StackParam> {
        let numbered = event.schema().params.iter().position(|param| param.role == Some(Role::Stack));
        let listed = || StackRole::of(event).map(StackParam::Listed);
        numbered.map(StackParam::Numbered).or_else(listed)
    }

    /// Returns the index of the parameter.
    pub(crate) fn index(&self) -> usize {
        match self {
            StackParam::Listed(role) => role.stack,
            StackParam::Numbered(index) => *index,
        }
    }

    /// Returns the functions of an event's stack, the innermost first.
    pub(crate) fn frames(&self, event: &Event<'_>, stacks: &mut Stacks) -> Vec<String> {
        match self {
            StackParam::Listed(role) => listed(role, event),
            StackParam::Numbered(index) => {
                let stack = event.value(*index).and_then(|value| value.as_u64());
                stacks.frames(event.session(), stack.unwrap_or(0))
            }
        }
    }
}

/// Returns the frames of a list, the innermost first.
pub(crate) fn listed(role: &StackRole, event: &Event<'_>) -> Vec<String> {
    let mut frames = role.frames(event, MAX_FRAMES, |text| text);
    frames.reverse();
    frames
}
