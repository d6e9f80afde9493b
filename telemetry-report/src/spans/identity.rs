//! Which begins and ends belong together.

use telemetry_decode::Event;
use telemetry_decode::rules::Key;

use super::found::Which;
use super::roles::Role;

/// The identity of an open span among those of its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) def: u32,
    pub(super) session: u64,
    /// Without a key, spans nest per thread. With a key, they may end on any thread.
    pub(super) thread: Option<u32>,
    pub(super) key: Key,
}

impl Identity {
    /// Stands for that of a free place.
    pub(super) const FREE: Identity = Identity { def: u32::MAX, session: 0, thread: None, key: Key::None };

    pub(super) fn new(role: &Role, event: &Event<'_>) -> Identity {
        let key = role.key.and_then(|index| event.value(index)).map_or(Key::None, |value| Key::new(&value));
        let thread = role.key.is_none().then_some(event.thread());
        Identity { def: role.def, session: event.session().id, thread, key }
    }

    pub(super) fn which(self, def: u32) -> Which {
        Which { def: def as usize, session: self.session, key: self.key }
    }
}
