//! The places of items in the text of a registry file or a lock file.

use std::collections::HashMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::version::change::Thing;
use crate::version::lock::Lock;
use crate::version::lock::text::lines;

/// The places of all items of a text, for messages.
pub(super) struct Places {
    /// By item and key; the key of the item itself is empty.
    places: HashMap<(Thing, &'static str), Range<usize>>,
}

/// The keys whose values changes are about.
#[rustfmt::skip]
const KEYS: [&str; 32] = [
    "name", "version", "doc", "bit", "clock", "repr", "flags", "value", "code", "always", "used", "replay", "range", "census", "kind", "sort", "max", "align",
    "unit", "counter", "names", "numbers", "sensitive", "time", "since", "begin", "end", "key", "limit", "named_by", "pause", "major",
];

impl Places {
    /// Returns the place of an item's key; of the item itself if it does not have the key; the
    /// beginning of the text if the item is missing.
    pub(super) fn find(&self, thing: &Thing, key: &'static str) -> Range<usize> {
        let find = |key| self.places.get(&(thing.clone(), key)).cloned();
        find(key).or_else(|| find("")).unwrap_or(0..0)
    }

    /// Returns the places in a valid `events.toml`.
    pub(super) fn of_registry(text: &str) -> Places {
        let mut places = Places { places: HashMap::new() };
        let Ok(root) = DeTable::parse(text) else { return places };
        let root = root.get_ref();
        if let Some(registry) = root.get("registry") {
            places.table(&Thing::Registry, registry.span(), registry.get_ref());
        }
        for (name, kind) in entries(root.get("kinds")) {
            let thing = Thing::Kind { name: name.get_ref().clone() };
            places.table(&thing, name.span(), kind.get_ref());
        }
        for (name, words) in entries(root.get("presets")) {
            let thing = Thing::Preset { name: name.get_ref().clone() };
            places.places.insert((thing.clone(), ""), name.span());
            places.places.insert((thing, "words"), words.span());
        }
        for (name, ty) in entries(root.get("types")) {
            places.table(&Thing::Type { name: name.get_ref().clone() }, name.span(), ty.get_ref());
            let values = ty.get_ref().as_table().and_then(|ty| ty.get("values"));
            for (value, number) in entries(values) {
                let thing = Thing::Value { ty: name.get_ref().clone(), name: value.get_ref().clone() };
                places.table(&thing, value.span(), number.get_ref());
                if !number.get_ref().is_table() {
                    places.places.insert((thing, "value"), number.span());
                }
            }
        }
        for table in elements(root.get("event")).chain(elements(root.get("counter"))) {
            let Some(code) = code(table) else { continue };
            let Some(name) = text_of(table, "name") else { continue };
            let thing = Thing::Event { name: name.get_ref().clone(), code };
            places.fields(&thing, name.span(), table);
            for param in elements(table.get("params")) {
                let Some(param_name) = text_of(param, "name") else { continue };
                let event = name.get_ref().clone();
                let thing = Thing::Param { event, code, name: param_name.get_ref().clone() };
                places.fields(&thing, param_name.span(), param);
            }
        }
        for table in elements(root.get("span")) {
            let Some(name) = text_of(table, "name") else { continue };
            places.fields(&Thing::Span { name: name.get_ref().clone() }, name.span(), table);
        }
        for table in elements(root.get("message")) {
            let Some(name) = text_of(table, "name") else { continue };
            places.fields(&Thing::Message { name: name.get_ref().clone() }, name.span(), table);
        }
        places
    }

    /// Returns the places in a valid `events.lock`: that of an item is its line.
    pub(super) fn of_lock(lock: &Lock, text: &str) -> Places {
        let mut places = Places { places: HashMap::new() };
        let mut lines = lines(text).into_iter().skip(2).map(|line| {
            let indent = text[line.clone()].len() - text[line.clone()].trim_start().len();
            line.start + indent..line.end
        });
        // Items are in the order of the lock file.
        let mut add = |thing| {
            if let Some(line) = lines.next() {
                places.places.insert((thing, ""), line);
            }
        };
        add(Thing::Registry);
        for kind in &lock.kinds {
            add(Thing::Kind { name: kind.name.clone() });
        }
        for ty in &lock.types {
            add(Thing::Type { name: ty.name.clone() });
            for value in &ty.values {
                add(Thing::Value { ty: ty.name.clone(), name: value.name.clone() });
            }
        }
        for event in &lock.events {
            add(Thing::Event { name: event.name.clone(), code: event.code });
            for param in &event.params {
                let (event, code) = (event.name.clone(), event.code);
                add(Thing::Param { event, code, name: param.name.clone() });
            }
        }
        for span in &lock.spans {
            add(Thing::Span { name: span.name.clone() });
        }
        for preset in &lock.presets {
            add(Thing::Preset { name: preset.name.clone() });
        }
        for message in &lock.messages {
            add(Thing::Message { name: message.name.clone() });
        }
        places
    }

    fn table(&mut self, thing: &Thing, place: Range<usize>, value: &DeValue) {
        match value.as_table() {
            Some(table) => self.fields(thing, place, table),
            None => {
                self.places.insert((thing.clone(), ""), place);
            }
        }
    }

    fn fields(&mut self, thing: &Thing, place: Range<usize>, table: &DeTable) {
        self.places.insert((thing.clone(), ""), place);
        for key in KEYS {
            let other_name = if key == "sort" { table.get("type") } else { None };
            if let Some(value) = table.get(key).or(other_name) {
                self.places.insert((thing.clone(), key), value.span());
            }
        }
    }
}

/// Returns the keys and values of a table, if the item is one.
fn entries<'a>(
    value: Option<&'a Spanned<DeValue<'a>>>,
) -> impl Iterator<Item = (Spanned<String>, &'a Spanned<DeValue<'a>>)> {
    let table = value.and_then(|value| value.get_ref().as_table());
    table.into_iter().flat_map(|table| {
        table.iter().map(|(key, value)| (Spanned::new(key.span(), key.get_ref().to_string()), value))
    })
}

/// Returns the tables of an array, if the item is one.
fn elements<'a>(value: Option<&'a Spanned<DeValue<'a>>>) -> impl Iterator<Item = &'a DeTable<'a>> {
    let array = value.and_then(|value| value.get_ref().as_array());
    array.into_iter().flat_map(|array| array.iter().filter_map(|element| element.get_ref().as_table()))
}

fn text_of(table: &DeTable, key: &str) -> Option<Spanned<String>> {
    let value = table.get(key)?;
    Some(Spanned::new(value.span(), value.get_ref().as_str()?.to_string()))
}

fn code(table: &DeTable) -> Option<u16> {
    let int = table.get("code")?.get_ref().as_integer()?;
    u16::from_str_radix(int.as_str(), int.radix()).ok()
}
