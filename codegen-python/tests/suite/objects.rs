//! Events as a user sees them: `repr`, `asdict`, the names in columns, and the docstring.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, RawStr, Value};

use crate::python::{Module, run};

const REGISTRY: &str = r#"
[registry]
name = "cache"
version = { major = 1, median = 0, minor = 0 }
doc = "A cache's view of itself"

[kinds]
Evict = { bit = 0, doc = "per eviction" }

[types.Why]
repr = "i64"
values = { Least = -9223372036854775808, Full = 1, Expired = 2 }

[types.Access]
repr = "u8"
flags = true
values = { Read = 1, Write = 2 }

[[event]]
name = "Evicted"
code = 1
kind = "Evict"
doc = "An entry was evicted"
params = [
  { name = "size", sort = "W", doc = "bytes" },
  { name = "why", sort = "Why", doc = "the reason" },
  { name = "why_name", sort = "S", doc = "a name that the column of names would have" },
  { name = "access", sort = "[Access; 2]", doc = "its flags" },
  { name = "site", sort = "label", doc = "where it was made" },
]
"#;

const SCRIPT: &str = r#"
import dataclasses, json
import events

for event in events.read("some.tel"):
    print(event)
    print(json.dumps(dataclasses.asdict(event)))
    assert (event.time_ns, event.thread) == (event.ticks, event.lane.thread)
first, other = next(events.read("some.tel", incomplete="ignore")), next(iter(events.read("some.tel")))
assert first == other and first is not other
changed = dataclasses.replace(first, size=65)
assert changed.size == 65 and changed != first
assert (changed.ticks, changed.lane, changed.why) == (first.ticks, first.lane, first.why)
assert dataclasses.replace(changed, size=64) == first
assert dataclasses.replace(first, ticks=9).time_ns == 9
made = events.Evicted(7, first.lane, 1, events.Why.Full, "", [], first.site)
print(made)
print(events.__doc__)
"#;

const COLUMNS: &str = r#"
try:
    import numpy
except ImportError as error:
    print(f"no numpy: {error}")
else:
    import events
    for name, column in events.columns("some.tel")["Evicted"].items():
        print(name, column.tolist())
"#;

fn module() -> Module {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let mut facts = Facts::default();
    facts.set("clock", "os");
    let mut writer = Writer::new(Vec::new());
    let module = Module::new(&registry);
    writer.session(1, &facts, 0, 1_700_000_000_000_000_000).unwrap();
    let lane = Lane { session: 1, thread: 3, registry: writer.registry(1, &registry).unwrap() };
    for (ticks, why) in [(1_000, 1), (2_000, i128::from(i64::MIN)), (3_000, 9)] {
        let name = Value::String(RawStr::from("some"));
        let access = [1, 7].map(|bits| Value::Named(EnumValue::new(bits)));
        let values = [
            Value::Word(64),
            Value::Named(EnumValue::new(why)),
            name,
            Value::Array((&access[..]).into()),
            Value::Label(5),
        ];
        writer.event(lane, 1, ticks, &values).unwrap();
    }
    writer.end(1, 4_000).unwrap();
    module.with("some.tel", &writer.finish().unwrap());
    module
}

#[test]
fn events_show_their_time_and_thread() {
    for lines in run(&module(), SCRIPT, &[]) {
        let [first, json, ..] = &lines[..] else { panic!("{lines:?}") };
        let expected = "Evicted(time_ns=1000, thread=3, size=64, why=<Why.Full: 1>, why_name='some', ";
        assert!(first.starts_with(expected), "{first}");
        let expected = r#"{"time_ns": 1000, "thread": 3, "size": 64, "why": 1, "why_name": "some", "#;
        assert!(json.starts_with(&format!("{expected}\"access\": [1, 7], \"site\": 5}}")), "{json}");
        assert!(lines[6].starts_with("Evicted(time_ns=7, thread=3, size=1, "), "{lines:?}");
        assert!(lines.contains(&"    for event in events.read(\"telemetry.tel\"):".to_string()), "{lines:?}");
    }
}

#[test]
fn columns_have_names() {
    for lines in run(&module(), COLUMNS, &[]) {
        if lines[0].starts_with("no numpy") {
            eprintln!("SKIPPED: {}", lines[0]);
            continue;
        }
        let expected = [
            "ticks [1000, 2000, 3000]",
            "time_ns [1000, 2000, 3000]",
            "thread [3, 3, 3]",
            "session [1, 1, 1]",
            "size [64, 64, 64]",
            "why [1, -9223372036854775808, 9]",
            "why_name_ ['Full', 'Least', None]",
            "why_name ['some', 'some', 'some']",
            "access [[1, 7], [1, 7], [1, 7]]",
            "access_name [['Read', 'Read|Write|0x4'], ['Read', 'Read|Write|0x4'], ['Read', 'Read|Write|0x4']]",
            "site [5, 5, 5]",
            "site_name [None, None, None]",
        ];
        assert_eq!(lines, expected);
    }
}

/// Objects go to other processes, by `pickle`. A class of a stream without a module is made again.
const PICKLED: &str = r#"
import copy, dataclasses, pickle, subprocess, sys

sys.path.insert(0, sys.argv[1])
import events, telemetry_events

LOAD = """
import pickle, sys
sys.path.insert(0, sys.argv[1])
event = pickle.load(sys.stdin.buffer)
print(event, repr(event.why), event.lane, event.session.facts["clock"])
"""
streams = telemetry_events.open("some.tel"), telemetry_events.open("some.tel")
for made in (events.read("some.tel"), streams[0].events(), streams[1].events()):
    first, *_, last = made
    for same in (pickle.loads(pickle.dumps(first)), copy.copy(first), copy.deepcopy(first)):
        assert same == first and type(same.why) is type(first.why) and same.lane.thread == 3
    command = [sys.executable, "-B", "-c", LOAD, sys.argv[1]]
    print(subprocess.run(command, input=pickle.dumps(first), capture_output=True, check=True).stdout.decode(), end="")
assert first == next(streams[0].events(order="stream")) and type(last.why) is int
try:
    list(telemetry_events.open(open("some.tel", "rb").read()[:-9], incomplete="error").events())
except telemetry_events.IncompleteWarning as error:
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.completeness == error.completeness
    print(str(error).splitlines()[0])
"#;

#[test]
fn objects_can_be_pickled() {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
    for lines in run(&module(), PICKLED, &[sources]) {
        let [of_module, first, second, warning] = &lines[..] else { panic!("{lines:?}") };
        assert!(
            of_module.starts_with("Evicted(time_ns=1000, thread=3, size=64, why=<Why.Full: 1>"),
            "{lines:?}"
        );
        let behind = "<Why.Full: 1> <Evict of thread 3 of session 0000000000000001> os";
        assert!(of_module.ends_with(behind) && of_module == first && first == second, "{lines:?}");
        assert!(warning.contains("bytes in memory`: incomplete: 3 of 3 events read"), "{warning}");
    }
}

const VISITS: &str = r#"
[registry]
name = "visits"
version = { major = 1, median = 0, minor = 0 }
doc = "Visits"

[kinds]
Visit = { bit = 0, doc = "per visit" }

[[event]]
name = "Visited"
code = 1
kind = "Visit"
doc = "A visit"
params = [
  { name = "page", sort = "label", doc = "the page" },
  { name = "town", sort = "label", sensitive = "personal", doc = "where the user lives" },
]

[[event]]
name = "Interned"
code = 2
kind = "Visit"
doc = "A string got a number"
params = [
  { name = "number", sort = "label", doc = "the number" },
  { name = "text", sort = "string", names = "number", doc = "the string" },
]

[[event]]
name = "Mapped"
code = 3
kind = "Visit"
doc = "An address got a name"
params = [
  { name = "at", sort = "addr", doc = "the address" },
  { name = "name", sort = "label", names = "at", doc = "its name" },
]
"#;

/// A session has the strings of all labels, and some of them may be sensitive.
const HIDDEN: &str = r#"
import pickle, sys

sys.path.insert(0, sys.argv[1])
import events, telemetry_events

for read in (events.read("some.tel"), telemetry_events.open("some.tel").events()):
    *_, visit = read
    pickled = pickle.dumps(visit)
    for event in (visit, pickle.loads(pickled)):
        session = event.session
        labels = [session.label(number) for number in (1, 2, 3)]
        assert all(type(label.text).__name__ == "HiddenValue" for label in labels)
        print(event.page, event.town, *labels, session.string_of("", "", 2), session.name_of(64, event.ticks))
    print(*(text in pickled for text in (b"Books", b"Marylebone", b"heap")))
with telemetry_events.open("some.tel", show_sensitive=True) as stream:
    visit = next(stream.events("Visited"))
    print(visit.town, pickle.loads(pickle.dumps(visit)).session.label(2))
try:
    import numpy
except ImportError as error:
    print(f"no numpy: {error}")
else:
    columns = events.columns("some.tel")["Visited"]
    print(columns["page_name"].tolist(), columns["town"].tolist(), "Marylebone" in repr(columns))
"#;

#[test]
fn pickles_have_no_hidden_label() {
    let registry = telemetry_schema::parse(VISITS).unwrap();
    let (mut writer, module) = (Writer::new(Vec::new()), Module::new(&registry));
    writer.session(1, &Facts::default(), 0, 1_700_000_000_000_000_000).unwrap();
    let lane = Lane { session: 1, thread: 3, registry: writer.registry(1, &registry).unwrap() };
    for (number, text) in [(1, "Books"), (2, "Marylebone"), (3, "heap")] {
        let values = [Value::Label(number), Value::String(RawStr::from(text))];
        writer.event(lane, 2, number, &values).unwrap();
    }
    writer.event(lane, 3, 10, &[Value::Addr(64), Value::Label(3)]).unwrap();
    writer.event(lane, 1, 20, &[Value::Label(1), Value::Label(2)]).unwrap();
    writer.end(1, 30).unwrap();
    module.with("some.tel", &writer.finish().unwrap());
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
    let event = "Books <personal> <secret> <secret> <secret> <secret> heap";
    for mut lines in run(&module, HIDDEN, &[sources]) {
        match lines.pop().unwrap() {
            line if line.starts_with("no numpy") => eprintln!("SKIPPED: {line}"),
            line => assert_eq!(line, "['Books'] ['<personal>'] False"),
        }
        let of_reader = [event, event, "True False True"];
        assert_eq!(lines, [&of_reader[..], &of_reader, &["Marylebone Marylebone"]].concat());
    }
}

/// Standard input, a named pipe and a file of `/dev/fd`, with all warnings as errors.
const PIPES: &str = r#"
import os, sys, threading, warnings

warnings.simplefilter("error")
# A file that is not closed.
sys.unraisablehook = lambda found: os._exit(1)
sys.path.insert(0, sys.argv[1])
import telemetry_events

def write(path):
    with open(path, "wb") as pipe:
        pipe.write(open_bytes)

with open("some.tel", "rb") as file:
    open_bytes = file.read()
os.mkfifo("pipe")
writer = threading.Thread(target=write, args=["pipe"])
writer.start()
with telemetry_events.open("pipe") as stream:
    print(len(list(stream.events())))
writer.join()
os.remove("pipe")
for found in (b"", b" \n", b"text", "."):
    try:
        telemetry_events.open(found)
    except telemetry_events.NotAStream as error:
        print(error.found)
try:
    telemetry_events.open("missing")
except FileNotFoundError as error:
    print(error.filename)
"#;

#[test]
fn pipes_are_read_and_closed() {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
    for lines in run(&module(), PIPES, &[sources]) {
        assert_eq!(
            lines,
            ["3", "no bytes", "white space", "text that begins `text`", "a directory", "missing"]
        );
    }
}

/// A registry that only a hostile stream has. Code is generated with names of parameters.
const HOSTILE: &str = r#"
import sys

sys.path.insert(0, sys.argv[1])
from telemetry_events.registries import Registry
from telemetry_events.stream import _module_of

names = ["size", "class", "__class__", "a b", "x = print(1)", "gr\u00f6\u00dfe", "size", "ticks"]
params = ", ".join(f'{{ name = "{name}", sort = "Why" }}' for name in names)
registry = Registry(f"""
[registry]
name = "hostile"
version = {{ major = 1, median = 0, minor = 0 }}
[kinds]
"a\\nb" = {{ bit = 0 }}
[types."Why()"]
repr = "u8"
values = {{ mro = 1, __init__ = 2, "a b" = 3, Full = 4 }}
[[event]]
name = "x\\ny"
code = 1
kind = "a\\nb"
params = [{params.replace('"Why"', '"Why()"')}]
""")
module = _module_of(registry)
print(*module.attributes[1])
print(*module.enums["Why()"].__members__)
"#;

#[test]
fn names_in_a_stream_are_not_trusted() {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
    for lines in run(&module(), HOSTILE, &[sources]) {
        let attributes = "size class_ param_2 param_3 param_4 param_5 param_6 ticks_";
        assert_eq!(lines, [attributes, "Full"]);
    }
}
