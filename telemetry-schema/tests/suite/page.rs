//! `docs/events-toml.md` describes each key of the JSON Schema, and nothing else. Its examples
//! parse, and its version numbers are those of the rules.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use telemetry_schema::version::Rule;
use telemetry_schema::{JSON_SCHEMA, Sort, limits};

/// Headings of the page with a table of keys, each with its place in the schema.
const SECTIONS: [(&str, &str); 20] = [
    ("## The file", ""),
    ("## `[registry]`", "/properties/registry"),
    ("### `version`", "/$defs/version_table"),
    ("## `[kinds]`", "/$defs/kind"),
    ("## `[types]`", "/$defs/type"),
    ("### `values`", "/$defs/value/anyOf/1"),
    ("## `[[event]]`", "/$defs/event"),
    ("### `replay`", "/$defs/replay"),
    ("### `range`", "/$defs/range"),
    ("### `census`", "/$defs/census"),
    ("### `tracing`", "/$defs/tracing"),
    ("### `limit`", "/$defs/limit"),
    ("### `sample`", "/$defs/sample"),
    ("### The mark `counter`", "/$defs/event_counter"),
    ("### `params`", "/$defs/param"),
    ("## `[[counter]]`", "/$defs/counter"),
    ("## `[[span]]`", "/$defs/span"),
    ("## `[[message]]`", "/$defs/message"),
    ("## `[[rule]]`", "/$defs/rule"),
    ("## `[[allow]]`", "/$defs/allow"),
];

/// The head of each table of keys.
const HEAD: &str = "| key | takes | meaning | at run time | change |";

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/events-toml.md");
    std::fs::read_to_string(path).expect("the page")
}

/// The keys of each section, from the first cells of the rows.
fn keys_of_sections(page: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut sections = BTreeMap::<&str, BTreeSet<&str>>::new();
    let (mut heading, mut is_of_keys) = ("", false);
    for line in page.lines() {
        match line {
            _ if line.starts_with('#') => heading = line,
            HEAD => is_of_keys = true,
            _ if !line.starts_with('|') => is_of_keys = false,
            _ if is_of_keys && !line.starts_with("|-") => {
                assert_eq!(line.matches(" |").count(), 5, "five cells: {line}");
                let key = line.strip_prefix("| `").and_then(|row| row.split('`').next());
                let keys = sections.entry(heading).or_default();
                assert!(key.is_none_or(|key| keys.insert(key)), "two rows: {line}");
            }
            _ => {}
        }
    }
    sections
}

#[test]
fn every_key_has_a_row_and_every_row_a_key() {
    let (page, schema) = (page(), serde_json::from_str::<Value>(JSON_SCHEMA).expect("JSON"));
    let described = keys_of_sections(&page);
    let mut expected = BTreeMap::new();
    for (heading, place) in SECTIONS {
        let keys = schema.pointer(&format!("{place}/properties")).and_then(Value::as_object);
        let keys = keys.unwrap_or_else(|| panic!("the schema has no {place}"));
        expected.insert(heading, keys.keys().map(String::as_str).collect::<BTreeSet<_>>());
    }
    assert_eq!(described, expected, "help: docs/events-toml.md needs a row for each key of the schema");

    // No table of the schema is outside of the sections.
    let mut all = BTreeSet::new();
    keys_below(&schema, &mut all);
    let known: BTreeSet<_> = expected.into_values().flatten().collect();
    assert_eq!(all, known);
}

/// The keys of all `properties` below a place in the schema.
fn keys_below<'s>(schema: &'s Value, keys: &mut BTreeSet<&'s str>) {
    match schema {
        Value::Object(object) => {
            keys.extend(
                object
                    .get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flatten()
                    .map(|(key, _)| &**key),
            );
            object.values().for_each(|value| keys_below(value, keys));
        }
        Value::Array(values) => values.iter().for_each(|value| keys_below(value, keys)),
        _ => {}
    }
}

/// Each "`rule`: number" of the page is a row of the table of rules, and none is left out.
#[test]
fn numbers_are_those_of_the_rules() {
    let page = page();
    let mut stated = BTreeSet::new();
    for (before, after) in page.match_indices("`: ").map(|(at, found)| page.split_at(at + found.len())) {
        let name = before.trim_end_matches("`: ").rsplit('`').next().expect("a word");
        let Some(rule) = Rule::from_name(name) else { continue };
        let number: String = after.chars().take_while(char::is_ascii_alphabetic).collect();
        assert_eq!(number, rule.demand().name(), "`{name}` on the page");
        stated.insert(name);
    }
    let rules: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(stated, rules, "help: docs/events-toml.md names each rule at a key");
}

/// The examples are one registry, which uses every key but those of the other notation of versions.
#[test]
fn the_examples_are_one_valid_file() {
    let page = page();
    let fences = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let text: String = fences.collect();
    let file = telemetry_schema::RegistryFile::parse(text.as_str())
        .unwrap_or_else(|invalid| panic!("{}", invalid.render("docs/events-toml.md", &text)));
    assert!(!file.registry.spans.is_empty() && !file.registry.messages.is_empty() && !file.allows.is_empty());
    for key in keys_of_sections(&page).into_values().flatten() {
        let unused = ["major", "median", "minor"];
        let is_used = text.split(|c: char| !c.is_ascii_lowercase() && c != '_').any(|word| word == key);
        assert_eq!(is_used, !unused.contains(&key), "`{key}` in the examples");
    }
}

#[test]
fn types_and_limits_are_those_of_the_code() {
    let page = page();
    let (_, types) = page.split_once("### Types of parameters\n").expect("the section");
    let (types, _) = types.split_once("\n## ").expect("an end");
    for sort in Sort::ALL {
        let name = sort.name().expect("a name");
        assert!(types.contains(&format!("`{name}`")), "no row has `{name}`");
        let letter = sort.letter().map_or("`".to_string(), |letter| format!("`{letter}`"));
        assert!(types.contains(&letter), "no row has the letter of `{name}`");
    }
    let row = |key: &str| {
        let start = format!("| `{key}` |");
        page.lines().filter(|line| line.starts_with(&start)).collect::<Vec<_>>().join("\n")
    };
    for (key, said) in [
        ("kinds", format!("1 to {} kinds", limits::MAX_KINDS)),
        ("bit", format!("0 to {}", limits::MAX_KINDS - 1)),
        ("code", format!("0 to {}", u16::MAX)),
        ("params", format!("at most {} |", limits::MAX_PARAMS)),
        ("params", format!("at most {} bytes", limits::MAX_EVENT_LEN)),
        ("max", format!("up to {}, default {}", limits::MAX_RUN_LEN, limits::DEFAULT_RUN_LEN)),
        ("max", format!("up to {}, default {}", limits::MAX_ELEMENTS, limits::DEFAULT_ELEMENTS)),
        ("align", format!("up to {}, default 1", limits::MAX_ALIGN)),
        ("usual", format!("1 to {}", limits::MAX_USUAL)),
        ("unit", format!("1 to {} characters", limits::MAX_UNIT_LEN)),
        ("limit", format!("1 to {}, default {}", limits::MAX_RUNNING, limits::DEFAULT_RUNNING)),
        ("major", format!("0 to {}", u32::MAX)),
    ] {
        assert!(row(key).contains(&said), "the row of `{key}` does not say {said:?}");
    }
    assert!(page.contains(&format!("at most {}\ncharacters", limits::MAX_NAME_LEN)));
}
