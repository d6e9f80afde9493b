//! What events did to an allocator, by the marks `replay` of their registries.

use std::collections::HashMap;

use telemetry_decode::Event;
use telemetry_schema::{Registry, Replay};

use super::inputs::Inputs;

/// The marks of events.
pub(crate) struct Marks<'i> {
    inputs: &'i Inputs,
    /// Given registries by fingerprint. Their marks count if the stream's registry has none.
    given: HashMap<u64, Option<&'i Registry>>,
}

impl<'i> Marks<'i> {
    pub(crate) fn new(inputs: &'i Inputs) -> Marks<'i> {
        Marks { inputs, given: HashMap::new() }
    }

    /// Returns the mark of an event. A stream may be older than the marks of its registry.
    pub(crate) fn of<'a>(&mut self, event: &Event<'a>) -> Option<&'a Replay>
    where
        'i: 'a,
    {
        if event.schema().replay.is_some() {
            return event.schema().replay.as_ref();
        }
        let (inputs, fingerprint) = (self.inputs, event.known_registry().fingerprint);
        let given = *self.given.entry(fingerprint).or_insert_with(|| inputs.given(fingerprint));
        given?.event(event.schema().code)?.replay.as_ref()
    }
}
