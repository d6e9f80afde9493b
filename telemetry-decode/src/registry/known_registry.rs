//! The registries of a stream, from its blocks or from the caller.

use std::sync::{Arc, OnceLock};

use telemetry_schema::Registry;

use crate::registry::condition::Test;
use crate::registry::filter::{Filter, Selector};
use crate::registry::namings::Namings;
use crate::registry::plan::Plan;
use crate::sessions::left_out::Places;

/// A registry for decoding events.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KnownRegistry {
    /// The fingerprint by which events blocks refer to it.
    pub fingerprint: u64,
    /// The registry itself.
    pub registry: Registry,
    /// Byte offset of its block; none for one from the caller.
    pub at: Option<u64>,
    pub(crate) namings: Namings,
    /// The event that tells what limits left out, of the runtime's own registry.
    pub(crate) left_out: Option<Places>,
    pub(crate) plan: Plan,
    pub(crate) wanted: Wanted,
    /// A sensitive parameter stands for interned strings.
    pub(crate) has_sensitive_labels: bool,
    /// The registry itself, if `registry` hides something of it.
    original: Option<Box<Registry>>,
    /// The checksum of the last text of the registry.
    pub(crate) text: u32,
    /// The condition of the filter.
    test: Option<Arc<dyn Test>>,
    kept: OnceLock<Arc<Kept>>,
}

/// The parts of a registry that events with memory of their own share.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) fingerprint: u64,
    pub(crate) registry: Registry,
    pub(crate) namings: Namings,
}

impl From<Registry> for KnownRegistry {
    /// Returns a registry from the caller, of which all events are wanted.
    fn from(registry: Registry) -> KnownRegistry {
        KnownRegistry::new(registry.fingerprint(), registry, None, &Filter::default())
    }
}

impl KnownRegistry {
    pub(crate) fn new(fingerprint: u64, registry: Registry, at: Option<u64>, filter: &Filter) -> Self {
        let mut plan = Plan::new(&registry);
        let has_sensitive_labels = registry.sensitive_labels().is_some();
        let apart = registry.names_apart();
        let (registry, original) = match filter.hides_sensitive && registry.is_sensitive() {
            true => (hidden(&mut plan, &registry), Some(Box::new(registry))),
            false => (registry, None),
        };
        let (namings, left_out) = (Namings::shown(&registry, apart), Places::of(&registry));
        let wanted = Wanted::new(fingerprint, &registry, filter);
        let (test, kept) = (None, OnceLock::new());
        let mut known = KnownRegistry {
            fingerprint,
            registry,
            at,
            namings,
            left_out,
            plan,
            wanted,
            has_sensitive_labels,
            original,
            text: 0,
            test,
            kept,
        };
        known.set_test(filter);
        known
    }

    /// Sets the condition of the filter for the registry as it is shown.
    fn set_test(&mut self, filter: &Filter) {
        let KnownRegistry { registry, namings, wanted, test, .. } = self;
        *test = filter.condition.as_ref().map(|condition| condition.0.test(registry, namings));
        if let Some(test) = test {
            wanted.narrow(registry, &**test);
        }
    }

    /// Hides the values of sensitive parameters, or shows them, as the filter says.
    pub(crate) fn hide_again(&mut self, filter: &Filter) {
        if self.original.is_some() || filter.hides_sensitive && self.registry.is_sensitive() {
            let registry = self.original.take().map_or_else(|| self.registry.clone(), |original| *original);
            let text = self.text;
            *self = KnownRegistry::new(self.fingerprint, registry, self.at, filter);
            self.text = text;
        }
    }

    /// Returns the registry as it was recorded, with nothing hidden.
    pub(crate) fn recorded(&self) -> &Registry {
        self.original.as_deref().unwrap_or(&self.registry)
    }

    /// Hides the strings that events give to labels. The labels still have them.
    pub(crate) fn hide_interned(&mut self, filter: &Filter) {
        let mut marked = self.registry.clone();
        marked.mark_interned();
        if marked != self.registry {
            let shown = hidden(&mut self.plan, &marked);
            let before = std::mem::replace(&mut self.registry, shown);
            self.original.get_or_insert_with(|| Box::new(before));
            self.kept = OnceLock::new();
            self.set_test(filter);
        }
    }

    /// Returns the parts for events with memory of their own. The first call copies them.
    pub(crate) fn kept(&self) -> Arc<Kept> {
        let KnownRegistry { fingerprint, registry, namings, .. } = self;
        let copy =
            || Kept { fingerprint: *fingerprint, registry: registry.clone(), namings: namings.clone() };
        Arc::clone(self.kept.get_or_init(|| Arc::new(copy())))
    }

    /// Returns the condition of the filter, if it has one.
    #[inline]
    pub(crate) fn test(&self) -> Option<&dyn Test> {
        self.test.as_deref()
    }

    /// Returns true if the filter selects events of this index, apart from thread and time.
    pub fn wants(&self, event: usize) -> bool {
        self.registry
            .events
            .get(event)
            .is_some_and(|event| self.wanted.kind(self.registry.kind_of(event).bit))
            && self.wanted.event(event as u32)
    }
}

/// Returns a registry without the values of its sensitive parameters, which the plan then leaves
/// out.
fn hidden(plan: &mut Plan, registry: &Registry) -> Registry {
    let hidden = registry.hidden();
    for (index, event) in hidden.events.iter().enumerate() {
        let params = event.params.iter().enumerate();
        plan.hide(index, params.filter(|(_, param)| param.sensitive.is_some()).map(|(at, _)| at as u32));
    }
    hidden
}

/// The selected kinds and events of a registry.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Selected kinds by bit number. If all kinds are selected, all bits are set, also those
    /// without a kind.
    kinds: u64,
    /// Selected events by index, if not all events of the selected kinds are.
    pub(crate) events: Option<Vec<bool>>,
}

impl Wanted {
    fn new(fingerprint: u64, registry: &Registry, filter: &Filter) -> Wanted {
        if !matches_any(&filter.registries, fingerprint, &registry.name) {
            return Wanted { kinds: 0, events: None };
        }
        let is_any = |list: &[Selector], number, name: &str| {
            list.is_empty() || list.iter().any(|wanted| wanted.is_of(&registry.name, number, name))
        };
        let kinds = registry.kinds.iter().filter(|kind| is_any(&filter.kinds, kind.bit.into(), &kind.name));
        let kinds = match filter.kinds.is_empty() {
            true => u64::MAX,
            false => kinds.fold(0, |mask, kind| mask | bit(kind.bit)),
        };
        if filter.events.is_empty() {
            return Wanted { kinds, events: None };
        }
        let events = registry.events.iter();
        let mut events: Vec<bool> =
            events.map(|event| is_any(&filter.events, event.code.into(), &event.name)).collect();
        let presets = registry
            .presets
            .iter()
            .filter(|preset| filter.events.iter().any(|e| e.is_preset(&registry.name, &preset.name)));
        for preset in presets {
            for (event, wanted) in registry.events.iter().zip(&mut events) {
                *wanted |= registry.has(preset, event);
            }
        }
        let of_events = registry.events.iter().zip(&events).filter(|(_, wanted)| **wanted);
        let of_events = of_events.fold(0, |mask, (event, _)| mask | bit(registry.kind_of(event).bit));
        Wanted { kinds: kinds & of_events, events: Some(events) }
    }

    /// Leaves out events that cannot match.
    fn narrow(&mut self, registry: &Registry, test: &dyn Test) {
        let events = 0..registry.events.len();
        let wants = |index: usize| self.event(index as u32) && test.may_match(index);
        let events: Vec<bool> = events.map(wants).collect();
        if !events.contains(&false) {
            return;
        }
        let of_events = registry.events.iter().zip(&events).filter(|(_, wanted)| **wanted);
        self.kinds &= of_events.fold(0, |mask, (event, _)| mask | bit(registry.kind_of(event).bit));
        self.events = Some(events);
    }

    /// Returns true if the filter selects any event of the kind.
    pub(crate) fn kind(&self, number: u8) -> bool {
        self.kinds == u64::MAX || self.kinds & bit(number) != 0
    }

    /// Returns true if the filter selects the event.
    #[inline(always)]
    pub(crate) fn event(&self, index: u32) -> bool {
        match &self.events {
            None => true,
            Some(events) => events.get(index as usize).copied().unwrap_or(false),
        }
    }
}

/// Returns the mask bit of a bit number.
fn bit(number: u8) -> u64 {
    1_u64.checked_shl(number.into()).unwrap_or(0)
}

/// Returns true if a list is empty or has the number or the name.
pub(crate) fn matches_any(list: &[Selector], number: u64, name: &str) -> bool {
    list.is_empty() || list.iter().any(|wanted| wanted.is(number, name))
}
