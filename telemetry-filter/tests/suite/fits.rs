//! Conditions that fit no event type.

use std::io::Cursor;
use std::sync::Arc;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Error, Events, Facts, Filter, Order, RawStr, Reader, Session, Value};
use telemetry_filter::Condition;

use crate::written::{matching, registry, stream};

/// Checks the first line of the message of each condition, the marked place, and the help.
fn check(table: &[(&str, &str, &str, &str)]) {
    let (registry, stream) = (registry(), stream());
    for (condition, message, place, help) in table {
        let text =
            Condition::parse(condition).unwrap().fits([&registry].into_iter()).unwrap_err().to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], *message, "{condition}");
        let carets = lines.iter().find(|line| line.contains('^')).unwrap();
        let start = carets.find('^').unwrap() - "1 | ".len();
        let len = carets.matches('^').count();
        assert_eq!(&condition[start..start + len], *place, "{condition}");
        let found = lines.last().unwrap().split_once("help: ").map_or("", |(_, help)| help);
        assert_eq!(found, *help, "{condition}");
        // The reader finds the same before the first event.
        match matching(&stream, condition, Order::Time) {
            Err(Error::Filter(found)) => assert_eq!(found, text),
            other => panic!("{condition}: {other:?}"),
        }
    }
}

#[test]
fn unknown_names() {
    check(&[
        ("siez > 1", "no parameter `siez`", "siez", "did you mean `size`?"),
        ("thraed == main", "no parameter `thraed`", "thraed", "did you mean `thread`?"),
        ("`thread` == 1", "no parameter `thread`", "`thread`", "did you mean `thread`?"),
        ("event == Evictd", "no event `Evictd`", "Evictd", "did you mean `Evicted`?"),
        ("kind in (State, Lokup)", "no kind `Lokup`", "Lokup", "did you mean `Lookup`?"),
        ("registry == x", "no registry `x`", "x", "expected `cache`"),
        (
            "zzz > 1",
            "no parameter `zzz`",
            "zzz",
            "expected `event`, `kind`, `registry`, `thread`, `session`, `time`, `entry`, `size`, `limit`, `delta`, `why`, `access`, …",
        ),
        ("event == Zzz", "no event `Zzz`", "Zzz", "expected `Evicted`, `Cleared`, `Beat`, `Interned`"),
        ("why == Ful", "`Ful` is not a value of `Why`", "Ful", "did you mean `Full`?"),
        ("why == X", "`X` is not a value of `Why`", "X", "expected `Unknown`, `Full`, `Old`"),
        ("access has Wr", "`Wr` is not a flag of `Access`", "Wr", "expected `Read`, `Write`, `Both`"),
        (
            "limit > siz",
            "`siz` is neither a number nor a parameter of `Evicted`",
            "siz",
            "did you mean `size`?",
        ),
    ]);
}

#[test]
fn wrong_types() {
    let texts = "the operators of texts are ==, !=, in, contains and ~";
    let names = "the operators of names are ==, !=, in, contains and ~";
    let numbers = "the operators are ==, !=, in, <, <=, > and >=";
    check(&[
        ("name > 'a'", "`name` is a text", ">", texts),
        ("name == alpha", "expected a string in quotes", "alpha", "`name` is a text"),
        ("name ~ '('", "not a pattern: found open group without closing ')'", "'('", ""),
        ("thread < 3", "`thread` is a name", "<", names),
        ("size contains 4", "`size` is a number", "contains", numbers),
        ("size", "`size` is a number", "size", numbers),
        ("size == 'big'", "expected a number", "'big'", ""),
        ("size > 5ms", "a time, but the parameter is in `bytes`", "5ms", "write the number without a unit"),
        ("limit > 5ms", "a time, but the parameter has no unit", "5ms", "write the number without a unit"),
        ("why has Full", "`why` is an enum", "has", numbers),
        ("why == 'Full'", "expected a value of `Why`", "'Full'", "the names of values have no quotes"),
        ("is_dirty > 1", "`is_dirty` is a bool", ">", "the operators are == and !="),
        ("is_dirty == 1", "expected `true` or `false`", "1", ""),
        ("sizes == 2", "`sizes` is an array", "==", "the operators are contains"),
        ("size > name", "`name` is not a number", "name", ""),
        ("time == soon", "expected a time", "soon", "such as `1.5s` or `20ms`"),
        (
            "time contains 3",
            "`time` is a number",
            "contains",
            "the operators of times are ==, !=, <, <=, > and >=",
        ),
    ]);
}

const LOGINS: &str = r#"
[registry]
name = "logins"
version = "1.0.0"
doc = "A log of users"
[kinds]
User = { bit = 0, doc = "per login" }
[[event]]
name = "Login"
code = 1
kind = "User"
doc = "A user came"
params = [{ name = "user", sort = "string", sensitive = "personal", doc = "who" }]
"#;

/// Writes an event of each registry.
fn logins(facts: &Facts, registries: &[&str]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, facts, 0, 1_700_000_000_000_000_000).unwrap();
    for (text, ticks) in registries.iter().zip(10..) {
        let registry = writer.registry(1, &telemetry_schema::parse(text).unwrap()).unwrap();
        let value =
            if text.contains("u32") { Value::Unsigned(7) } else { Value::String(RawStr::from("Ada")) };
        writer.event(Lane { session: 1, thread: 1, registry }, 1, ticks, &[value]).unwrap();
        writer.sync(1, ticks).unwrap();
    }
    writer.finish().unwrap()
}

/// Finds events where sensitive values are hidden.
fn found<'s>(reader: Reader<'s>, condition: &str) -> Events<'s> {
    let filter = Filter::default().condition(Arc::new(Condition::parse(condition).unwrap()) as Arc<_>);
    reader.order(Order::Stream).filter(filter).events().unwrap()
}

fn count(mut events: Events<'_>) -> Result<usize, Error> {
    let mut count = 0;
    while events.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Counts the events that match, in one pass, as a stream comes from a process.
fn in_one_pass(stream: Vec<u8>, condition: &str) -> Result<usize, Error> {
    count(found(Reader::from_reader(Cursor::new(stream)), condition))
}

#[track_caller]
fn expect_hidden<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result {
        Err(Error::Filter(text)) => assert!(text.contains("`user` is personal, so its values are hidden")),
        other => panic!("{other:?}"),
    }
}

/// A condition on hidden values is refused by the first event, and not at the end.
#[test]
fn hidden_values_in_one_pass() {
    let mut facts = Facts::default();
    let stream = logins(&facts, &[LOGINS]);
    let mut events = found(Reader::from_reader(Cursor::new(stream.clone())), "user == 'Ada'");
    // A caller that goes on is told again.
    (0..2).for_each(|_| expect_hidden(events.next().map(|event| event.is_some())));
    // Another registry may have it.
    assert_eq!(in_one_pass(stream.clone(), "name == 'Ada'").unwrap(), 0);
    // Another error does not conceal it.
    expect_hidden(in_one_pass(stream, "unknown == 1 and user == 'Ada'"));
    facts.set(Session::SCRUBBED, "drop");
    assert_eq!(in_one_pass(logins(&facts, &[LOGINS]), "user == 'Ada'").unwrap(), 1);
}

/// In one pass, only the registries so far count.
#[test]
fn hidden_values_of_two_registries() {
    let shown = LOGINS.replace("logins", "guests").replace(", sensitive = \"personal\"", "");
    let number = shown.replace("guests", "numbers").replace("string", "u32");
    let stream = |registries: &[&str]| logins(&Facts::default(), registries);
    let (first, last) = (stream(&[&shown[..], LOGINS]), stream(&[LOGINS, &shown[..]]));
    for stream in [&first, &last] {
        assert_eq!(count(found(Reader::from_slice(stream), "user == 'Ada'")).unwrap(), 1);
    }
    assert_eq!(in_one_pass(first, "user == 'Ada'").unwrap(), 1);
    expect_hidden(in_one_pass(last, "user == 'Ada'"));
    // The values that are shown cannot be compared with a text.
    expect_hidden(in_one_pass(stream(&[&number[..], LOGINS]), "user == 'Ada'"));
}

#[test]
fn no_registry_is_no_error() {
    assert!(Condition::parse("anything > 3").unwrap().fits([].into_iter()).is_ok());
}
