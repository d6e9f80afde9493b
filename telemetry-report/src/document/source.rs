//! What the parts of a document are made from, and the numbers of its things.

use telemetry_decode::{KnownRegistry, Session};
use telemetry_schema::Registry;

use super::room::Room;
use crate::gather::gatherer::Gatherer;
use crate::gather::threads::OTHERS;

/// What the parts of a document are made from.
pub(super) struct Source<'a> {
    pub(super) gathered: &'a Gatherer,
    pub(super) sessions: &'a [Session],
    pub(super) registries: &'a [KnownRegistry],
    /// All kinds, by fingerprint of the registry and bit.
    pub(super) kinds: Vec<(u64, u8)>,
    pub(super) room: Room,
}

impl Source<'_> {
    pub(super) fn registry(&self, fingerprint: u64) -> Option<&Registry> {
        let known = self.registries.iter().find(|known| known.fingerprint == fingerprint);
        known.map(|known| &known.registry)
    }

    /// Returns the name of a registry, with its version if others have that name, and with its
    /// fingerprint if these have that version, too.
    pub(super) fn registry_name(&self, fingerprint: u64) -> String {
        let Some(of) = self.registry(fingerprint) else { return String::new() };
        let others = self.registries.iter().filter(|known| known.fingerprint != fingerprint);
        let others = others.map(|known| &known.registry).filter(|other| other.name == of.name);
        let versions: Vec<_> = others.map(|other| other.version).collect();
        match versions.as_slice() {
            [] => of.name.clone(),
            versions if versions.contains(&of.version) => {
                format!("{} {} {fingerprint:016x}", of.name, of.version)
            }
            _ => format!("{} {}", of.name, of.version),
        }
    }

    /// Returns the number of a kind on the page, if an event of it occurred.
    pub(super) fn kind_number(&self, fingerprint: u64, bit: u8) -> Option<usize> {
        self.kinds.iter().position(|kind| *kind == (fingerprint, bit))
    }

    /// Returns the start of a session on the page's axis.
    pub(super) fn start(&self, session: &Session) -> i64 {
        let start = session.clock.wall_ns(session.clock.start_ticks());
        start.saturating_sub(self.gathered.axis.origin())
    }

    /// Returns the number of a thread on the page, or nothing if it has none.
    pub(super) fn thread_number(&self, session: u64, thread: u32) -> Option<u32> {
        Some(self.gathered.threads.known(session, thread)).filter(|number| *number != OTHERS)
    }

    /// Returns the number of a kind, and adds a new one.
    pub(super) fn kind_of(&mut self, fingerprint: u64, bit: u8) -> usize {
        self.kind_number(fingerprint, bit).unwrap_or_else(|| {
            self.kinds.push((fingerprint, bit));
            self.kinds.len() - 1
        })
    }

    /// Returns the number of a thread in the document, where all others come last.
    pub(super) fn shown_thread(&self, thread: u32) -> u32 {
        if thread == OTHERS { self.gathered.threads.list.len() as u32 } else { thread }
    }
}
