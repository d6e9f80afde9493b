//! Parameters of events that begin or end spans, until the spans are written.

use hashbrown::HashMap;

/// The most bytes of parameters that are kept.
const MAX_BYTES: usize = 64 << 20;

/// What is left out if there is no more room.
pub(crate) const TOO_MANY: &str =
    "that begin or end spans were written without parameters: too many spans are open";

/// Events that wait for their spans, each with something of the writer's.
pub(crate) struct Held<T> {
    events: HashMap<u64, OneHeld<T>>,
    bytes: usize,
}

struct OneHeld<T> {
    what: T,
    bytes: usize,
    /// Spans that were not written yet.
    spans: u32,
    /// The type of a span whose begin is written.
    begun: Option<usize>,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Held { events: HashMap::new(), bytes: 0 }
    }
}

impl<T> Held<T> {
    /// Returns true if parameters of this size can be kept.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes + bytes <= MAX_BYTES
    }

    /// Keeps an event for a number of spans.
    pub(crate) fn put(&mut self, number: u64, spans: u32, what: T, bytes: usize) {
        self.bytes += bytes;
        self.events.insert(number, OneHeld { what, bytes, spans, begun: None });
    }

    /// Returns an event.
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.events.get(&number).map(|held| &held.what)
    }

    /// Notes that the begin of a span of this type is written.
    pub(crate) fn begin(&mut self, number: u64, def: usize) {
        if let Some(held) = self.events.get_mut(&number) {
            held.begun = Some(def);
        }
    }

    /// Returns true if the begin of such a span is written.
    pub(crate) fn is_begun(&self, number: u64, def: usize) -> bool {
        self.events.get(&number).is_some_and(|held| held.begun == Some(def))
    }

    /// Forgets an event after the last of its spans.
    pub(crate) fn done(&mut self, number: u64) {
        let Some(held) = self.events.get_mut(&number) else { return };
        held.spans -= 1;
        if held.spans == 0 {
            self.bytes -= held.bytes;
            self.events.remove(&number);
        }
    }
}
