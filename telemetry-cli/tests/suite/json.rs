//! `--json` follows its schemas, and loses nothing.

use jsonschema::Validator;
use serde_json::Value;
use telemetry_decode::Reader;

use crate::run::Folder;
use crate::spans;
use crate::streams::{gc, labeled, lossy, two_registries};
use crate::validate::{self, WHOLE};

const EVENT: &str = include_str!("../../schemas/event.schema.json");
const STATS: &str = include_str!("../../schemas/stats.schema.json");
const GROUPS: &str = include_str!("../../schemas/groups.schema.json");
const SAMPLED: &str = include_str!("../../schemas/sampled.schema.json");
const UNUSED: &str = include_str!("../../schemas/unused.schema.json");
const DIFF: &str = include_str!("../../schemas/diff.schema.json");
const SPANS: &str = include_str!("../../schemas/spans.schema.json");

fn folder() -> Folder {
    Folder::new()
        .with("gc.tel", gc())
        .with("labels.tel", labeled())
        .with("lossy.tel", lossy())
        .with("two.tel", two_registries())
        .with("spans.tel", spans::stream())
        .with("messages.tel", validate::stream(&WHOLE))
        .with("empty.tel", "")
}

#[track_caller]
fn check(schema: &Validator, what: &str, value: &Value) {
    if let Err(error) = schema.validate(value) {
        panic!("{what}: {error} at {}: {value}", error.instance_path());
    }
}

fn schema(text: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

/// Checks an object of `stats --by`.
pub(crate) fn check_groups(value: &Value) {
    check(&schema(GROUPS), "groups", value);
}

/// Checks what `stats --samples --json` prints.
pub(crate) fn check_sampled(value: &Value) {
    check(&schema(SAMPLED), "sampled", value);
}

/// Checks what `stats --json` prints.
pub(crate) fn check_stats(value: &Value) {
    check(&schema(STATS), "stats", value);
}

/// Checks a line of `print --json`.
pub(crate) fn check_event(value: &Value) {
    check(&schema(EVENT), "event", value);
}

#[test]
fn output_is_what_the_schemas_say() {
    let folder = folder();
    let (event, stats, spans) = (schema(EVENT), schema(STATS), schema(SPANS));
    let (groups, diff, unused) = (schema(GROUPS), schema(DIFF), schema(UNUSED));
    for name in ["gc.tel", "labels.tel", "lossy.tel", "two.tel", "spans.tel", "messages.tel", "empty.tel"] {
        let mut lines = 0;
        for args in ["print --json", "print --json-strings", "print --follow --json --kind Pool -"] {
            let input = std::fs::read(folder.path(name)).unwrap();
            let file = if args.ends_with('-') { "" } else { name };
            let run = folder.run_on(&format!("{args} {file}"), &input);
            for line in String::from_utf8(run.stdout).unwrap().lines() {
                check(&event, name, &serde_json::from_str(line).unwrap());
                lines += 1;
            }
        }
        assert_eq!(lines == 0, name == "empty.tel", "{name}");
        let object =
            |args: &str| serde_json::from_slice(&folder.run(&format!("{args} {name}")).stdout).unwrap();
        check(&stats, name, &object("stats --json"));
        check(&unused, name, &object("stats --unused --json"));
        check(&groups, name, &object("stats --json --by event,session,thread"));
        check(&spans, name, &object("spans --json"));
        let difference = folder.run(&format!("diff --json --by event,kind --sum size gc.tel {name}")).stdout;
        check(&diff, name, &serde_json::from_slice(&difference).unwrap());
    }
    let limits = "--fail-on count(Heartbeat)>=0 --fail-on p99(Phase)>1s";
    let difference = folder.run(&format!("diff --json {limits} gc.tel spans.tel"));
    assert_eq!(difference.code, Some(1), "{}", difference.stderr);
    check(&diff, limits, &serde_json::from_slice(&difference.stdout).unwrap());
    // A schema that accepts anything would prove nothing.
    let mut wrong: Value =
        serde_json::from_slice(&folder.run("print --json --event Heartbeat gc.tel").stdout).unwrap();
    wrong["params"] = Value::Null;
    assert!(event.validate(&wrong).is_err());
}

/// With the feature `serde`, a library user gets the same objects, of owned events too.
#[test]
fn serde_gives_the_same() {
    let folder = folder();
    let mut count = 0;
    for (name, stream) in [("gc", gc()), ("labels", labeled()), ("messages", validate::stream(&WHOLE))] {
        let printed = folder.run(&format!("print --json {name}.tel")).stdout;
        let mut events = Reader::from_slice(&stream).events().unwrap();
        for line in String::from_utf8(printed).unwrap().lines() {
            let printed: Value = serde_json::from_str(line).unwrap();
            let event = events.next().unwrap().unwrap();
            let of = |text: String| serde_json::from_str::<Value>(&text).unwrap();
            assert_eq!(of(serde_json::to_string(&event).unwrap()), printed);
            assert_eq!(of(serde_json::to_string(&event.into_owned()).unwrap()), printed);
            count += 1;
        }
        assert!(events.next().unwrap().is_none());
    }
    assert!(count > 40, "{count} events");
}

#[test]
fn events_as_json() {
    folder().check(
        "events_as_json",
        &[
            "print --json gc.tel --event PoolInit --event TraceStart --event Note --event Everything",
            "print --json labels.tel",
            "print --json-strings gc.tel --event Everything",
            "print --json two.tel -o out.json",
        ],
    );
}

/// Numbers keep all their digits for every reader.
#[test]
fn numbers_are_exact() {
    let folder = folder();
    let lines = |args: &str| -> Vec<Value> {
        let run = folder.run(args);
        let text = String::from_utf8(run.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let numbers = lines("print --json gc.tel --event Everything");
    assert_eq!(numbers[2]["params"]["u64"], u64::MAX);
    assert_eq!(numbers[2]["params"]["i64"], i64::MIN);
    let strings = lines("print --json-strings gc.tel --event Everything");
    assert_eq!(strings[2]["params"]["u64"], u64::MAX.to_string());
    assert_eq!(strings[2]["params"]["i64"], i64::MIN.to_string());
    assert_eq!(strings[2]["params"]["some"][0], u64::MAX.to_string());
    assert_eq!(strings[2]["params"]["u16"], u16::MAX, "narrow numbers stay numbers");
}
