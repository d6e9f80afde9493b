//! Visits the events of a block without returning them: for names, and for copies of a block.

use std::ops::Range;

use telemetry_format::{Cursor, Header};

use super::reading::Reading;
use crate::registry::known_registry::KnownRegistry;
use crate::report::completeness::Reason;
use crate::values::raw::Raw;

/// The position of a walk in the parts of a block.
#[derive(Default)]
pub(crate) struct Walk {
    /// Clock reading of the latest event.
    pub(crate) time: u64,
    slots: Vec<u64>,
}

/// The result of a walk.
pub(crate) struct Walked {
    pub(crate) events: u32,
    /// Number of bytes of the events.
    pub(crate) len: usize,
    /// The error that ended the walk before the last event.
    pub(crate) wrong: Option<Reason>,
}

impl From<&Header> for Walk {
    /// Starts at the beginning of a block.
    fn from(header: &Header) -> Walk {
        Walk { time: header.base_ticks, slots: Vec::new() }
    }
}

/// Visits up to `events` events of a payload, with the values of hidden parameters: labels need
/// them. Calls `visit` with the index, the clock reading, the
/// parameters and the range of bytes of each event.
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
    let mut reading = Reading {
        payload,
        cursor,
        time: at.time,
        slots: &mut at.slots,
        plan,
        kind,
        unneeded: 0,
        margin: 0,
        is_short: false,
    };
    let mut raw = vec![Raw::default(); plan.max_params()];
    let mut walked = Walked { events: 0, len: 0, wrong: None };
    while walked.events < events {
        let read = reading.head().map_err(Reason::from).and_then(|(code, time)| {
            let event = reading.event(code)?;
            reading.all_params(event, &mut raw)?;
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
