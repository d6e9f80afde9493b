//! `--fail-on`.

use telemetry_decode::KnownRegistry;
use telemetry_filter::{Figure, Limit};
use telemetry_schema::nearest;

use super::forms::{EventDifference, LimitResult, Pair, SpanDifference};

/// Returns a message if the name of a limit is that of no event or span.
pub(crate) fn wrong_name(limit: &Limit, known: &[KnownRegistry]) -> Option<String> {
    let names = known.iter().flat_map(|known| {
        let registry = &known.registry;
        let events = registry.events.iter().map(|event| event.name.as_str());
        let events = events.filter(|_| !limit.figure().is_of_durations());
        events.chain(registry.span_names()).map(|name| (registry.name.as_str(), name))
    });
    let names: Vec<_> = names.collect();
    if names.iter().any(|(registry, name)| is_named(limit, registry, name)) {
        return None;
    }
    let what = if limit.figure().is_of_durations() { "span" } else { "event or span" };
    let message = format!("no {what} `{}` in the input", limit.name());
    let nearest = nearest(limit.name(), names.iter().map(|(_, name)| *name));
    Some(format!("in --fail-on: {}", limit.wrong_name(&message, nearest)))
}

/// Compares the figures of both runs with a limit.
pub(crate) fn apply(limit: &Limit, events: &[EventDifference], spans: &[SpanDifference]) -> LimitResult {
    let event = events.iter().find(|event| is_named(limit, &event.registry, &event.event));
    let span = spans.iter().find(|span| is_named(limit, &span.registry, &span.span));
    let pair = match limit.figure() {
        Figure::Count => event.map(|event| event.count).or_else(|| span.map(|span| span.count)),
        Figure::Rate => event.map(|event| event.per_second).or_else(|| span.map(|span| span.per_second)),
        Figure::Total => span.map(|span| span.total_ns),
        Figure::Mean => span.map(|span| span.mean_ns),
        Figure::Max => span.map(|span| span.max_ns),
        Figure::Percentile(percent) => span.map(|span| {
            let of = |at: usize| Some(span.durations[at].as_ref()?.quantile(percent / 100.0)?.float());
            Pair::new([of(0), of(1)])
        }),
        _ => None,
    };
    // What never occurred has a number, zero, but no durations.
    let pair = match limit.figure() {
        Figure::Count | Figure::Rate => pair.unwrap_or_else(|| Pair::new([Some(0.0); 2])),
        _ => pair.unwrap_or_else(|| Pair::new([None; 2])),
    };
    let (exceeded, missing) = match (pair.a, pair.b) {
        (Some(a), Some(b)) => (limit.is_exceeded(a, b), None),
        (a, _) => {
            let run = if a.is_none() { "first" } else { "second" };
            let text = format!("cannot check `{}`: the {run} run does not have this figure", limit.text());
            (false, Some(text))
        }
    };
    LimitResult { limit: limit.text().to_string(), pair, exceeded, missing }
}

/// Returns true if the name of a limit is this one. Case does not matter, as in filters.
fn is_named(limit: &Limit, registry: &str, name: &str) -> bool {
    match limit.name().split_once(':') {
        Some((of, wanted)) => of.eq_ignore_ascii_case(registry) && wanted.eq_ignore_ascii_case(name),
        None => limit.name().eq_ignore_ascii_case(name),
    }
}
