//! Every row of the table in `docs/versions.md`, with real decoders and real streams. The decoder
//! of the released registry reads streams of the changed one, and the other way round. The generic
//! decoder shows all events of both.

#![allow(missing_docs)]

mod cases;
pub mod decoders;
mod python;
mod streams;

use std::path::Path;

use cases::{RELEASED, change, changed_by, registry};
use decoders::{CHANGED, Read};
use streams::{Emitted, all_of, emitted_by};
use telemetry::decode::Reader;
use telemetry_schema::version::{Change, Demand, Effect, Rule, Thing};
use telemetry_schema::{Event, Registry};

#[test]
fn every_row_of_the_table() {
    let released = registry(RELEASED);
    for rule in Rule::ALL {
        let (row, decoder) = (rule.row(), CHANGED.iter().find(|(of, _)| of == rule));
        let Some((_, decoder)) = decoder else {
            // What no version makes up for has no streams.
            assert_eq!(
                (rule.demand(), row.old_decoder, row.new_decoder),
                (Demand::Refused, Effect::Refused, Effect::Refused)
            );
            continue;
        };
        let changed = registry(&changed_by(*rule));
        let change = change(*rule, &changed);
        // Old streams may have events that were retired already. New ones are of new programs.
        let (before, now) = (all_of(&released), emitted_by(&changed));
        let of = |registry: &Registry, thing: Option<&Thing>| codes(registry, &change, thing);
        check(
            *rule,
            "before",
            row.old_decoder,
            (decoders::RELEASED)(&now.bytes),
            &released,
            &now,
            &of(&changed, change.new.as_ref()),
        );
        check(
            *rule,
            "now",
            row.new_decoder,
            decoder(&before.bytes),
            &changed,
            &before,
            &of(&released, change.old.as_ref()),
        );
        for stream in [&before, &now] {
            let (mut events, mut count) = (Reader::from_slice(&stream.bytes).events().unwrap(), 0);
            while events.next().unwrap().is_some() {
                count += 1;
            }
            assert_eq!(count, stream.codes.len(), "{}: generically", rule.name());
            assert!(events.completeness().is_complete());
        }
    }
}

/// The same rows with generated Python modules, which follow the same rules. Also compares the
/// modules.
#[test]
fn every_row_by_python() {
    let released = registry(RELEASED);
    let before = all_of(&released);
    let with_streams = Rule::ALL.iter().filter(|rule| rule.demand() != Demand::Refused);
    let changed: Vec<(Rule, Registry, Emitted)> = with_streams
        .map(|rule| (*rule, registry(&changed_by(*rule))))
        .map(|(rule, changed)| (rule, changed.clone(), emitted_by(&changed)))
        .collect();
    let named: Vec<_> = changed.iter().map(|(rule, changed, now)| (rule.name(), changed, now)).collect();
    let Some(mut answers) = python::ask((&released, &before), &named) else { return };
    for (rule, changed, now) in &changed {
        let (row, change) = (rule.row(), change(*rule, changed));
        let of = |registry: &Registry, thing: Option<&Thing>| codes(registry, &change, thing);
        let about = of(changed, change.new.as_ref());
        check(*rule, "before", row.old_decoder, answers.read(row.name, "before"), &released, now, &about);
        let about = of(&released, change.old.as_ref());
        check(*rule, "now", row.new_decoder, answers.read(row.name, "now"), changed, &before, &about);
        // A doc is no part of what scripts compare.
        let expected = if row.python == "its docstring at most" { "the same" } else { row.python };
        assert_eq!(answers.difference(row.name), expected, "{}", row.name);
    }
}

/// Compares what a decoder does with the changed events with what the table says, and all other
/// events with the stream.
fn check(
    rule: Rule,
    age: &str,
    expected: Effect,
    read: Read,
    own: &Registry,
    stream: &Emitted,
    about: &[u16],
) {
    let context = format!("{}: the decoder of {age}", rule.name());
    assert_eq!(read.events.len() as u64 + read.passed_over, stream.codes.len() as u64, "{context}");
    let is_about = |code: &u16| about.contains(code);
    let number = stream.codes.iter().filter(|code| is_about(code)).count();
    let texts: Vec<&str> =
        read.events.iter().filter(|(code, _)| is_about(code)).map(|(_, text)| text.as_str()).collect();
    let others = read.events.len() - texts.len();
    assert_eq!(others, stream.codes.len() - number, "{context}: events that the change is not about");
    let has = |what: &str| texts.iter().any(|text| text.contains(what));
    let params = |registry: &Registry| {
        about.iter().filter_map(|code| registry.event(*code)).map(|event| event.params.len()).sum::<usize>()
    };
    let found = if number == 0 {
        Effect::Never
    } else if texts.is_empty() {
        Effect::Skips
    } else {
        assert_eq!(texts.len(), number, "{context}: some of the events");
        match () {
            () if has("None") => Effect::Absent,
            // A value without a name: `Why(9)`.
            () if has("Why(") => Effect::Unnamed,
            () if params(&stream.registry) > params(own) => Effect::Ignores,
            () => Effect::Reads,
        }
    };
    match expected {
        // Released streams have the parameter.
        Effect::IfThere => assert_eq!(found, Effect::Reads, "{context}"),
        expected => assert_eq!(found, expected, "{context}"),
    }
}

/// Returns the codes of the events that a change concerns, retired ones included. If a type
/// changed, these are the events that use it. If no event in particular changed, these are all
/// events.
fn codes(registry: &Registry, change: &Change, thing: Option<&Thing>) -> Vec<u16> {
    let of_type = |name: &str| {
        let has = |event: &&Event| event.params.iter().any(|param| registry.sort_name(param.sort) == name);
        registry.events.iter().filter(has).map(|event| event.code).collect::<Vec<_>>()
    };
    let codes = match thing.unwrap_or(change.thing()) {
        Thing::Event { .. } if thing.is_none() => return Vec::new(),
        Thing::Event { code, .. } | Thing::Param { code, .. } => vec![*code],
        Thing::Type { name } | Thing::Value { ty: name, .. } => of_type(name),
        Thing::Registry
        | Thing::Kind { .. }
        | Thing::Span { .. }
        | Thing::Preset { .. }
        | Thing::Message { .. } => Vec::new(),
    };
    match codes.is_empty() {
        true => registry.events.iter().map(|event| event.code).collect(),
        false => codes,
    }
}

/// The decoders are made of files, which are the cases.
#[test]
fn registries_are_those_of_the_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions/registries");
    for rule in Rule::ALL.iter().filter(|rule| rule.demand() != Demand::Refused) {
        let (path, text) = (folder.join(format!("{}.toml", rule.name())), changed_by(*rule));
        if std::env::var_os("UPDATE_REGISTRIES").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "{} differs; run the test with UPDATE_REGISTRIES=1", path.display());
        assert!(CHANGED.iter().any(|(of, _)| of == rule), "`{}` has no decoder", rule.name());
    }
}
