//! The labels that sensitive parameters stand for, and those that only others stand for.

use std::collections::HashMap;

use telemetry_format::Header;
use telemetry_schema::{Named, Registry, Sensitive, Sort};

use crate::decode::walk::{Walk, walk};
use crate::registry::known_registry::KnownRegistry;
use crate::registry::param_value::value;
use crate::values::value::Value;

/// The most labels that are remembered. All others count as sensitive.
const MAX_LABELS: usize = 1 << 20;

/// The labels of all sessions that parameters of events stand for.
#[derive(Default)]
pub(super) struct Labels {
    /// By session and number: the strictest mark of the parameters; `None` if none of them has one.
    found: HashMap<(u64, u64), Option<Sensitive>>,
    /// The mark of a label without such events. A stream has all labels of its program so far. The
    /// events that stand for one may be in another file, lost, or still to come.
    others: Option<Sensitive>,
    lanes: HashMap<LaneKey, (Next, Walk)>,
}

/// Session, thread, registry, kind.
pub(super) type LaneKey = (u64, u32, u64, u8);

/// The block and the offset of the part that continues a lane.
pub(super) type Next = (u32, u32);

pub(super) fn lane_key(header: &Header) -> LaneKey {
    (header.session, header.thread, header.registry, header.kind)
}

/// Returns the state of a lane for reading a part; none if the part continues one that was not
/// read.
pub(super) fn resume<S>(
    lanes: &mut HashMap<LaneKey, (Next, S)>,
    header: &Header,
    start: impl FnOnce() -> S,
) -> Option<S> {
    let before = lanes.remove(&lane_key(header));
    match header.offset {
        0 => Some(start()),
        offset => before.filter(|(next, _)| *next == (header.seq, offset)).map(|(_, state)| state),
    }
}

impl Labels {
    /// Takes the strictest mark of the parameters that stand for labels.
    pub(super) fn new(others: Sensitive) -> Labels {
        Labels { others: Some(others), ..Labels::default() }
    }

    /// Returns why a label of a session is sensitive, if it is.
    pub(super) fn mark(&self, session: u64, label: u64) -> Option<Sensitive> {
        self.found.get(&(session, label)).copied().unwrap_or(self.others)
    }

    /// Takes the labels of a part of events. What is not understood has none that would be kept.
    /// `registry` is that of `known`, with the marks that follow from others.
    pub(super) fn take(
        &mut self,
        known: &KnownRegistry,
        registry: &Registry,
        header: &Header,
        payload: &[u8],
    ) {
        let Some(mut at) = resume(&mut self.lanes, header, || Walk::from(header)) else { return };
        let found = &mut self.found;
        let walked = walk(known, header.kind, payload, header.events, &mut at, |index, _, raws, _| {
            let Some(event) = registry.events.get(index as usize) else { return };
            for (at, (param, raw)) in event.params.iter().zip(raws).enumerate() {
                // An event that gives a label its string does not stand for it.
                let names = || event.namings().any(|naming| naming.named == Named::Label && naming.of == at);
                if param.sort != Sort::Label || names() {
                    continue;
                }
                let mut note = |label: u64| {
                    let (key, is_full) = ((header.session, label), found.len() >= MAX_LABELS);
                    match found.get_mut(&key) {
                        Some(mark) => *mark = param.sensitive.max(*mark),
                        None if is_full => {}
                        None => drop(found.insert(key, param.sensitive)),
                    }
                };
                match value(registry, payload, param, raw) {
                    Value::Label(label) => note(label),
                    Value::Array(array) => array.iter().filter_map(|one| one.as_u64()).for_each(note),
                    _ => {}
                }
            }
        });
        if walked.wrong.is_none() {
            let next = (header.seq, header.offset.saturating_add(header.payload_len));
            self.lanes.insert(lane_key(header), (next, at));
        }
    }
}
