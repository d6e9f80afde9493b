//! Which events of an input say how its programs ended.

use std::collections::BTreeMap;

use telemetry_decode::blocks::Index;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Events, Filter};
use telemetry_report::stats::{ENDINGS, Ending};

use crate::input::inputs::cannot_read;
use crate::term::ended::Failure;

/// Returns how the programs of the sessions ended, by the id of the session. `open` opens the
/// events of the input, by time; it is called only if there are any of their kind.
pub(crate) fn endings(
    index: &Index,
    open: impl FnOnce(Filter) -> Result<Events<'static>, Failure>,
) -> Result<BTreeMap<u64, Ending>, Failure> {
    let mut endings = BTreeMap::new();
    if !has_any(index) {
        return Ok(endings);
    }
    let mut events = open(Filter::default().registries([RUNTIME_REGISTRY]).events(ENDINGS))?;
    while let Some(event) = events.next().map_err(cannot_read)? {
        let ending: &mut Ending = endings.entry(event.session().id).or_default();
        ending.add(&event);
    }
    Ok(endings)
}

/// Returns true if the input has events of the kind that such events have.
fn has_any(index: &Index) -> bool {
    let own = index.registries.iter().filter(|known| known.registry.name == RUNTIME_REGISTRY);
    let kinds = own.flat_map(|known| {
        let of_events = known.registry.events.iter().filter(|event| ENDINGS.contains(&&*event.name));
        of_events.map(|event| (known.fingerprint, known.registry.kinds[event.kind].bit))
    });
    let kinds: Vec<_> = kinds.collect();
    index.lanes.iter().any(|lane| lane.events > 0 && kinds.contains(&(lane.registry, lane.kind)))
}
