//! The labels that sensitive parameters stand for.

use std::collections::HashMap;

use telemetry_format::Header;
use telemetry_schema::{Sensitive, Sort};

use crate::decode::state::StreamState;
use crate::decode::walk::{Walk, walk};
use crate::registry::param_value::value;
use crate::values::value::Value;

/// The most labels that are remembered. If there are more, all labels count as sensitive.
const MAX_LABELS: usize = 1 << 20;

/// The labels of all sessions that sensitive parameters stand for.
#[derive(Default)]
pub(super) struct SensitiveLabels {
    /// By session and number.
    found: HashMap<(u64, u64), Sensitive>,
    /// There are too many; the strictest mark.
    all: Option<Sensitive>,
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

impl SensitiveLabels {
    /// Returns why a label of a session is sensitive, if it is.
    pub(super) fn mark(&self, session: u64, label: u64) -> Option<Sensitive> {
        self.all.or_else(|| self.found.get(&(session, label)).copied())
    }

    /// Takes the labels of a part of events. What is not understood has none that would be kept.
    pub(super) fn take(&mut self, state: &StreamState, header: &Header, payload: &[u8]) {
        let Some(known) = state.registry(header.registry).map(|index| &state.registries[index]) else {
            return;
        };
        let Some(mut at) = resume(&mut self.lanes, header, || Walk::from(header)) else { return };
        let registry = &known.registry;
        let (found, all) = (&mut self.found, &mut self.all);
        let walked = walk(known, header.kind, payload, header.events, &mut at, |index, _, raws, _| {
            let Some(event) = registry.events.get(index as usize) else { return };
            for (param, raw) in event.params.iter().zip(raws) {
                let Some(sensitive) = param.sensitive.filter(|_| param.sort == Sort::Label) else { continue };
                let mut note = |label: u64| {
                    if found.len() >= MAX_LABELS {
                        *all = (*all).max(Some(sensitive));
                    } else {
                        let mark = found.entry((header.session, label)).or_insert(sensitive);
                        *mark = sensitive.max(*mark);
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
