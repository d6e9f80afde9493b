//! A value for each type of event.

use telemetry_decode::Event;

/// A value for each event of each registry.
pub(crate) struct PerEvent<T> {
    registries: Vec<(u64, Vec<Option<T>>)>,
    /// Index of the registry of the last event.
    last: usize,
}

impl<T> Default for PerEvent<T> {
    fn default() -> Self {
        PerEvent { registries: Vec::new(), last: 0 }
    }
}

impl<T> PerEvent<T> {
    /// Returns the value for events of this type.
    #[inline]
    pub(crate) fn get(&mut self, event: &Event<'_>, make: impl FnOnce(&Event<'_>) -> T) -> &T {
        let known = event.known_registry();
        if self.registries.get(self.last).is_none_or(|(of, _)| *of != known.fingerprint) {
            let found = self.registries.iter().position(|(of, _)| *of == known.fingerprint);
            self.last = found.unwrap_or_else(|| {
                let events = known.registry.events.iter().map(|_| None).collect();
                self.registries.push((known.fingerprint, events));
                self.registries.len() - 1
            });
        }
        self.registries[self.last].1[event.index()].get_or_insert_with(|| make(event))
    }
}
