//! The values of counters over time.

use super::forms::CounterForm;
use super::source::Source;
use crate::gather::counters::Track;
use crate::gather::cut::cut;
use crate::gather::gatherer::Gatherer;

/// Returns all counters, those of the first value first.
pub(super) fn counters(source: &Source<'_>) -> Vec<CounterForm> {
    let tracks = &source.gathered.counters.tracks;
    let tracks = &tracks[..tracks.len().min(source.room.listed)];
    // Each value has two numbers.
    let numbers =
        |step: usize| tracks.iter().map(|track| track.points.len().div_ceil(step) * 2).sum::<usize>();
    let mut step = 1;
    while numbers(step) > source.room.memory && tracks.iter().any(|track| track.points.len() > step) {
        step *= 2;
    }
    tracks.iter().map(|track| counter(source, track, step)).collect()
}

fn counter(source: &Source<'_>, track: &Track, step: usize) -> CounterForm {
    let mut points: Vec<_> = track.points.iter().step_by(step).copied().collect();
    // The curve ends at the last value.
    points.extend(track.points.last().filter(|last| points.last() != Some(last)));
    // Values that came before the definition of their counter are earlier.
    points.sort_by_key(|(at, _)| *at);
    let mut before = 0;
    let since = points.iter().map(|(at, _)| {
        let since = at - before;
        before = *at;
        since
    });
    CounterForm {
        counter: track.name.clone(),
        registry: cut(&source.registry_name(track.registry)),
        session: source.sessions.iter().position(|session| session.id == track.session).unwrap_or(0),
        thread: track.thread.map(|thread| thread.to_string()),
        unit: track.unit.clone(),
        doc: track.doc.clone(),
        count: track.count,
        first: track.first,
        last: track.last,
        min: track.min,
        max: track.max,
        falls: track.falls,
        every: track.every * step as u64,
        at: since.collect(),
        values: points.iter().map(|(_, value)| *value).collect(),
    }
}

/// Says what is left out.
pub(super) fn notes(gathered: &Gatherer, listed: usize) -> impl Iterator<Item = String> {
    let counters = &gathered.counters;
    let each = [
        (
            counters.tracks.len().saturating_sub(listed) as u64,
            "counters are not on the page: there are too many.",
        ),
        (counters.beyond, "values of further counters are left out: there are too many."),
    ];
    each.into_iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}"))
}
