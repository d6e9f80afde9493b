//! What there was of each class over time.

use super::forms::CensusForm;
use super::source::Source;
use super::trim;
use crate::census::{LeftOut, Series, Shape};
use crate::gather::census::{Point, Track};
use crate::gather::gatherer::Gatherer;

/// The maximum of classes that are shown of a series. The rest are others.
const MAX_CLASSES: usize = 20;

/// JavaScript rounds larger numbers.
const EXACT: u64 = 1 << 53;

/// Returns all censuses, those of the first series first.
pub(super) fn censuses(source: &Source<'_>) -> serde_json::Result<Vec<CensusForm>> {
    let censuses = &source.gathered.censuses;
    let numbers = |track: &Track, step: usize| track.points.len().div_ceil(step) * (MAX_CLASSES + 2);
    let mut step = 1;
    while censuses.tracks.iter().map(|track| numbers(track, step)).sum::<usize>() > source.room.memory
        && censuses.tracks.iter().any(|track| track.points.len() > step)
    {
        step *= 2;
    }
    let series = censuses.counted.series.iter().zip(&censuses.tracks);
    series.map(|(series, track)| census(source, series, track, step)).collect()
}

fn census(
    source: &Source<'_>,
    series: &Series,
    track: &Track,
    step: usize,
) -> serde_json::Result<CensusForm> {
    let shape = Shape::new(series, MAX_CLASSES.min(source.room.listed));
    let mut points: Vec<_> = track.points.iter().step_by(step).collect();
    // Censuses of several threads end in another order than they begin.
    points.sort_by_key(|point| point.time_ns);
    let session = source.sessions.iter().find(|session| session.id == series.session);
    let start = session.map_or(0, |session| source.start(session));
    let each = |amount: &dyn Fn(&Point) -> u64| points.iter().map(|point| amount(point).min(EXACT)).collect();
    let numbers: Vec<_> =
        shape.classes.iter().filter_map(|of| Some(series.classes.get(&of.class)?.number)).collect();
    let others = |point: &Point| {
        numbers.iter().fold(point.total, |rest, class| rest.saturating_sub(point.amount(*class)))
    };
    let mut form = CensusForm {
        every: track.every * step as u64,
        at: points.iter().map(|point| start.saturating_add(point.time_ns)).collect(),
        amounts: numbers.iter().map(|class| each(&|point| point.amount(*class))).collect(),
        others_amounts: each(&others),
        shape: serde_json::to_value(shape)?,
    };
    trim::trim(&mut form.shape, source.room.listed);
    Ok(form)
}

/// Says what is left out.
pub(super) fn notes(gathered: &Gatherer) -> impl Iterator<Item = String> {
    let censuses = &gathered.censuses;
    let LeftOut { unended, unbegun, beyond } = censuses.left_out;
    let series = (censuses.counted.series.len() - censuses.tracks.len()) as u64;
    let each = [
        (series, "series of censuses are left out: there are too many."),
        (beyond, "censuses of further series are left out: there are too many."),
        (unended, "censuses are left out: no event ends them."),
        (unbegun, "amounts are in no census: no event began it."),
    ];
    each.into_iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}"))
}
