//! `events.schema.json` says what the rules say, as far as a JSON Schema can.

use jsonschema::Validator;
use serde_json::{Value, json};
use telemetry_schema::version::Rule;
use telemetry_schema::{Clock, JSON_SCHEMA, Role, Sensitive, Sort, keys, limits};
use toml::de::{DeTable, DeValue};

use crate::mistakes::mistakes;
use crate::{GC, SMALL};

fn schema() -> Value {
    serde_json::from_str(JSON_SCHEMA).expect("the schema is JSON")
}

fn validator() -> Validator {
    let schema = schema();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::validator_for(&schema).expect("the schema is a JSON Schema")
}

/// TOML as the JSON that editors check in its place.
fn to_json(text: &str) -> Value {
    let table = DeTable::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    table_to_json(table.get_ref())
}

fn table_to_json(table: &DeTable) -> Value {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), value_to_json(value.get_ref()))).collect()
}

fn value_to_json(value: &DeValue) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(int) => {
            let number = i128::from_str_radix(int.as_str(), int.radix()).unwrap_or(i128::MAX);
            u64::try_from(number)
                .map_or_else(|_| i64::try_from(number).map_or(json!(1e30), |n| json!(n)), |n| json!(n))
        }
        DeValue::Float(float) => json!(float.as_str().parse::<f64>().unwrap_or(0.5)),
        DeValue::Boolean(bool) => json!(bool),
        DeValue::Datetime(date) => json!({ "date": date.to_string() }),
        DeValue::Array(array) => array.iter().map(|value| value_to_json(value.get_ref())).collect(),
        DeValue::Table(table) => table_to_json(table),
    }
}

#[test]
fn accepted_files_are_valid() {
    let validator = validator();
    for text in [GC, SMALL, &crate::registry(GC).to_toml()] {
        let errors: Vec<_> = validator
            .iter_errors(&to_json(text))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0]);
    }
}

/// `type` is another name of `sort`, for the rules and for the schema.
#[test]
fn a_parameter_type_has_two_keys() {
    let validator = validator();
    for text in [GC, SMALL] {
        let renamed = text.replace("sort = ", "type = ");
        assert!(renamed != text && validator.is_valid(&to_json(&renamed)));
        assert_eq!(crate::registry(&renamed), crate::registry(text));
    }
    for mistake in mistakes().filter(|mistake| mistake.rule != "sort_and_type") {
        let valid = validator.is_valid(&to_json(&mistake.text().replace("sort = ", "type = ")));
        assert_eq!(!valid, mistake.in_schema, "{}", mistake.rule);
    }
}

/// A version has two notations, which mean the same, for the rules and for the schema.
#[test]
fn a_version_has_two_notations() {
    let validator = validator();
    for text in [GC, SMALL] {
        let version = crate::registry(text).version;
        let (before, table) = text.split_once("version = {").expect("a table");
        let (_, after) = table.split_once('}').expect("an end");
        for quoted in [format!("\"{version}\""), format!("'{version}'"), format!("\"\"\"{version}\"\"\"")] {
            let renamed = format!("{before}version = {quoted}{after}");
            assert!(validator.is_valid(&to_json(&renamed)), "{quoted}");
            assert_eq!(crate::registry(&renamed), crate::registry(text));
            // Streams and lock files have one form, whatever the notation.
            assert_eq!(crate::registry(&renamed).to_toml(), crate::registry(text).to_toml());
            let embedded = telemetry_schema::parse_embedded(&renamed).expect("a version of either notation");
            assert_eq!(embedded, crate::registry(text));
        }
    }
}

#[test]
fn mistakes_of_form_are_invalid_and_those_of_meaning_are_not() {
    let validator = validator();
    for mistake in mistakes() {
        let valid = validator.is_valid(&to_json(&mistake.text()));
        assert_eq!(!valid, mistake.in_schema, "{}", mistake.rule);
    }
}

/// The words at a place in the schema.
fn words<'a>(schema: &'a Value, place: &str) -> Vec<&'a str> {
    let value = schema.pointer(place).unwrap_or_else(|| panic!("the schema has no {place}"));
    match value {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        Value::Object(keys) => keys.keys().map(String::as_str).collect(),
        other => panic!("{place} is {other}"),
    }
}

#[track_caller]
fn same_words<'a>(found: &[&'a str], expected: impl IntoIterator<Item = &'a str>) {
    let mut found = found.to_vec();
    let mut expected: Vec<&str> = expected.into_iter().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn keys_are_those_that_are_read_and_all_are_described() {
    let schema = schema();
    for (place, keys) in [
        ("", keys::FILE),
        ("/properties/registry", keys::REGISTRY),
        ("/$defs/version_table", keys::VERSION),
        ("/$defs/kind", keys::KIND),
        ("/$defs/type", keys::TYPE),
        ("/$defs/value/anyOf/1", keys::VALUE),
        ("/$defs/event", keys::EVENT),
        ("/$defs/replay", keys::REPLAY),
        ("/$defs/range", keys::RANGE),
        ("/$defs/census", keys::CENSUS),
        ("/$defs/tracing", keys::TRACING),
        ("/$defs/limit", keys::LIMIT),
        ("/$defs/sample", keys::SAMPLE),
        ("/$defs/param", keys::PARAM),
        ("/$defs/span", keys::SPAN),
        ("/$defs/message", keys::MESSAGE),
        ("/$defs/rule", keys::RULE),
        ("/$defs/allow", keys::ALLOW),
    ] {
        let place = format!("{place}/properties");
        same_words(&words(&schema, &place), keys.iter().copied());
        for key in keys {
            let doc = schema.pointer(&format!("{place}/{key}/description"));
            assert!(doc.is_some(), "{place}/{key} has no description");
        }
    }
}

#[test]
fn sorts_are_those_of_the_list() {
    let schema = schema();
    let texts = |wanted: fn(&Sort) -> bool| -> Vec<String> {
        let sorts = Sort::ALL.iter().filter(|sort| wanted(sort));
        sorts
            .flat_map(|sort| {
                sort.name().map(str::to_string).into_iter().chain(sort.letter().map(String::from))
            })
            .collect()
    };
    let enumerated = |place: &str, wanted: fn(&Sort) -> bool| {
        let expected = texts(wanted);
        same_words(&words(&schema, place), expected.iter().map(String::as_str));
    };
    let roles = Role::ALL.iter().map(|role| role.name());
    let plain = texts(|_| true);
    same_words(
        &words(&schema, "/$defs/plain_sort/enum"),
        plain.iter().map(String::as_str).chain(roles.clone()),
    );
    same_words(&words(&schema, "/$defs/param/properties/role/enum"), roles);
    let network = telemetry_schema::Network::WORDS.iter().copied();
    same_words(&words(&schema, "/$defs/kind/properties/network/enum"), network);
    let sensitive = Sensitive::ALL.iter().map(|word| word.name());
    same_words(&words(&schema, "/$defs/param/properties/sensitive/enum"), sensitive);
    enumerated("/$defs/run_sort/enum", |sort| sort.is_run());
    enumerated("/$defs/usual_sort/anyOf/0/enum", |sort| {
        use Sort::{I16, I32, I64, Label, U16, U32, U64};
        sort.is_delta() || matches!(sort, Label | U16 | I16 | U32 | I32 | U64 | I64)
    });
    enumerated("/$defs/counter_sort/enum", |sort| sort.is_number());
    enumerated("/$defs/type/properties/repr/enum", |sort| sort.int_range().is_some());
    enumerated("/$defs/type/then/properties/repr/enum", |sort| {
        sort.int_range().is_some_and(|range| *range.start() == 0)
    });
    let in_pattern = |place: &str, wanted: fn(&Sort) -> bool| {
        let pattern = schema.pointer(place).and_then(Value::as_str).expect("a pattern");
        let list = pattern.split(['(', ')']).find(|piece| piece.contains('|')).expect("alternatives");
        let expected = texts(wanted);
        same_words(
            &list.split('|').filter(|word| !word.starts_with("[A-Z]")).collect::<Vec<_>>(),
            expected.iter().map(String::as_str),
        );
    };
    in_pattern("/$defs/array_sort/pattern", |sort| !sort.is_run());
    in_pattern("/$defs/number_sort/pattern", |sort| sort.is_number());
    same_words(
        &words(&schema, "/$defs/kind/properties/clock/enum"),
        Clock::ALL.iter().map(|clock| clock.name()),
    );
}

#[test]
fn changes_that_can_be_allowed_are_those_of_the_rules() {
    let schema = schema();
    let rules = Rule::ALL.iter().filter(|rule| rule.can_be_allowed()).map(|rule| rule.name());
    same_words(&words(&schema, "/$defs/allow/properties/change/enum"), rules);
}

#[test]
fn limits_are_those_of_the_code() {
    let schema = schema();
    for (place, limit) in [
        ("/properties/kinds/maxProperties", limits::MAX_KINDS as u64),
        ("/$defs/kind/properties/bit/maximum", limits::MAX_KINDS as u64 - 1),
        ("/$defs/event/properties/code/maximum", u16::MAX.into()),
        ("/$defs/event/properties/params/maxItems", limits::MAX_PARAMS as u64),
        ("/$defs/param/properties/max/maximum", limits::MAX_ELEMENTS.into()),
        ("/$defs/param/allOf/1/if/properties/max/minimum", u64::from(limits::MAX_RUN_LEN) + 1),
        ("/$defs/unit/maxLength", limits::MAX_UNIT_LEN as u64),
        ("/$defs/CamelCase/maxLength", limits::MAX_NAME_LEN as u64),
        ("/$defs/snake_case/maxLength", limits::MAX_NAME_LEN as u64),
        ("/$defs/version_part/maximum", u32::MAX.into()),
        ("/$defs/message/properties/limit/maximum", limits::MAX_RUNNING.into()),
        ("/$defs/limit/properties/per_second/maximum", limits::MAX_PER_SECOND.into()),
        ("/$defs/limit/properties/burst/maximum", limits::MAX_BURST.into()),
        ("/$defs/sample/properties/one_in/maximum", limits::MAX_ONE_IN.into()),
        ("/$defs/number/maximum", u64::MAX),
    ] {
        assert_eq!(schema.pointer(place), Some(&json!(limit)), "{place}");
    }
    let max = schema.pointer("/$defs/param/properties/max/description").and_then(Value::as_str).unwrap_or("");
    for said in [
        format!("up to {}, default {}", limits::MAX_RUN_LEN, limits::DEFAULT_RUN_LEN),
        format!("up to {}, default {}", limits::MAX_ELEMENTS, limits::DEFAULT_ELEMENTS),
    ] {
        assert!(max.contains(&said), "the description of `max` does not say {said:?}");
    }
}
