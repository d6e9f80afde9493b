//! The message that an event posts to the program.

use telemetry_decode::Event;
pub(crate) use telemetry_schema::MessagePart as Part;

/// Returns the name of the message that an event posts, and the event's part in it.
pub(crate) fn of<'e>(event: &Event<'e>) -> Option<(&'e str, Part)> {
    let (message, part) = event.registry().message_of(event.index())?;
    Some((message.name.as_str(), part))
}
