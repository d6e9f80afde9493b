//! Events that are messages to the program itself.

use telemetry_decode::Event;
use telemetry_schema::MessagePart;

use crate::batch::table_batch::Batch;
use crate::model::sides::MESSAGES;
use crate::side::rows::Rows;

/// Collects the rows of the table `message`.
#[derive(Debug)]
pub struct Messages {
    rows: Rows,
}

impl Default for Messages {
    fn default() -> Self {
        Messages { rows: Rows::of_side(&MESSAGES) }
    }
}

impl Messages {
    /// Takes an event. Returns a batch if one is complete.
    #[inline]
    pub fn push(&mut self, event: &Event<'_>) -> Option<Batch> {
        if event.registry().messages.is_empty() { None } else { self.add(event) }
    }

    /// Returns the last batch, after all events.
    pub fn finish(&mut self) -> Option<Batch> {
        self.rows.finish()
    }

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
