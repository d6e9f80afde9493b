//! Walks through the events of a block apart from those that are given out: for names, and for copies of a block.

use std::ops::Range;

use telemetry_format::{Cursor, Header};

use super::reading::Reading;
use crate::registry::known_registry::KnownRegistry;
use crate::report::completeness::Reason;
use crate::values::raw::Raw;

/// Where a walk through the parts of a block is.
#[derive(Default)]
pub(crate) struct Walk {
    /// Clock reading of the last event.
    pub(crate) time: u64,
    slots: Vec<u64>,
}

/// How far a walk came.
pub(crate) struct Walked {
    pub(crate) events: u32,
    /// Bytes of them.
    pub(crate) len: usize,
    /// Why it ended before the last event.
    pub(crate) wrong: Option<Reason>,
}

impl From<&Header> for Walk {
    /// At the start of a block.
    fn from(header: &Header) -> Walk {
        Walk { time: header.base_ticks, slots: Vec::new() }
    }
}

/// Goes through at most this number of events of a payload, apart from what is given out, and calls a function with
/// the index, the clock reading, the parameters and the bytes of each.
pub(crate) fn walk(
    registry: &KnownRegistry,
    kind: u8,
    payload: &[u8],
    events: u32,
    at: &mut Walk,
    mut visit: impl FnMut(u32, u64, &[Raw], Range<usize>),
) -> Walked {
    let plan = &registry.plan;
    let Some(slots) = plan.kind(kind).map(|kind| kind.slots as usize) else {
        return Walked { events: 0, len: 0, wrong: Some(Reason::NoKind(kind)) };
    };
    at.slots.resize(slots, 0);
    let cursor = Cursor::new(payload);
    let mut reading = Reading { payload, cursor, time: at.time, slots: &mut at.slots, plan, kind };
    let mut raw = vec![Raw::default(); plan.max_params()];
    let mut walked = Walked { events: 0, len: 0, wrong: None };
    while walked.events < events {
        let read = reading.head().map_err(Reason::from).and_then(|(code, time)| {
            let event = reading.event(code)?;
            reading.params(event, &mut raw)?;
            reading.time = time;
            Ok(event)
        });
        match read {
            Ok(event) => {
                let end = payload.len() - reading.cursor.rest().len();
                let raw = raw.get(..event.params()).unwrap_or_default();
                visit(event.index, reading.time, raw, walked.len..end);
                (walked.events, walked.len) = (walked.events + 1, end);
            }
            Err(reason) => {
                walked.wrong = Some(reason);
                break;
            }
        }
    }
    at.time = reading.time;
    walked
}
