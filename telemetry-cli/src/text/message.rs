//! The message that an event posts to the program.

use telemetry_decode::Event;

/// The part that an event has in its message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Begin,
    End,
    /// The message has one event only.
    Whole,
}

/// Returns the name of the message that an event posts, and the event's part in it.
pub(crate) fn of<'e>(event: &Event<'e>) -> Option<(&'e str, Part)> {
    let registry = event.registry();
    let index = registry.event_index(event.schema().code)?;
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
