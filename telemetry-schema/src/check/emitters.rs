//! The emitters that a broken registry file would have, so that their callers see one error only.

use std::collections::HashSet;

use toml::de::{DeTable, DeValue};

use crate::text::words;

/// Returns the names of the events that have an emitter, each emitter once, as far as they can be
/// read: from the tree, and from the lines of a `text` that the parser could not read.
pub(crate) fn emitters(root: &DeTable, text: Option<&str>) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = in_tree(root).chain(text.into_iter().flat_map(in_lines));
    names
        .filter(|name| words::is_camel_case(name))
        .filter(|name| {
            let emitter = words::snake_case(name);
            words::can_be_macro(&emitter) && seen.insert(emitter)
        })
        .map(str::to_string)
        .collect()
}

fn in_tree<'a>(root: &'a DeTable) -> impl Iterator<Item = &'a str> {
    let events = root.get("event").and_then(|events| events.get_ref().as_array());
    let tables =
        events.into_iter().flat_map(|events| events.iter()).filter_map(|event| event.get_ref().as_table());
    let retired = |table: &DeTable| {
        matches!(table.get("used").map(|used| used.get_ref()), Some(DeValue::Boolean(false)))
    };
    tables.filter(move |table| !retired(table)).filter_map(|table| table.get("name")?.get_ref().as_str())
}

/// Knows only the usual layout: `[[event]]`, then lines with `name` and perhaps `used`.
fn in_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n[[event]]").skip(1).filter_map(|event| {
        let value = |key: &str| {
            let mut lines = event.lines().take_while(|line| !line.starts_with('['));
            lines.find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('=').map(str::trim))
        };
        let name = value("name")?.strip_prefix('"')?.split('"').next()?;
        (value("used") != Some("false")).then_some(name)
    })
}
