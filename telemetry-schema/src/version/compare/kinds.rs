//! Differences between the kinds of two registries.

use crate::version::change::Thing;
use crate::version::compare::changes::{Changes, Names};
use crate::version::lock::{Lock, LockKind};
use crate::version::rule::Rule;

/// Compares the kinds, and returns the renamed ones.
pub(super) fn compare<'a>(changes: &mut Changes, old: &'a Lock, new: &'a Lock) -> Names<'a> {
    let thing = |kind: &LockKind| Some(Thing::Kind { name: kind.name.clone() });
    let named = |lock: &'a Lock, name: &str| lock.kinds.iter().find(|kind| kind.name == name);
    let mut renamed = Names::new();
    for was in &old.kinds {
        let same_bit = |kind: &&LockKind| kind.bit == was.bit && named(old, &kind.name).is_none();
        let Some(is) = named(new, &was.name).or_else(|| new.kinds.iter().find(same_bit)) else {
            changes.whole(Rule::KindRemoved, (thing(was), None));
            continue;
        };
        let things = (thing(was), thing(is));
        if was.name != is.name {
            changes.field(Rule::KindRenamed, &things, "", &was.name, &is.name);
            renamed.insert(&was.name, &is.name);
        }
        changes.field(Rule::KindBitChanged, &things, "bit", &was.bit.to_string(), &is.bit.to_string());
        changes.field(Rule::KindClockChanged, &things, "clock", was.clock.name(), is.clock.name());
        changes.docs(things, was.docs, is.docs);
    }
    let known = |kind: &&LockKind| {
        named(old, &kind.name).is_some() || renamed.values().any(|name| *name == kind.name)
    };
    for kind in new.kinds.iter().filter(|kind| !known(kind)) {
        changes.whole(Rule::KindAdded, (None, thing(kind)));
    }
    renamed
}
