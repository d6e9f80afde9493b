//! The parameter of an event that is a call stack.

use telemetry_decode::{Event, Value};
use telemetry_report::stacks::StackRole;
use telemetry_schema::{Count, Param, Role, Sort};

use super::stacks::Stacks;

/// The maximum of frames of a list.
const MAX_FRAMES: usize = 500;

/// The name of a list of places of code.
const PLACES: &str = "ips";

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
            StackParam::Listed(role) => match listed(role, event) {
                frames if frames.is_empty() => at_places(event, stacks),
                frames => frames,
            },
            StackParam::Numbered(index) => {
                let stack = event.value(*index).and_then(|value| value.as_u64());
                stacks.frames(event.session(), stack.unwrap_or(0))
            }
        }
    }
}

/// Returns the parameter that has places of code, the innermost first, beside a list of frames
/// which may be empty: samples of Mono have both.
pub(crate) fn places(event: &telemetry_schema::Event) -> Option<usize> {
    let is_list = |param: &Param| param.count != Count::One && param.sort == Sort::Pointer;
    event.params.iter().position(|param| is_list(param) && param.name == PLACES)
}

/// Returns the functions at the places of code that an event has, the innermost first.
fn at_places(event: &Event<'_>, stacks: &Stacks) -> Vec<String> {
    let Some(Value::Array(places)) = places(event.schema()).and_then(|param| event.value(param)) else {
        return Vec::new();
    };
    let places = places.iter().take(MAX_FRAMES).enumerate();
    places.map(|(at, place)| stacks.name_of_place(event.session().id, at, &place.to_string())).collect()
}

/// Returns the frames of a list, the innermost first.
pub(crate) fn listed(role: &StackRole, event: &Event<'_>) -> Vec<String> {
    let mut frames = role.frames(event, MAX_FRAMES, |text| text);
    frames.reverse();
    frames
}
