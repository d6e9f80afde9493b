//! Differences in form or meaning between an event of the stream and the program's.

use std::cmp::Ordering;
use std::fmt::Display;

use telemetry_schema::{Event, Param, Registry, Type, TypeForm, TypeValue, Version};

/// Returns the first difference of an event's form or meaning, in the order of its bytes.
/// Parameters that one side has appended are not a difference.
pub(crate) fn difference(
    own: &Registry,
    mine: &Event,
    registry: &Registry,
    theirs: &Event,
) -> Option<String> {
    if mine.name != theirs.name {
        return Some(said("its name", &format!("`{}`", theirs.name), &format!("`{}`", mine.name)));
    }
    let both = mine.params.iter().zip(&theirs.params).enumerate();
    let mut of_both =
        both.filter_map(|(index, (mine, theirs))| of_param(own, mine, registry, theirs, index + 1));
    let only_mine =
        || mine.params.get(theirs.params.len()..).and_then(|mine| removed(mine, registry.version));
    let only_theirs = || match registry.version < own.version {
        true => theirs.params.get(mine.params.len()),
        // The stream is newer, and its further parameters were appended.
        false => None,
    };
    of_both.next().or_else(only_mine).or_else(|| {
        Some(format!("parameter `{}` is in the stream, and not in the program", only_theirs()?.name))
    })
}

/// Returns the difference if the stream lacks a parameter of the program that it should have.
fn removed(mine: &[Param], stream: Version) -> Option<String> {
    let removed = mine.iter().find(|param| param.since.is_none_or(|since| since <= stream))?;
    let since = removed.since.map_or(String::new(), |since| format!(", though there since {since}"));
    Some(format!("parameter `{}` is not in the stream{since}", removed.name))
}

/// Compares two parameters. `number` counts them from 1.
fn of_param(
    own: &Registry,
    mine: &Param,
    registry: &Registry,
    theirs: &Param,
    number: usize,
) -> Option<String> {
    if mine.name != theirs.name {
        let what = format!("parameter {number}");
        return Some(said(&what, &format!("`{}`", theirs.name), &format!("`{}`", mine.name)));
    }
    let what = format!("parameter `{}`", mine.name);
    // Without `max`: it only decides what is truncated, not how the rest is read.
    let sorts = [registry.sort_text(theirs), own.sort_text(mine)];
    if sorts[0] != sorts[1] {
        return Some(said(&what, &sorts[0], &sorts[1]));
    }
    // A unit that is added later states what was meant before.
    let was_given = match registry.version.cmp(&own.version) {
        Ordering::Less => theirs.unit.is_empty(),
        Ordering::Equal => false,
        Ordering::Greater => mine.unit.is_empty(),
    };
    if mine.unit != theirs.unit && !was_given {
        let unit = |param: &Param| match param.unit.is_empty() {
            true => "without a unit".to_string(),
            false => format!("in {}", param.unit),
        };
        return Some(said(&what, &unit(theirs), &unit(mine)));
    }
    of_type(own, own.ty(mine.sort)?, registry, registry.ty(theirs.sort)?)
}

/// Compares two named types. A number that only one side names is not a difference, because it is
/// read as a number.
fn of_type(own: &Registry, mine: &Type, registry: &Registry, theirs: &Type) -> Option<String> {
    let name = &mine.name;
    if mine.form != theirs.form {
        let form = |ty: &Type| match ty.form {
            TypeForm::Enum => "an enum",
            TypeForm::Flags => "flags",
        };
        return Some(said(&format!("type `{name}`"), &form(theirs), &form(mine)));
    }
    if mine.repr != theirs.repr {
        let what = format!("the repr of type `{name}`");
        return Some(said(&what, &registry.sort_name(theirs.repr), &own.sort_name(mine.repr)));
    }
    let of_value = |mine: &TypeValue| {
        let number = mine.number;
        if let Some(theirs) = theirs.value(number).filter(|theirs| theirs.name != mine.name) {
            let what = format!("number {number} of type `{name}`");
            return Some(said(&what, &format!("`{}`", theirs.name), &format!("`{}`", mine.name)));
        }
        let theirs =
            theirs.values.iter().find(|theirs| theirs.name == mine.name && theirs.number != number)?;
        Some(said(&format!("`{}` of type `{name}`", mine.name), &theirs.number, &number))
    };
    mine.values.iter().find_map(of_value)
}

fn said(what: &str, theirs: &dyn Display, mine: &dyn Display) -> String {
    format!("{what} is {theirs} in the stream, {mine} in the program")
}
