//! Lanes that go on where the rows of earlier batches end.

use std::collections::HashMap;

use telemetry_decode::accounts::HeaderSums;
use telemetry_decode::blocks::Header;
use telemetry_decode::completeness::Gap;
use telemetry_format::BlockType;

use crate::range::Range;
use crate::state::SessionState;

/// Lanes of a session before whose first block nothing is missing. To a reader of these segments
/// alone, everything before that block is missing.
pub(crate) struct Continued {
    /// Whether a lane is one: fingerprint of the registry, thread and kind.
    lanes: HashMap<(u64, u32, u8), bool>,
    /// The clock reading at the start of the session.
    start_ticks: u64,
}

impl Continued {
    /// Looks at the first block of each lane. `state` has only earlier batches.
    pub(crate) fn of(headers: &[Header], state: &SessionState, start_ticks: u64) -> Continued {
        let mut first = HashMap::<_, &Header>::new();
        let events = headers.iter().filter(|header| header.block_type == BlockType::Events);
        for header in events.filter(|header| header.session == state.session) {
            let known = first.entry((header.registry, header.thread, header.kind)).or_insert(header);
            if header.before < known.before {
                *known = header;
            }
        }
        let lanes = first.into_iter().map(|(lane, header)| (lane, goes_on(header, state)));
        Continued { lanes: lanes.collect(), start_ticks }
    }

    /// Returns the gaps without those that earlier batches fill.
    pub(crate) fn without(&self, mut gaps: Vec<Gap>) -> Vec<Gap> {
        gaps.retain(|gap| {
            let goes_on =
                self.lanes.get(&(gap.registry, gap.thread, gap.kind)).is_some_and(|goes_on| *goes_on);
            !goes_on || gap.from_ticks != self.start_ticks
        });
        gaps
    }
}

/// Says whether the last row before a block is the event before it, and nothing was lost since.
fn goes_on(header: &Header, state: &SessionState) -> bool {
    let of_lane = state.lanes.iter().find(|lane| {
        (lane.fingerprint, lane.thread, lane.bit) == (header.registry, header.thread, header.kind)
    });
    of_lane.is_some_and(|lane| {
        let has_before = |range: &Range| range.from < header.before && header.before <= range.until;
        let lost = HeaderSums::of(header).lost.events();
        lane.ranges.iter().any(has_before) && lost <= lane.marks.total().lost.events()
    })
}
