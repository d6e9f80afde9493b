//! What an event does to ranges of memory, by its marks.

use telemetry_decode::{Event, Value};
use telemetry_schema::{Event as Schema, Range, RangeAction, RangeRole, ReplayAction, ReplayRole, Sort};

/// The name of ranges that the mark `replay` describes.
pub(super) const BLOCK: &str = "block";

/// What happens to a range.
pub(super) enum Step {
    /// A range begins. Without a place it has no memory.
    Begin { key: Option<u64>, place: Option<(u64, Option<u64>)>, owner: Option<usize> },
    /// A range ends.
    End { key: Option<u64>, place: Option<(u64, Option<u64>)> },
    /// Ranges move from the first address to the second. A size is the new one.
    Move { moves: Vec<(u64, u64)>, size: Option<u64> },
}

/// Returns true if an event has a pointer or an address.
pub(super) fn has_places(event: &Schema) -> bool {
    event.params.iter().any(|param| matches!(param.sort, Sort::Pointer | Sort::Addr))
}

/// Returns what an event is about, and what it does.
pub(super) fn of<'a>(event: &Event<'a>) -> Option<(&'a str, Step)> {
    let schema = event.schema();
    match &schema.range {
        Some(range) => Some((&range.what, ranged(event, range)?)),
        None => Some((BLOCK, replayed(event)?)),
    }
}

fn ranged(event: &Event<'_>, range: &Range) -> Option<Step> {
    let number = |role| number(&event.value(range.param(role)?)?);
    let (key, base) = (number(RangeRole::Key), number(RangeRole::Base));
    let limit = number(RangeRole::Limit);
    let size =
        number(RangeRole::Size).or_else(|| limit.zip(base).map(|(limit, base)| limit.saturating_sub(base)));
    let place = base.map(|base| (base, size));
    Some(match range.action {
        RangeAction::Begin => Step::Begin { key, place, owner: range.param(RangeRole::Owner) },
        RangeAction::End => Step::End { key, place },
        RangeAction::Move => {
            let moves = match (range.param(RangeRole::Moves), number(RangeRole::From).zip(base)) {
                (Some(param), _) => {
                    let places = places(&event.value(param)?);
                    places.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
                }
                (None, moved) => moved.into_iter().collect(),
            };
            Step::Move { moves, size: None }
        }
    })
}

fn replayed(event: &Event<'_>) -> Option<Step> {
    let replay = event.schema().replay.as_ref()?;
    let number = |role| number(&event.value(replay.param(role)?)?);
    let (pointer, size) = (number(ReplayRole::Pointer), number(ReplayRole::Size));
    Some(match replay.action {
        // The allocation failed.
        ReplayAction::Alloc | ReplayAction::Free if pointer == Some(0) => return None,
        ReplayAction::Alloc => Step::Begin { key: None, place: Some((pointer?, size)), owner: None },
        // The size of a free says nothing that its allocation does not.
        ReplayAction::Free => Step::End { key: None, place: Some((pointer?, None)) },
        ReplayAction::Realloc => match (number(ReplayRole::Old)?, pointer?, size?) {
            (0, 0, _) => return None,
            (0, pointer, size) => Step::Begin { key: None, place: Some((pointer, Some(size))), owner: None },
            (old, 0, 0) => Step::End { key: None, place: Some((old, None)) },
            // It failed, and the old memory stays.
            (_, 0, _) => return None,
            (old, pointer, size) => Step::Move { moves: vec![(old, pointer)], size: Some(size) },
        },
        ReplayAction::Custom => return None,
    })
}

/// Returns a value as a number.
pub(super) fn number(value: &Value<'_>) -> Option<u64> {
    value.as_u64()
}

/// Returns the elements of an array, or a single value.
pub(super) fn places(value: &Value<'_>) -> Vec<u64> {
    match value {
        Value::Array(array) => array.iter().filter_map(|value| number(&value)).collect(),
        value => number(value).into_iter().collect(),
    }
}
