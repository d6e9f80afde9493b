//! Events that are messages to the program itself.

use telemetry_decode::{Event, KnownRegistry};
use telemetry_schema::MessagePart;

use crate::batch::table_batch::Batch;
use crate::model::sides::MESSAGES;
use crate::side::rows::Rows;

/// Collects the rows of the table `message`.
#[derive(Debug)]
pub struct Messages {
    rows: Rows,
    /// The registry of the last event, and for each of its event types, if it is a message.
    last: Option<(u64, Vec<bool>)>,
}

impl Default for Messages {
    fn default() -> Self {
        Messages { rows: Rows::of_side(&MESSAGES), last: None }
    }
}

impl Messages {
    /// Takes an event. Returns a batch if one is complete.
    #[inline]
    pub fn push(&mut self, event: &Event<'_>) -> Option<Batch> {
        let known = event.known_registry();
        if known.registry.messages.is_empty() {
            return None;
        }
        let is_message = match &self.last {
            Some((last, are_messages)) if *last == known.fingerprint => are_messages.get(event.index()),
            _ => self.enter(known).get(event.index()),
        };
        if is_message == Some(&true) { self.add(event) } else { None }
    }

    /// Returns the last batch, after all events.
    pub fn finish(&mut self) -> Option<Batch> {
        self.rows.finish()
    }

    /// Changes to another registry.
    #[cold]
    fn enter(&mut self, known: &KnownRegistry) -> &[bool] {
        let registry = &known.registry;
        let are_messages = (0..registry.events.len()).map(|event| registry.message_of(event).is_some());
        &self.last.insert((known.fingerprint, are_messages.collect())).1
    }

    #[cold]
    fn add(&mut self, event: &Event<'_>) -> Option<Batch> {
        let (message, part) = event.registry().message_of(event.index())?;
        let part = match part {
            MessagePart::Begin => "begin",
            MessagePart::End => "end",
            MessagePart::Whole => "whole",
        };
        self.rows.push([
            event.session().id.into(),
            event.thread().into(),
            event.position().into(),
            event.time_ns().into(),
            event.wall_ns().into(),
            event.registry().name.as_str().into(),
            message.name.as_str().into(),
            part.into(),
            event.name().into(),
        ])
    }
}
