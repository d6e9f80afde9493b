//! The emitters that a broken registry file would have, so that their callers see one error only.

use std::collections::HashSet;

use toml::de::{DeTable, DeValue};

use crate::text::words;

/// Returns the names of the events that have an emitter, and those of spans with `Scope` behind
/// them, each once. The tree has them as far as it could be read. If the parser could not read a
/// `text`, the lines of the text may have more events.
pub(crate) fn emitters(root: &DeTable, text: Option<&str>) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = in_tree(root).chain(text.into_iter().flat_map(in_lines)).map(str::to_string);
    let scopes = in_tables(root, "span").filter_map(name).map(|name| format!("{name}Scope"));
    names
        .chain(scopes)
        .filter(|name| words::is_camel_case(name))
        .filter(|name| {
            let emitter = words::snake_case(name);
            words::can_be_macro(&emitter) && seen.insert(emitter)
        })
        .collect()
}

fn in_tree<'a>(root: &'a DeTable) -> impl Iterator<Item = &'a str> {
    let retired = |table: &DeTable| {
        matches!(table.get("used").map(|used| used.get_ref()), Some(DeValue::Boolean(false)))
    };
    in_tables(root, "event").filter(move |table| !retired(table)).filter_map(name)
}

fn in_tables<'a>(root: &'a DeTable, key: &str) -> impl Iterator<Item = &'a DeTable<'a>> {
    let tables = root.get(key).and_then(|tables| tables.get_ref().as_array());
    tables.into_iter().flat_map(|tables| tables.iter()).filter_map(|table| table.get_ref().as_table())
}

fn name<'a>(table: &'a DeTable) -> Option<&'a str> {
    table.get("name")?.get_ref().as_str()
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
