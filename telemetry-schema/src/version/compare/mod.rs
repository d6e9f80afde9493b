//! Finds the differences between two registries, item by item and field by field.

mod changes;
mod events;
mod kinds;
mod params;
mod types;

use self::changes::{Changes, Names, Renamed};
use crate::model::registry::Registry;
use crate::version::change::{Change, Thing};
use crate::version::lock::{Lock, LockMessage, LockPreset, LockSpan};
use crate::version::rule::Rule;

/// Returns the differences between a released registry and a newer one: registry, kinds, types,
/// events by code, each with its parameters, spans, presets, messages. Empty if they are the same.
///
/// Items are matched by name. Renamed items are matched by their other properties: a kind by its
/// bit, a value by its number, an event by its code. One edit is one change: a renamed type is not
/// also another type of its parameters.
#[must_use]
pub fn compare(old: &Lock, new: &Registry) -> Vec<Change> {
    compare_locks(old, &Lock::of(new, None))
}

/// Compares as [`compare`] does, with both registries in the form of the lock file.
pub(crate) fn compare_locks(old: &Lock, new: &Lock) -> Vec<Change> {
    let mut changes = Changes::default();
    let registry = Some(Thing::Registry);
    if old.registry != new.registry {
        // Other differences mean nothing then.
        let values = (old.registry.clone(), new.registry.clone());
        changes.add(Rule::RegistryRenamed, (registry.clone(), registry), "name", values);
        return changes.list;
    }
    if new.version < old.version {
        let values = (old.version.to_string(), new.version.to_string());
        changes.add(Rule::VersionLowered, (registry.clone(), registry.clone()), "version", values);
    }
    changes.docs((registry.clone(), registry), old.docs, new.docs);
    let kinds = kinds::compare(&mut changes, old, new);
    let types = types::compare(&mut changes, old, new);
    let events = events::compare(&mut changes, old, new, &Renamed { kinds, types });
    spans(&mut changes, old, new, &events);
    presets(&mut changes, old, new);
    messages(&mut changes, old, new, &events);
    changes.list
}

fn spans(changes: &mut Changes, old: &Lock, new: &Lock, events: &Names) {
    let thing = |span: &LockSpan| Some(Thing::Span { name: span.name.clone() });
    let named = |list: &'_ [LockSpan], name: &str| list.iter().find(|span| span.name == name).cloned();
    for was in &old.spans {
        let Some(is) = named(&new.spans, &was.name) else {
            changes.whole(Rule::SpanRemoved, (thing(was), None));
            continue;
        };
        let things = (thing(was), thing(&is));
        let renamed = |name: &str| events.get(name).map_or(name.to_string(), |name| name.to_string());
        let now = LockSpan { begin: renamed(&was.begin), end: renamed(&was.end), ..was.clone() };
        let key = if now.begin != is.begin {
            "begin"
        } else if now.end != is.end {
            "end"
        } else if now.key != is.key {
            "key"
        } else if now.named_by != is.named_by {
            "named_by"
        } else {
            "pause"
        };
        changes.field(Rule::SpanChanged, &things, key, &span_text(&now), &span_text(&is));
        changes.docs(things, was.docs, is.docs);
    }
    for span in new.spans.iter().filter(|span| named(&old.spans, &span.name).is_none()) {
        changes.whole(Rule::SpanAdded, (None, thing(span)));
    }
}

fn presets(changes: &mut Changes, old: &Lock, new: &Lock) {
    let thing = |preset: &LockPreset| Some(Thing::Preset { name: preset.name.clone() });
    let named = |list: &'_ [LockPreset], name: &str| list.iter().find(|preset| preset.name == name).cloned();
    for was in &old.presets {
        match named(&new.presets, &was.name) {
            Some(is) => {
                let things = (thing(was), thing(&is));
                changes.field(Rule::PresetChanged, &things, "words", &was.words, &is.words);
            }
            None => changes.whole(Rule::PresetRemoved, (thing(was), None)),
        }
    }
    for preset in new.presets.iter().filter(|preset| named(&old.presets, &preset.name).is_none()) {
        changes.whole(Rule::PresetAdded, (None, thing(preset)));
    }
}

fn messages(changes: &mut Changes, old: &Lock, new: &Lock, events: &Names) {
    let thing = |message: &LockMessage| Some(Thing::Message { name: message.name.clone() });
    let named =
        |list: &'_ [LockMessage], name: &str| list.iter().find(|message| message.name == name).cloned();
    for was in &old.messages {
        let Some(is) = named(&new.messages, &was.name) else {
            changes.whole(Rule::MessageRemoved, (thing(was), None));
            continue;
        };
        let things = (thing(was), thing(&is));
        let renamed = |name: &String| events.get(name.as_str()).map_or(name.clone(), |name| name.to_string());
        let (begin, end) = (renamed(&was.begin), was.end.as_ref().map(renamed));
        let now = LockMessage { begin, end, ..was.clone() };
        let key = if now.begin != is.begin {
            "begin"
        } else if now.end != is.end {
            "end"
        } else if now.key != is.key {
            "key"
        } else {
            "limit"
        };
        changes.field(Rule::MessageChanged, &things, key, &message_text(&now), &message_text(&is));
        changes.docs(things, was.docs, is.docs);
    }
    for message in new.messages.iter().filter(|message| named(&old.messages, &message.name).is_none()) {
        changes.whole(Rule::MessageAdded, (None, thing(message)));
    }
}

/// Returns a message in short.
fn message_text(message: &LockMessage) -> String {
    let end = message.end.as_ref().map_or(String::new(), |end| format!(" to {end}"));
    let key =
        message.key.as_ref().map_or(String::new(), |key| format!(" by {key}, {} at once", message.limit));
    format!("{}{end}{key}", message.begin)
}

/// Returns a span in short.
fn span_text(span: &LockSpan) -> String {
    let key = span.key.as_ref().map_or(String::new(), |key| format!(" by {key}"));
    let named_by = span.named_by.as_ref().map_or(String::new(), |param| format!(", named by {param}"));
    let pause = if span.is_pause { ", a pause" } else { "" };
    format!("{} to {}{key}{named_by}{pause}", span.begin, span.end)
}
