//! Caches of text that is the same in many events.

use std::collections::HashMap;

use telemetry_decode::{Event, KnownRegistry};

/// A value for each event of each registry.
pub struct PerEvent<T> {
    registries: Vec<OfRegistry<T>>,
    /// Index of the registry of the last event.
    last: usize,
}

struct OfRegistry<T> {
    fingerprint: u64,
    /// By index of the event.
    events: Vec<Option<T>>,
}

/// A value for each thread of each session.
pub struct PerThread<T> {
    threads: Vec<OfThread<T>>,
    by_key: HashMap<(u64, u32), usize>,
    /// Index of the thread of the last event.
    last: usize,
}

struct OfThread<T> {
    key: (u64, u32),
    /// The number of named threads in the session when this was computed.
    known: usize,
    made: T,
}

impl<T> Default for PerEvent<T> {
    fn default() -> Self {
        PerEvent { registries: Vec::new(), last: 0 }
    }
}

impl<T> Default for PerThread<T> {
    fn default() -> Self {
        PerThread { threads: Vec::new(), by_key: HashMap::new(), last: 0 }
    }
}

impl<T> PerEvent<T> {
    /// Returns the value for all events of this code.
    #[inline]
    pub fn get(&mut self, event: &Event<'_>, make: impl FnOnce(&Event<'_>) -> T) -> &mut T {
        let index = event.index();
        self.of_registry(event.known_registry())[index].get_or_insert_with(|| make(event))
    }

    /// Returns the values for the events of a registry by index, as far as they are made.
    #[inline]
    pub fn of_registry(&mut self, known: &KnownRegistry) -> &mut [Option<T>] {
        let fingerprint = known.fingerprint;
        if self.registries.get(self.last).is_none_or(|of| of.fingerprint != fingerprint) {
            let found = self.registries.iter().position(|of| of.fingerprint == fingerprint);
            self.last = found.unwrap_or_else(|| {
                let events = known.registry.events.iter().map(|_| None).collect();
                self.registries.push(OfRegistry { fingerprint, events });
                self.registries.len() - 1
            });
        }
        &mut self.registries[self.last].events
    }

    /// Returns the values for the events of a registry by its fingerprint; none if it is new.
    pub fn of_fingerprint(&mut self, fingerprint: u64) -> &mut [Option<T>] {
        let found = self.registries.iter_mut().find(|of| of.fingerprint == fingerprint);
        found.map_or(&mut [], |of| &mut of.events)
    }

    /// Takes the values of another cache. Calls `merge` where both have one.
    pub fn merge(&mut self, other: PerEvent<T>, mut merge: impl FnMut(&mut T, T)) {
        for OfRegistry { fingerprint, events } in other.registries {
            let Some(known) = self.registries.iter_mut().find(|of| of.fingerprint == fingerprint) else {
                self.registries.push(OfRegistry { fingerprint, events });
                continue;
            };
            for (place, made) in known.events.iter_mut().zip(events) {
                match (place, made) {
                    (Some(known), Some(made)) => merge(known, made),
                    (place, Some(made)) => *place = Some(made),
                    (_, None) => {}
                }
            }
        }
    }

    /// Returns all values, with the fingerprint of the registry and the index of the event.
    pub fn iter(&self) -> impl Iterator<Item = (u64, usize, &T)> {
        self.registries.iter().flat_map(|of| {
            let made = of.events.iter().enumerate();
            made.filter_map(|(index, made)| Some((of.fingerprint, index, made.as_ref()?)))
        })
    }
}

impl<T> PerThread<T> {
    /// Returns the value for all events of this thread. It is computed again when the session has
    /// more threads.
    #[inline]
    pub fn get(&mut self, event: &Event<'_>, make: impl FnOnce(&Event<'_>) -> T) -> &mut T {
        let (key, known) = ((event.session().id, event.thread()), event.session().threads().len());
        if self.threads.get(self.last).is_none_or(|of| of.key != key || of.known != known) {
            self.find(key, known, || make(event));
        }
        &mut self.threads[self.last].made
    }

    #[cold]
    fn find(&mut self, key: (u64, u32), known: usize, make: impl FnOnce() -> T) {
        self.last = *self.by_key.entry(key).or_insert(self.threads.len());
        match self.threads.get_mut(self.last) {
            Some(of) if of.known == known => {}
            Some(of) => *of = OfThread { key, known, made: make() },
            None => self.threads.push(OfThread { key, known, made: make() }),
        }
    }
}
