//! Streams and modules of different versions of one registry: docs/versions.md.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, Value};
use telemetry_schema::Registry;

use crate::dump::Compared;
use crate::python::{Module, Script, interpreters};

const REGISTRY: &str = include_str!("../small.toml");

fn changed(changes: &[(&str, &str)]) -> Registry {
    let text = changes.iter().fold(REGISTRY.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    telemetry_schema::parse(&text).unwrap_or_else(|invalid| panic!("{}", invalid.render("small", &text)))
}

/// A stream with a `Miss`, an `Evicted` with this number of its parameters, and a `Swept`.
fn stream(registry: &Registry, params: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, 1_700_000_000_000_000_000).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, registry).unwrap() };
    writer.event(lane, 1, 10, &[Value::Unsigned(7)]).unwrap();
    let values = [
        Value::Pointer(0x1000),
        Value::Word(64),
        Value::Named(EnumValue::new(2)),
        Value::Unsigned(5),
        Value::String("key".into()),
        Value::Unsigned(9),
    ];
    let code = if registry.event(0x102).is_some() { 0x102 } else { 0x101 };
    writer.event(lane, code, 20, &values[..params]).unwrap();
    writer.event(lane, 0x103, 30, &[]).unwrap();
    writer.end(1, 40).unwrap();
    writer.finish().unwrap()
}

/// Returns the events that the module of one version reads from a stream of another.
fn check(stream_registry: &Registry, params: usize, expected: &[&str]) {
    check_way("read", stream_registry, params, expected);
}

fn check_way(way: &str, stream_registry: &Registry, params: usize, expected: &[&str]) {
    let module = Module::new(&changed(&[]));
    let path = module.with("stream.tel", &stream(stream_registry, params));
    for interpreter in interpreters() {
        let mut script = Script::new(interpreter, "dump.py");
        let module = module.path("events.py");
        let found = script.ask(&format!("{} time {way} {}", module.display(), path.display()));
        let found: Vec<_> = found.iter().filter(|line| !line.starts_with("complete: ")).collect();
        assert_eq!(found, expected, "{interpreter}");
    }
}

const MISS: &str = "1 1 0 1 10 10 7";
const SWEPT: &str = "1 1 5 259 30 30";
const AGE: &str = "  { name = \"age\", sort = \"u32\", unit = \"s\", counter = true, since = \"1.0.1\", doc = \"how old it was\" },\n";
const KEY: &str = "  { name = \"key\", sort = \"S\", since = \"1.0.2\", doc = \"what it was found by\" },\n";

#[test]
fn the_same_version() {
    check(&changed(&[]), 5, &[MISS, "1 1 5 258 20 20 4096 64 2 5 s6b6579", SWEPT, "others 0"]);
}

#[test]
fn parameters_appended_since_are_absent() {
    let older = changed(&[("minor = 2", "minor = 1"), (KEY, "")]);
    check(&older, 4, &[MISS, "1 1 5 258 20 20 4096 64 2 5 -", SWEPT, "others 0"]);
    let oldest = changed(&[("minor = 2", "minor = 0"), (KEY, ""), (AGE, "")]);
    check(&oldest, 3, &[MISS, "1 1 5 258 20 20 4096 64 2 - -", SWEPT, "others 0"]);
}

#[test]
fn further_parameters_are_passed_over() {
    let further = format!("{KEY}  {{ name = \"hits\", sort = \"u16\", since = \"1.0.3\" }},\n");
    let newer = changed(&[("minor = 2", "minor = 3"), (KEY, &further)]);
    check(&newer, 6, &[MISS, "1 1 5 258 20 20 4096 64 2 5 s6b6579", SWEPT, "others 0"]);
}

#[test]
fn each_stream_says_what_is_aligned() {
    let others =
        [(", align = 16", ""), ("align = 16", "align = 4096"), ("sort = \"W\"", "sort = \"W\", align = 64")];
    for change in others {
        let (module, other) = (changed(&[]), changed(&[change]));
        assert_ne!(module.fingerprint(), other.fingerprint());
        for (module, of_stream) in [(&module, &other), (&other, &module)] {
            let (stream, mut compared) = (stream(of_stream, 5), Compared::new(module));
            compared.check(&stream, &format!("{change:?}"));
            compared.check_columns(&stream, &format!("columns, {change:?}"));
        }
        check(&other, 5, &[MISS, "1 1 5 258 20 20 4096 64 2 5 s6b6579", SWEPT, "others 0"]);
    }
}

#[test]
fn unknown_events_are_counted() {
    let renumbered =
        changed(&[("minor = 2", "minor = 3"), ("\"Evicted\"", "\"Dropped\""), ("0x102", "0x101")]);
    check(&renumbered, 5, &[MISS, SWEPT, "others 1"]);
}

#[test]
fn events_of_another_form_are_passed_over_and_told() {
    let other = changed(&[("median = 0", "median = 1"), ("unit = \"bytes\"", "unit = \"pages\"")]);
    let told = "other `Evicted` (0x0102): parameter `size` is in pages in the stream, in bytes in the module";
    check(&other, 5, &[MISS, SWEPT, "others 1", told]);
    let other = changed(&[("median = 0", "median = 1"), ("{ value = 1, doc = \"no room\" }", "3")]);
    let told = "other `Evicted` (0x0102): `Full` of type `Why` is 3 in the stream, 1 in the module";
    check(&other, 5, &[MISS, SWEPT, "others 1", told]);
}

#[test]
fn strict_readers_refuse_other_forms_alone() {
    let other = changed(&[("median = 0", "median = 1"), ("unit = \"bytes\"", "unit = \"pages\"")]);
    let why = [
        "error: registry `cache` has version 1.1.2 in the stream, 1.0.2 in this module: some events have another form",
        "  `Evicted` (0x0102): parameter `size` is in pages in the stream, in bytes in the module",
        "help: read it with the module that `telemetry py` makes of the stream itself; without `strict` those events \
         are skipped, and the others are decoded",
    ];
    check_way("strict", &other, 5, &why);
    let newer = changed(&[("minor = 2", "minor = 3"), ("\"Evicted\"", "\"Dropped\""), ("0x102", "0x101")]);
    check_way("strict", &newer, 5, &[MISS, SWEPT, "others 1"]);
}

/// The fingerprint does not contain units: those of the stream count.
#[test]
fn the_streams_own_registry_counts() {
    let other = changed(&[("unit = \"bytes\"", "unit = \"pages\"")]);
    assert_eq!(other.fingerprint(), changed(&[]).fingerprint());
    let told = "other `Evicted` (0x0102): parameter `size` is in pages in the stream, in bytes in the module";
    check(&other, 5, &[MISS, SWEPT, "others 1", told]);
}

#[test]
fn another_major_is_refused() {
    let other =
        changed(&[("major = 1", "major = 2"), (", since = \"1.0.1\"", ""), (", since = \"1.0.2\"", "")]);
    let why = "error: registry `cache` has version 2.0.2 in the stream, 1.0.2 in this module: another major \
               version, in which no event means the same";
    check(&other, 5, &[why, "help: read it with the module that `telemetry py` makes of the stream itself"]);
}
