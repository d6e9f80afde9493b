//! Which parameter of an event is a stack, and the texts of its frames.

use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Event, Value};
use telemetry_schema::{Count, Param};

use crate::stats::is_number;

/// Names of lists that are stacks.
const NAMES: [&str; 2] = ["stack", "frames"];

/// How the stacks of a type of event are taken.
#[derive(Debug, Clone, Copy)]
pub struct StackRole {
    /// Index of the parameter with the frames.
    pub stack: usize,
    /// Index of a parameter with bytes, if there is one.
    pub bytes: Option<usize>,
    is_outermost_first: bool,
}

impl StackRole {
    /// Returns how the stacks of a type of event are taken, if it has some.
    pub fn of(event: &Event<'_>) -> Option<StackRole> {
        if event.registry().name == RUNTIME_REGISTRY {
            // Its events describe stacks of others.
            return None;
        }
        let params = &event.schema().params;
        let is_stack = |param: &Param| param.count != Count::One && NAMES.contains(&param.name.as_str());
        let stack = params.iter().position(is_stack)?;
        let is_bytes =
            |param: &Param| param.unit == "bytes" && param.count == Count::One && is_number(param.sort);
        // Mono's stacks have the innermost frame last, but for samples.
        let is_outermost_first = event.registry().name == "mono" && !event.name().starts_with("Sample");
        Some(StackRole { stack, bytes: params.iter().position(is_bytes), is_outermost_first })
    }

    /// Passes the text of each frame to a function, at most `most` of them. Returns the results,
    /// that of the outermost frame first.
    pub fn frames<T>(&self, event: &Event<'_>, most: usize, mut each: impl FnMut(String) -> T) -> Vec<T> {
        let Some(Value::Array(frames)) = event.value(self.stack) else { return Vec::new() };
        let mut frames: Vec<T> =
            frames.iter().take(most).map(|frame| each(self.text(&frame, event))).collect();
        if !self.is_outermost_first {
            frames.reverse();
        }
        frames
    }

    fn text(&self, frame: &Value<'_>, event: &Event<'_>) -> String {
        let text = event.numbers(self.stack).and_then(|numbers| event.string_of(numbers, frame));
        let text = text.or_else(|| event.name_of_value(frame).and_then(|name| name.text()));
        match (text, frame) {
            (Some(text), _) => text.to_string(),
            (None, Value::Label(label)) => event.label(*label).unwrap_or_default().to_string(),
            (None, frame) => frame.to_string(),
        }
    }
}
