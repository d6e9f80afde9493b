//! Conditions that fit no event type.

use telemetry_decode::{Error, Order};
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

#[test]
fn no_registry_is_no_error() {
    assert!(Condition::parse("anything > 3").unwrap().fits([].into_iter()).is_ok());
}
