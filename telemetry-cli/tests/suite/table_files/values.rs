//! Values at the limits of their types, which files keep.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, RawStr, Value};
use telemetry_schema::Registry;

use super::read::{FORMATS, Format, NONE, shown};
use crate::run::Folder;

/// Parses a registry of one kind with these event types.
fn registry(name: &str, version: &str, events: &str) -> Registry {
    let text = format!(
        "[registry]\nname = \"{name}\"\nversion = \"{version}\"\ndoc = \"d\"\n\
         [kinds]\nK = {{ bit = 0, doc = \"d\" }}\n{events}"
    );
    telemetry_schema::parse(&text).unwrap_or_else(|invalid| panic!("{}", invalid.render("registry", &text)))
}

fn event(name: &str, code: u16, params: &str) -> String {
    format!("[[event]]\nname = \"{name}\"\ncode = {code}\nkind = \"K\"\ndoc = \"d\"\nparams = [{params}]\n")
}

fn param(name: &str, sort: &str) -> String {
    format!("{{ name = \"{name}\", sort = \"{sort}\", doc = \"d\" }}")
}

/// Returns a stream of one session: events by registry, code and values, in the order of time.
fn stream(registries: &[Registry], events: &[(usize, u16, &[Value<'_>])]) -> Vec<u8> {
    let mut facts = Facts::default();
    facts.set("ticks_per_second", 1_000_000_000_i64);
    let mut writer = Writer::new(Vec::new()).long_runs();
    writer.session(7, &facts, 0, 1_000).unwrap();
    let fingerprints: Vec<_> =
        registries.iter().map(|registry| writer.registry(7, registry).unwrap()).collect();
    for (ticks, (registry, code, values)) in events.iter().enumerate() {
        let lane = Lane { session: 7, thread: 1, registry: fingerprints[*registry] };
        writer.event(lane, *code, ticks as u64, values).unwrap();
    }
    writer.end(7, events.len() as u64).unwrap();
    writer.finish().unwrap()
}

/// Checks columns of a table in both formats: the texts of their rows.
#[track_caller]
fn check(stream: Vec<u8>, table: &str, columns: &[(&str, &[&str])]) {
    for format in FORMATS {
        let folder = Folder::new().with("a.tel", &stream);
        check_files(&folder, format, table, columns);
    }
}

#[track_caller]
fn check_files(folder: &Folder, format: Format, table: &str, columns: &[(&str, &[&str])]) {
    let run = format.write(folder, "a.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let rows = format.rows(folder, table);
    for (column, expected) in columns {
        let found: Vec<_> = rows.iter().map(|row| row[*column].as_str()).collect();
        assert!(found == *expected, "{column} of {format:?}: {found:.200?}");
    }
}

#[test]
fn texts_of_any_length_and_of_any_bytes() {
    let registry = registry("r", "1.0.0", &event("Sent", 1, &param("x", "string")));
    let (long, wrong) = ("y".repeat(1 << 20), b"\xff".repeat(1 << 20));
    let texts = [&b""[..], b"plain", b"a\xffb", b"\0", long.as_bytes(), &wrong];
    let values = texts.map(|text| [Value::String(RawStr(text))]);
    let events = [0, 1, 2, 3, 4, 5].map(|index| (0, 1, &values[index][..]));
    let (valid, replaced) = (shown(long.as_bytes()), shown("\u{fffd}".repeat(1 << 20).as_bytes()));
    let raw = shown(&wrong);
    let x = ["''", "'plain'", r"'a\xef\xbf\xbdb'", r"'\x00'", &valid, &replaced];
    let bytes = [NONE, NONE, r"'a\xffb'", NONE, NONE, &raw];
    check(stream(&[registry], &events), "Sent", &[("x", &x), ("x__bytes", &bytes)]);
}

#[test]
fn numbers_of_all_bits() {
    let params = [param("word", "word"), param("at", "addr"), param("number", "i64")].join(", ");
    let registry = registry("r", "1.0.0", &event("Sent", 1, &params));
    let of = |bits: u64| [Value::Word(bits), Value::Addr(bits), Value::Signed(bits as i64)];
    let values = [of(0), of(1 << 63), of(u64::MAX)];
    let events = [0, 1, 2].map(|index| (0, 1, &values[index][..]));
    let stream = stream(&[registry], &events);
    let signed = &["0", "-9223372036854775808", "-1"][..];
    let unsigned = &["0", "9223372036854775808", "18446744073709551615"][..];
    for (format, words) in [(Format::Parquet, signed), (Format::Arrow, unsigned)] {
        let folder = Folder::new().with("a.tel", &stream);
        check_files(&folder, format, "Sent", &[("word", words), ("at", words), ("number", signed)]);
    }
}

#[test]
fn floats_keep_their_bits() {
    let registry =
        registry("r", "1.0.0", &event("Sent", 1, &[param("x", "f64"), param("y", "f32")].join(", ")));
    let of = |x: u64, y: u32| [Value::F64(f64::from_bits(x)), Value::F32(f32::from_bits(y))];
    let values = [
        of(0x7ff8_0000_0000_1234, 0x7fc0_0042),
        of(1 << 63, 1 << 31),
        of(0, 0),
        of(0xfff0 << 48, 0xff80 << 16),
    ];
    let events = [0, 1, 2, 3].map(|index| (0, 1, &values[index][..]));
    let x = ["7ff8000000001234", "8000000000000000", "0000000000000000", "fff0000000000000"];
    let y = ["7fc00042", "80000000", "00000000", "ff800000"];
    check(stream(&[registry], &events), "Sent", &[("x", &x), ("y", &y)]);
}

#[test]
fn events_without_parameters() {
    let registry = registry("r", "1.0.0", &event("Nothing", 1, ""));
    let columns: [(&str, &[&str]); 4] = [
        ("session", &["7", "7"]),
        ("thread", &["1", "1"]),
        ("position", &["0", "1"]),
        ("time_ns", &["0", "1"]),
    ];
    check(stream(&[registry], &[(0, 1, &[]), (0, 1, &[])]), "Nothing", &columns);
}

#[test]
fn parameters_of_some_versions_are_null_in_others() {
    let old = [param("gone", "u32"), param("size", "u32")].join(", ");
    let new = [param("size", "string"), param("new", "f64")].join(", ");
    let versions =
        [registry("r", "1.0.0", &event("Sent", 1, &old)), registry("r", "2.0.0", &event("Sent", 1, &new))];
    let old = [Value::Unsigned(1), Value::Unsigned(2)];
    let new = [Value::String(RawStr(b"4")), Value::F64(1.0)];
    let columns: [(&str, &[&str]); 4] = [
        ("gone", &["1", NONE]),
        ("size", &["2", NONE]),
        ("size__text", &[NONE, "'4'"]),
        ("new", &[NONE, "3ff0000000000000"]),
    ];
    check(stream(&versions, &[(0, 1, &old), (1, 1, &new)]), "Sent", &columns);
}

/// Two programs may have registries of the same name and version that are not the same.
#[test]
fn two_registries_of_one_name() {
    let [one, other] = ["u32", "i8"].map(|sort| registry("r", "1.0.0", &event("Sent", 1, &param("x", sort))));
    let events: [(usize, u16, &[Value<'_>]); 2] =
        [(0, 1, &[Value::Unsigned(1)]), (1, 1, &[Value::Signed(-1)])];
    check(stream(&[one, other], &events), "Sent", &[("x", &["1", NONE]), ("x__i8", &[NONE, "-1"])]);
}

#[test]
fn two_registries_with_one_event() {
    let both = ["a", "b"].map(|name| registry(name, "1.0.0", &event("Sent", 1, &param("x", "u8"))));
    let events: [(usize, u16, &[Value<'_>]); 2] =
        [(0, 1, &[Value::Unsigned(1)]), (1, 1, &[Value::Unsigned(2)])];
    let stream = stream(&both, &events);
    check(stream.clone(), "a.Sent", &[("x", &["1"])]);
    check(stream, "b.Sent", &[("x", &["2"])]);
}
