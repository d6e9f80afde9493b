//! Where events are missing.

use telemetry_decode::Completeness;
use telemetry_decode::completeness::{LaneGap, LaneReport};
use telemetry_format::Grouped;

use super::forms::LossForm;
use super::source::Source;

/// Returns the losses by time, and the number of those that are left out.
pub(super) fn losses(source: &Source<'_>, completeness: &Completeness) -> (Vec<LossForm>, usize) {
    let of_lane = |lane| loss_of_lane(source, lane);
    let mut losses: Vec<_> = completeness.lanes.iter().flat_map(of_lane).collect();
    losses.sort_by_key(|loss| (std::cmp::Reverse(loss.events), loss.from));
    let more = losses.len().saturating_sub(source.room.listed);
    losses.truncate(source.room.listed);
    losses.sort_by_key(|loss| loss.from);
    (losses, more)
}

fn loss_of_lane<'l>(source: &'l Source<'_>, lane: &'l LaneReport) -> impl Iterator<Item = LossForm> + 'l {
    let session = source.sessions.iter().find(|session| session.id == lane.session);
    let moment = move |ticks| {
        let session = session?;
        let at = source.start(session).saturating_add(session.clock.ns(ticks));
        // A gap may begin before the first event, and end after the last.
        Some(at.clamp(0, i64::try_from(source.gathered.axis.until()).unwrap_or(i64::MAX)))
    };
    let gaps = lane.gaps.iter().filter(|gap| gap.absent > 0 || gap.lost.events() > 0);
    gaps.filter_map(move |gap| {
        Some(LossForm {
            thread: source.thread_number(lane.session, lane.thread),
            kind: source.kind_number(lane.registry, lane.kind),
            from: moment(gap.from_ticks)?,
            until: moment(gap.until_ticks)?,
            events: Some(gap.absent.saturating_add(gap.lost.pool).saturating_add(gap.lost.reentrant)),
            cause: cause(gap),
        })
    })
}

/// Names the causes of a gap; with numbers, if there are several.
fn cause(gap: &LaneGap) -> String {
    let lost = gap.lost.causes().map(|(cause, events)| (events, cause.text()));
    let missing = gap.absent.saturating_sub(gap.lost.sink);
    let missing = (missing > 0).then_some((missing, "not in the input"));
    let causes: Vec<_> = lost.chain(missing).collect();
    match causes.as_slice() {
        [(_, cause)] => (*cause).to_string(),
        causes => {
            let named = causes.iter().map(|(events, cause)| format!("{} {cause}", Grouped::from(*events)));
            named.collect::<Vec<_>>().join(", ")
        }
    }
}
