//! Events, one after the other.

use std::io;
use std::marker::PhantomData;

use crate::completeness::Completeness;
use crate::event::Event;
use crate::registries::KnownRegistry;
use crate::session::Session;

/// Events, one after the other. Each is borrowed until the next is asked for:
/// `while let Some(event) = events.next()? { … }`.
pub struct Events<'s> {
    pub(crate) marker: PhantomData<&'s ()>,
}

impl Events<'_> {
    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// Those of the input. Whatever is wrong with the stream itself is in [`Events::completeness`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Event<'_>>> {
        Ok(None)
    }

    /// What was read so far, and what was not; the verdict once `next` has given `None`.
    pub fn completeness(&self) -> Completeness {
        Completeness::default()
    }

    /// The sessions found so far.
    pub fn sessions(&self) -> &[Session] {
        &[]
    }

    /// The registries found so far, and those that the caller added.
    pub fn registries(&self) -> &[KnownRegistry] {
        &[]
    }
}
