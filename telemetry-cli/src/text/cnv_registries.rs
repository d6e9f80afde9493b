//! The registries of the events in `cnv` text, and the lines that name theirs.

use std::cell::Cell;

use telemetry_decode::KnownRegistry;
use telemetry_decode::names::{RUNTIME_REGISTRY, runtime_registry};
use telemetry_foreign::mps;
use telemetry_schema::Registry;

/// Decides which lines name the registry of their event. Lines of the runtime's own events do, and
/// all lines where the input has several registries of the program. The code alone would not
/// identify their event.
#[derive(Clone)]
pub(crate) struct NamedRegistries {
    /// The caller chose one registry: no line needs a name.
    is_chosen: bool,
    /// The name of the program's first registry.
    first: Option<String>,
    has_several: bool,
    /// Fingerprint of the last event's registry, and whether its line names it.
    last: Option<(u64, bool)>,
}

impl NamedRegistries {
    /// Begins an input that has these registries before its first event.
    pub(crate) fn new(known: &[KnownRegistry], is_chosen: bool) -> Self {
        let mut named = NamedRegistries { is_chosen, first: None, has_several: false, last: None };
        known.iter().for_each(|known| named.add(known));
        named
    }

    /// Returns true if the lines of a registry's events name it.
    #[inline]
    pub(crate) fn is_named(&mut self, registry: &KnownRegistry) -> bool {
        match self.last {
            Some((fingerprint, is_named)) if fingerprint == registry.fingerprint => is_named,
            _ => self.look_up(registry),
        }
    }

    #[cold]
    fn look_up(&mut self, registry: &KnownRegistry) -> bool {
        self.add(registry);
        let is_named = !self.is_chosen
            && (registry.registry.name == RUNTIME_REGISTRY
                || self.has_several && registry.registry.name != mps::UNKNOWN_REGISTRY);
        self.last = Some((registry.fingerprint, is_named));
        is_named
    }

    fn add(&mut self, registry: &KnownRegistry) {
        if registry.registry.name == RUNTIME_REGISTRY || registry.registry.name == mps::UNKNOWN_REGISTRY {
            return;
        }
        match &self.first {
            None => self.first = Some(registry.registry.name.clone()),
            Some(first) => self.has_several |= *first != registry.registry.name,
        }
    }
}

/// Registries in which events of text are looked up. A line without a name belongs to the first
/// registry that has its code.
pub(crate) struct TextRegistries {
    /// The given registries, then the runtime's own, to which only named lines belong.
    all: Vec<Registry>,
    given: usize,
    /// A line without a name had a code that means another event in another registry.
    guessed: Cell<bool>,
}

impl TextRegistries {
    pub(crate) fn new(mut all: Vec<Registry>) -> Self {
        let given = all.len();
        if all.iter().all(|registry| registry.name != RUNTIME_REGISTRY) {
            all.extend(runtime_registry());
        }
        TextRegistries { all, given, guessed: Cell::new(false) }
    }

    /// Returns all registries.
    pub(crate) fn all(&self) -> &[Registry] {
        &self.all
    }

    /// Returns the registries that were given.
    pub(crate) fn given(&self) -> &[Registry] {
        &self.all[..self.given]
    }

    /// Returns true if there is a registry of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.all.iter().any(|registry| registry.name == name)
    }

    /// Finds the registry and its event for a line with a name or without. Returns the index of
    /// each.
    pub(crate) fn find(&self, name: Option<&str>, code: u16) -> Option<(usize, usize)> {
        let wanted = match name {
            Some(_) => &self.all[..],
            None => self.given(),
        };
        let mut found = wanted.iter().enumerate().filter_map(|(which, registry)| {
            let is_meant = name.is_none_or(|name| registry.name == name);
            Some((which, registry.event_index(code).filter(|_| is_meant)?))
        });
        let first = found.next();
        if name.is_none() && self.given > 1 && !self.guessed.get() && found.next().is_some() {
            self.guessed.set(true);
        }
        first
    }

    /// Returns true if a line may have meant another event.
    pub(crate) fn has_guessed(&self) -> bool {
        self.guessed.get()
    }
}
