//! What is missing, as intervals of time.

use telemetry_decode::{Events, Session};
use telemetry_format::Loss;

/// Events of a lane that are missing between two moments.
#[derive(Debug, Clone)]
pub(crate) struct Lost<'e> {
    pub(crate) session: &'e Session,
    pub(crate) thread: u32,
    /// The kind of the events; none if they may be of any kind.
    pub(crate) kind: Option<String>,
    /// Nanoseconds since 1970.
    pub(crate) from: i64,
    /// Not before `from`.
    pub(crate) until: i64,
    /// Events that the program lost, by cause.
    pub(crate) lost: Loss,
    /// Events that were recorded, but cannot be read; none if their number is unknown.
    pub(crate) missing: Option<u64>,
}

/// Returns all losses, ordered by end. None ends after the last event, at `last`.
pub(crate) fn losses<'e>(events: &'e Events<'_>, last: i64) -> Vec<Lost<'e>> {
    let session_of = |id: u64| events.sessions().iter().find(|session| session.id == id);
    let mut losses = Vec::new();
    let mut add = |session: &'e Session, thread, kind, ticks: [u64; 2], lost, missing| {
        let [from, until] = ticks.map(|ticks| session.clock.wall_ns(ticks));
        let until = until.min(last).max(from);
        losses.push(Lost { session, thread, kind, from, until, lost, missing });
    };
    for lane in events.completeness().lanes {
        let Some(session) = session_of(lane.session) else { continue };
        for gap in lane.gaps.iter().filter(|gap| gap.absent > 0 || gap.lost.events() > 0) {
            let kind = lane.kind_name.clone().unwrap_or_else(|| lane.kind.to_string());
            let ticks = [gap.from_ticks, gap.until_ticks];
            // What sinks lost was recorded, so it is absent, too.
            let missing = gap.absent.saturating_sub(gap.lost.sink);
            add(session, lane.thread, Some(kind), ticks, gap.lost, Some(missing));
        }
    }
    // Damage outside of known lanes.
    for gap in events.gaps().iter().filter(|gap| gap.registry == 0) {
        let Some(session) = session_of(gap.session) else { continue };
        add(session, gap.thread, None, [gap.from_ticks, gap.until_ticks], Loss::default(), None);
    }
    losses.sort_by_key(|lost| (lost.until, lost.from));
    losses
}
