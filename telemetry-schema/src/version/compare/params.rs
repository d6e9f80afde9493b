//! Differences between the parameters of an event.

use crate::model::registry::Version;
use crate::version::change::Thing;
use crate::version::compare::changes::{Changes, Renamed, Things};
use crate::version::lock::{LockEvent, LockParam};
use crate::version::rule::Rule;

/// Compares the parameters of an event in both registries, which have these versions.
pub(super) fn compare(
    changes: &mut Changes,
    old: &LockEvent,
    new: &LockEvent,
    versions: (Version, Version),
    renamed: &Renamed,
) {
    let pairs = pairs(old, new, renamed);
    let things = |pair: &Pair| (Some(thing(old, pair.was)), Some(thing(new, pair.is)));
    let mut same_form = pairs.len() == old.params.len();
    let kept = in_order(&pairs);
    for (pair, kept) in pairs.iter().zip(&kept) {
        let before = changes.list.len();
        field_by_field(changes, pair, &things(pair), versions, renamed);
        let named = pairs.iter().find(|other| other.was.name == pair.was.names);
        let named = named.map_or(&pair.was.names, |named| &named.is.name);
        changes.field(Rule::NamesChanged, &things(pair), "names", named, &pair.is.names);
        changes.field(Rule::NamesChanged, &things(pair), "numbers", &pair.was.numbers, &pair.is.numbers);
        let changed = changes.list[before..].iter().any(|change| breaks_form(change.rule));
        if !kept {
            let places = ((pair.old_place + 1).to_string(), (pair.new_place + 1).to_string());
            changes.add(Rule::ParamMoved, things(pair), "", places);
        }
        same_form &= *kept && !changed;
    }
    for was in old.params.iter().filter(|was| !pairs.iter().any(|pair| pair.was.name == was.name)) {
        changes.whole(Rule::ParamRemoved, (Some(thing(old, was)), None));
    }
    let last_old = pairs.iter().map(|pair| pair.new_place + 1).max().unwrap_or(0);
    for (place, is) in new.params.iter().enumerate() {
        if pairs.iter().any(|pair| pair.new_place == place) {
            continue;
        }
        let things = (None, Some(thing(new, is)));
        if same_form && place >= last_old {
            appended(changes, things, is, versions);
        } else {
            changes.whole(Rule::ParamInserted, things);
        }
    }
}

/// A parameter in both registries, with its positions.
struct Pair<'a> {
    was: &'a LockParam,
    is: &'a LockParam,
    old_place: usize,
    new_place: usize,
}

/// Parameters match by name. A renamed one matches by its position and type.
fn pairs<'a>(old: &'a LockEvent, new: &'a LockEvent, renamed: &Renamed) -> Vec<Pair<'a>> {
    let place = |event: &LockEvent, name: &str| event.params.iter().position(|param| param.name == name);
    let pairs = old.params.iter().enumerate().filter_map(|(old_place, was)| {
        let new_place = place(new, &was.name).or_else(|| {
            let is = new.params.get(old_place)?;
            let same = place(old, &is.name).is_none() && sort(&was.sort, renamed) == is.sort;
            same.then_some(old_place)
        })?;
        Some(Pair { was, is: &new.params[new_place], old_place, new_place })
    });
    pairs.collect()
}

/// Returns, for each pair, true if it belongs to the largest set that is still in the same order.
/// The others have moved.
fn in_order(pairs: &[Pair]) -> Vec<bool> {
    // The longest increasing sequence of new positions: for each pair, the length of the sequence
    // that ends there, and its predecessor.
    let mut rows: Vec<(usize, Option<usize>)> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let before = (0..at).filter(|&before| pairs[before].new_place < pair.new_place);
        let best = before.max_by_key(|&before| (rows[before].0, std::cmp::Reverse(before)));
        rows.push((best.map_or(1, |best| rows[best].0 + 1), best));
    }
    let mut kept = vec![false; pairs.len()];
    let mut next = (0..rows.len()).max_by_key(|&at| (rows[at].0, std::cmp::Reverse(at)));
    while let Some(at) = next {
        kept[at] = true;
        next = rows[at].1;
    }
    kept
}

fn field_by_field(
    changes: &mut Changes,
    pair: &Pair,
    things: &Things,
    (_, version): (Version, Version),
    renamed: &Renamed,
) {
    let Pair { was, is, .. } = pair;
    changes.field(Rule::ParamRenamed, things, "name", &was.name, &is.name);
    if sort(&was.sort, renamed) != is.sort {
        changes.field(Rule::ParamRetyped, things, "sort", &was.sort, &is.sort);
    } else {
        let max = |param: &LockParam| param.max.map_or(String::new(), |max| max.to_string());
        changes.field(Rule::MaxChanged, things, "max", &max(was), &max(is));
        let align = |param: &LockParam| match param.align {
            1 => String::new(),
            align => align.to_string(),
        };
        changes.field(Rule::AlignChanged, things, "align", &align(was), &align(is));
    }
    let rule = if was.unit.is_empty() { Rule::UnitGiven } else { Rule::UnitChanged };
    changes.field(rule, things, "unit", &was.unit, &is.unit);
    let mark = |param: &LockParam| if param.is_counter { "true" } else { "" };
    changes.field(Rule::CounterChanged, things, "counter", mark(was), mark(is));
    let rule = if was.sensitive.is_empty() { Rule::SensitiveGiven } else { Rule::SensitiveChanged };
    changes.field(rule, things, "sensitive", &was.sensitive, &is.sensitive);
    // Every stream of this major has the parameters of an older one, whose `since` is then left
    // out.
    let was_since = was.since.filter(|since| since.major == version.major || is.since.is_some());
    let since = |since: Option<Version>| since.map_or(String::new(), |since| since.to_string());
    changes.field(Rule::SinceChanged, things, "since", &since(was_since), &since(is.since));
    changes.docs(things.clone(), was.docs, is.docs);
}

/// Returns true if the changed event is not the released one with parameters appended.
fn breaks_form(rule: Rule) -> bool {
    matches!(rule, Rule::ParamRenamed | Rule::ParamRetyped | Rule::UnitChanged)
}

fn appended(
    changes: &mut Changes,
    things: Things,
    param: &LockParam,
    (released, version): (Version, Version),
) {
    changes.whole(Rule::ParamAppended, things.clone());
    match param.since {
        // No decoder reads both majors.
        None if version.major > released.major => {}
        None => changes.whole(Rule::SinceMissing, things),
        Some(since) if since != version || since <= released => {
            changes.add(Rule::SinceWrong, things, "since", (String::new(), since.to_string()));
        }
        Some(_) => {}
    }
}

/// Returns a type as in the new registry file.
fn sort(text: &str, renamed: &Renamed) -> String {
    let name = text.trim_start_matches('[').split([';', ']']).next().unwrap_or_default();
    match renamed.types.get(name) {
        Some(new) => text.replacen(name, new, 1),
        None => text.to_string(),
    }
}

fn thing(event: &LockEvent, param: &LockParam) -> Thing {
    Thing::Param { event: event.name.clone(), code: event.code, name: param.name.clone() }
}
