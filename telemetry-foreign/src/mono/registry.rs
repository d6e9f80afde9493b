//! The registry of Mono's events, and the part of it that data version 1 has.

use std::sync::OnceLock;

use telemetry_schema::{Event, Registry, Sort};

/// The name of the registry.
pub(crate) const NAME: &str = "mono";

/// The registry file in this crate.
const REGISTRY: &str = include_str!("../../registries/mono.toml");

/// Returns Mono's events of both data versions: the registry of logs of version 17.
///
/// # Panics
/// Never: the text is part of this crate, and tests parse it.
pub fn registry() -> Registry {
    parsed().clone()
}

/// Returns the registry, which is parsed once.
pub(super) fn parsed() -> &'static Registry {
    static PARSED: OnceLock<Registry> = OnceLock::new();
    PARSED.get_or_init(|| match telemetry_schema::parse(REGISTRY) {
        Ok(registry) => registry,
        Err(invalid) => unreachable!("{}", invalid.render("registries/mono.toml", REGISTRY)),
    })
}

/// Codes below this one are events of data version 1.
const CODES_OF_ONE: u16 = 0x20;

/// Later codes of events that both versions have.
const CODES_OF_BOTH: [u16; 2] = [0x48, 0x49];

/// Returns the events of data version 1: the registry without those of version 17. A log of version
/// 1 need not carry more.
pub fn registry_of_one() -> Registry {
    static ONE: OnceLock<Registry> = OnceLock::new();
    ONE.get_or_init(part_of_one).clone()
}

fn part_of_one() -> Registry {
    let mut registry = registry();
    let is_of_one = |event: &Event| event.code < CODES_OF_ONE || CODES_OF_BOTH.contains(&event.code);
    let kept: Vec<usize> = (0..registry.events.len()).filter(|at| is_of_one(&registry.events[*at])).collect();
    registry.events.retain(is_of_one);
    registry.spans.retain_mut(|span| {
        let places = kept.binary_search(&span.begin).ok().zip(kept.binary_search(&span.end).ok());
        (span.begin, span.end) = places.unwrap_or_default();
        places.is_some()
    });
    registry.kinds.truncate(registry.events.iter().map(|event| event.kind + 1).max().unwrap_or(0));
    let mut types = Vec::new();
    for param in registry.events.iter_mut().flat_map(|event| &mut event.params) {
        if let Sort::Named(index) = &mut param.sort {
            let place = types.iter().position(|known| known == index);
            *index = place.unwrap_or_else(|| {
                types.push(*index);
                types.len() - 1
            });
        }
    }
    // Types are ordered by name, and so are the remaining ones.
    let mut order: Vec<usize> = (0..types.len()).collect();
    order.sort_by_key(|place| types[*place]);
    for param in registry.events.iter_mut().flat_map(|event| &mut event.params) {
        if let Sort::Named(index) = &mut param.sort {
            *index = order.iter().position(|place| place == index).unwrap_or_default();
        }
    }
    registry.types = order.iter().filter_map(|place| registry.types.get(types[*place]).cloned()).collect();
    registry
}
