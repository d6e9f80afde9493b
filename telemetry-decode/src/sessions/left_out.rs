//! What limits of the registry left out in a session, as the runtime's own events tell.

use std::collections::BTreeMap;

use telemetry_format::own;
use telemetry_schema::{Registry, Sort};

/// The name of the event, whose last parameters are `registry`, `event` and `so_far`.
pub(crate) const EVENTS_LEFT_OUT: &str = "EventsLeftOut";

/// The most events of a session that are counted.
const MAX_EVENTS: usize = 4_096;

/// The most bytes of a name. Those of registries are shorter.
const MAX_NAME_LEN: usize = 64;

/// The names of a registry and an event.
type Names = (Box<[u8]>, Box<[u8]>);

/// Numbers by registry and event.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeftOut(BTreeMap<Names, u64>);

/// Where the values of the event are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// Index of the event in the runtime's own registry.
    pub(crate) event: usize,
    /// The bit of its kind.
    pub(crate) kind: u8,
    /// Indices of its parameters.
    pub(crate) of_registry: usize,
    pub(crate) of_event: usize,
    pub(crate) so_far: usize,
}

impl Places {
    /// Returns the places in a registry, if it is the runtime's own and has the event.
    pub(crate) fn of(registry: &Registry) -> Option<Places> {
        if registry.name != own::NAME {
            return None;
        }
        let event = registry.events.iter().position(|event| event.name == EVENTS_LEFT_OUT)?;
        let params = &registry.events[event].params;
        let place = |name, sort| params.iter().position(|param| param.name == name && param.sort == sort);
        Some(Places {
            event,
            kind: registry.kind_of(&registry.events[event]).bit,
            of_registry: place("registry", Sort::String)?,
            of_event: place("event", Sort::String)?,
            so_far: place("so_far", Sort::U64)?,
        })
    }
}

impl LeftOut {
    /// Takes a number. It only grows, so the order of the events does not matter.
    pub(crate) fn note(&mut self, registry: &[u8], event: &[u8], so_far: u64) {
        if registry.len() > MAX_NAME_LEN || event.len() > MAX_NAME_LEN {
            return;
        }
        let key = (registry.into(), event.into());
        if self.0.len() < MAX_EVENTS || self.0.contains_key(&key) {
            let number = self.0.entry(key).or_default();
            *number = so_far.max(*number);
        }
    }

    /// Returns the registry and the event of each number.
    pub(crate) fn all(&self) -> impl Iterator<Item = (String, String, u64)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.0.iter().map(move |((registry, event), number)| (text(registry), text(event), *number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_of_an_event_counts() {
        let mut left_out = LeftOut::default();
        for (event, so_far) in [("B", 3), ("A", 7), ("B", 5), ("B", 4)] {
            left_out.note(b"cache", event.as_bytes(), so_far);
        }
        left_out.note(b"cache", &[b'C'; MAX_NAME_LEN + 1], 1);
        let all: Vec<_> = left_out.all().collect();
        assert_eq!(all, [("cache".into(), "A".into(), 7), ("cache".into(), "B".into(), 5)]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut left_out = LeftOut::default();
        for number in 0..2 * MAX_EVENTS {
            left_out.note(b"cache", format!("E{number}").as_bytes(), 1);
        }
        assert_eq!(left_out.all().count(), MAX_EVENTS);
    }

    #[test]
    fn the_runtime_has_the_event() {
        let own = telemetry_schema::parse_embedded(own::TOML).expect("the runtime's registry");
        let places = Places::of(&own).expect("the event");
        assert_eq!(own.events[places.event].code, own::EVENTS_LEFT_OUT);
        let mut other = own.clone();
        other.name = "other".to_owned();
        assert!(Places::of(&other).is_none());
    }
}
