//! A generated struct for an event with memory of its own.

use crate::registry::owned::OwnedEvent;
use crate::typed::generated::Typed;
use crate::typed::typed_events::decoded;

/// An event type as `#[telemetry_event(..., decode)]` generates it: the struct of one event.
pub trait TypedEvent {
    /// The decoders of its registry.
    type Decoder: Typed;
    /// The struct, with the lifetime of what it borrows.
    type Of<'a>;

    /// Its name in the registry.
    const NAME: &'static str;
    /// Its index in the registry.
    const INDEX: u32;
    /// The fingerprint of the registry.
    const FINGERPRINT: u64;

    /// Returns the struct if the event is of this type.
    fn of(event: <Self::Decoder as Typed>::Event<'_>) -> Option<Self::Of<'_>>;
}

impl OwnedEvent {
    /// Returns true if the event is of this type, in this version of the registry.
    #[must_use]
    pub fn is<E: TypedEvent>(&self) -> bool {
        self.kept.fingerprint == E::FINGERPRINT && self.index == E::INDEX as usize
    }

    /// Returns the event as its generated struct. Returns `None` if it is of another type or of
    /// another version of the registry, or if it has a string that is not UTF-8.
    #[must_use]
    pub fn typed<E: TypedEvent>(&self) -> Option<E::Of<'_>> {
        if !self.is::<E>() {
            return None;
        }
        decoded::<E::Decoder>(E::INDEX, &self.raw, &self.payload).and_then(E::of)
    }
}
