//! Differences between the types of two registries.

use std::collections::HashMap;

use crate::model::registry::TypeForm;
use crate::version::change::Thing;
use crate::version::compare::changes::{Changes, Names};
use crate::version::lock::{Lock, LockType, LockValue};
use crate::version::rule::Rule;

/// Compares the types, and returns the renamed ones.
pub(super) fn compare<'a>(changes: &mut Changes, old: &'a Lock, new: &'a Lock) -> Names<'a> {
    let thing = |ty: &LockType| Some(Thing::Type { name: ty.name.clone() });
    let by_name = |lock: &'a Lock| -> HashMap<&'a str, &'a LockType> {
        lock.types.iter().map(|ty| (ty.name.as_str(), ty)).collect()
    };
    let (olds, news) = (by_name(old), by_name(new));
    let mut renamed = Names::new();
    for was in &old.types {
        let same = |ty: &&LockType| {
            !olds.contains_key(ty.name.as_str())
                && !renamed.values().any(|name| *name == ty.name)
                && are_alike(was, ty)
        };
        let found = news.get(was.name.as_str()).copied();
        let Some(is) = found.or_else(|| new.types.iter().find(same)) else {
            changes.whole(Rule::TypeRemoved, (thing(was), None));
            continue;
        };
        let things = (thing(was), thing(is));
        if was.name != is.name {
            changes.field(Rule::TypeRenamed, &things, "", &was.name, &is.name);
            renamed.insert(&was.name, &is.name);
        }
        let repr = |ty: &LockType| ty.repr.name().unwrap_or_default();
        changes.field(Rule::TypeReprChanged, &things, "repr", repr(was), repr(is));
        changes.field(Rule::TypeFormChanged, &things, "flags", flags(was), flags(is));
        changes.docs(things, was.docs, is.docs);
        values(changes, was, is);
    }
    let known =
        |ty: &&LockType| olds.contains_key(ty.name.as_str()) || renamed.values().any(|name| *name == ty.name);
    for ty in new.types.iter().filter(|ty| !known(ty)) {
        changes.whole(Rule::TypeAdded, (None, thing(ty)));
    }
    renamed
}

/// Returns true if two types differ only in their names.
fn are_alike(a: &LockType, b: &LockType) -> bool {
    let values = |ty: &LockType| -> Vec<(i128, String)> {
        ty.values.iter().map(|value| (value.number, value.name.clone())).collect()
    };
    (a.repr, a.form) == (b.repr, b.form) && values(a) == values(b)
}

fn flags(ty: &LockType) -> &'static str {
    match ty.form {
        TypeForm::Enum => "false",
        TypeForm::Flags => "true",
    }
}

fn values(changes: &mut Changes, old: &LockType, new: &LockType) {
    let by_name = |ty: &'_ LockType| -> HashMap<String, LockValue> {
        ty.values.iter().map(|value| (value.name.clone(), value.clone())).collect()
    };
    let (olds, news) = (by_name(old), by_name(new));
    let thing = |ty: &LockType, value: &LockValue| {
        Some(Thing::Value { ty: ty.name.clone(), name: value.name.clone() })
    };
    for was in &old.values {
        let same_number = |value: &&LockValue| value.number == was.number && !olds.contains_key(&value.name);
        let Some(is) = news.get(&was.name).or_else(|| new.values.iter().find(same_number)) else {
            changes.whole(Rule::ValueRemoved, (thing(old, was), None));
            continue;
        };
        let things = (thing(old, was), thing(new, is));
        changes.field(Rule::ValueRenamed, &things, "", &was.name, &is.name);
        let (number, new_number) = (was.number.to_string(), is.number.to_string());
        changes.field(Rule::ValueRenumbered, &things, "value", &number, &new_number);
        changes.docs(things, was.docs, is.docs);
    }
    let numbers: HashMap<i128, &LockValue> = old.values.iter().map(|value| (value.number, value)).collect();
    for value in new.values.iter().filter(|value| !olds.contains_key(&value.name)) {
        // A value with the number of a removed name is that value, renamed.
        let renamed = numbers.get(&value.number).is_some_and(|was| !news.contains_key(&was.name));
        if !renamed {
            changes.whole(Rule::ValueAdded, (None, thing(new, value)));
        }
    }
}
