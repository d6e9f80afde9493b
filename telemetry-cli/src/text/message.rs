//! The message that an event posts to the program.

use telemetry_decode::Event;

/// What an event is to its message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Begin,
    End,
    /// The message has no other event.
    Whole,
}

/// The name of the message that an event posts, and what it is to that.
pub(crate) fn of<'e>(event: &Event<'e>) -> Option<(&'e str, Part)> {
    let registry = event.registry();
    let index = registry.event_index(event.schema.code)?;
    registry.messages.iter().find_map(|message| {
        let part = match (message.begin == index, message.end) {
            (true, None) => Part::Whole,
            (true, Some(_)) => Part::Begin,
            (false, Some(end)) if end == index => Part::End,
            _ => return None,
        };
        Some((message.name.as_str(), part))
    })
}
