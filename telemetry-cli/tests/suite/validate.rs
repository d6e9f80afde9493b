//! `validate`, and the marks of messages in `print` and `spans`.

use serde_json::Value as Json;
use telemetry_decode::{RawStr, Value};

use crate::run::Folder;
use crate::streams::{begun, facts_of_thread};

const REGISTRY: &str = r#"
[registry]
name = "gc"
version = { major = 1, median = 0, minor = 0 }
doc = "A pair that is a span, too, one that is not, and a message that stands alone"
[kinds]
Trace = { bit = 0, doc = "per trace" }
[[event]]
name = "TraceStart"
code = 1
kind = "Trace"
doc = "A trace began"
params = [{ name = "trace", sort = "u32" }]
[[event]]
name = "TraceEnd"
code = 2
kind = "Trace"
doc = "A trace ended"
params = [{ name = "trace", sort = "u32" }]
[[event]]
name = "StepBegin"
code = 3
kind = "Trace"
doc = "A step began"
[[event]]
name = "StepEnd"
code = 4
kind = "Trace"
doc = "A step ended"
[[event]]
name = "Low"
code = 5
kind = "Trace"
doc = "Little is left"
[[span]]
name = "Trace"
begin = "TraceStart"
end = "TraceEnd"
key = "trace"
doc = "A trace"
[[message]]
name = "Gc"
begin = "TraceStart"
end = "TraceEnd"
key = "trace"
doc = "A trace"
[[message]]
name = "Step"
begin = "StepBegin"
end = "StepEnd"
doc = "A step"
[[message]]
name = "Low"
begin = "Low"
doc = "Little is left"
"#;

/// Makes a stream of events: code, and the trace of those that have one.
pub(crate) fn stream(events: &[(u16, Option<u64>)]) -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let (writer, lane) = begun(7, 1_795_240_051_000_000_000, "gc", &registry);
    let mut writer = writer.block_size(64);
    for (time, (code, trace)) in (1000..).step_by(100).zip(events) {
        let values: Vec<Value<'_>> = trace.iter().map(|trace| Value::Unsigned(*trace)).collect();
        writer.event(lane, *code, time, &values).unwrap();
    }
    writer.end(7, 10_000).unwrap();
    writer.finish().unwrap()
}

/// Two complete pairs of `Gc`, one of `Step`, and a `Low`.
pub(crate) const WHOLE: [(u16, Option<u64>); 7] =
    [(1, Some(1)), (3, None), (1, Some(2)), (5, None), (2, Some(1)), (4, None), (2, Some(2))];

/// Returns the output of a command that finds nothing wrong.
#[track_caller]
fn good(folder: &Folder, args: &str) -> String {
    let run = folder.run(args);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn print_marks_what_is_heard() {
    let folder = Folder::new().with("gc.tel", stream(&WHOLE));
    let printed = good(&folder, "print gc.tel");
    let marks: Vec<&str> =
        printed.lines().filter_map(|line| line.split_once('(')).map(|(_, mark)| mark).collect();
    let expected = [
        "begin of message Gc)",
        "begin of message Step)",
        "begin of message Gc)",
        "message Low)",
        "end of message Gc)",
        "end of message Step)",
        "end of message Gc)",
    ];
    assert_eq!(marks, expected);
    let lines = good(&folder, "print --json gc.tel");
    let lines = lines.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let parts: Vec<_> = lines.map(|line| (line["message"].clone(), line["message_part"].clone())).collect();
    let [gc, step] = ["Gc", "Step"].map(Json::from);
    let [begin, end] = ["begin", "end"].map(Json::from);
    let expected = [
        (gc.clone(), begin.clone()),
        (step.clone(), begin.clone()),
        (gc.clone(), begin),
        ("Low".into(), Json::Null),
        (gc.clone(), end.clone()),
        (step, end.clone()),
        (gc, end),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn spans_marks_pairs_of_messages() {
    let folder = Folder::new().with("gc.tel", stream(&WHOLE));
    let told = good(&folder, "spans gc.tel");
    assert!(told.contains("Trace (message Gc)  gc") && told.contains("Step (message)      gc"), "{told}");
    let told: Json = serde_json::from_str(&good(&folder, "spans --json gc.tel")).unwrap();
    let pairs = told["spans"].as_array().unwrap().iter();
    let pairs: Vec<_> = pairs.map(|span| (span["span"].clone(), span["message"].clone())).collect();
    assert_eq!(pairs, [("Trace".into(), "Gc".into()), ("Step".into(), "Step".into())]);
    let csv = good(&folder, "spans --csv gc.tel");
    let messages: Vec<_> = csv.lines().map(|line| line.rsplit_once(',').unwrap().1).collect();
    assert_eq!(messages, ["message", "Gc", "Step", "Gc"]);
    let one = good(&folder, "spans --span Step gc.tel");
    assert!(one.contains("Step (message)") && !one.contains("Trace"), "{one}");
}

#[test]
fn validate_reports_unmatched_messages_with_their_places() {
    let check = |events: &[(u16, Option<u64>)], expected: &[(&str, &str)]| {
        let stream = stream(events);
        let folder = Folder::new().with("gc.tel", &stream);
        let run = folder.run("validate --json gc.tel");
        assert_eq!(run.code, Some(i32::from(!expected.is_empty())), "{}", run.stderr);
        let told: Json = serde_json::from_slice(&run.stdout).unwrap();
        let unmatched = told["unmatched"].as_array().unwrap();
        let found: Vec<_> = unmatched
            .iter()
            .map(|one| (one["message"].as_str().unwrap(), one["what"].as_str().unwrap()))
            .collect();
        assert_eq!(found, expected);
        for one in unmatched {
            assert!(one["input"].as_str().unwrap().contains("gc.tel") && one["certain"] == true, "{one}");
            assert!((one["offset"].as_u64().unwrap() as usize) < stream.len());
        }
        let run = folder.run("validate gc.tel");
        let text = String::from_utf8(run.stdout).unwrap();
        assert_eq!(
            text.lines().filter(|line| line.contains("gc.tel`: byte ")).count(),
            expected.len(),
            "{text}"
        );
        assert!(run.stderr.contains("complete: "), "{}", run.stderr);
    };
    check(&WHOLE, &[]);
    check(&WHOLE[..6], &[("Gc", "begin")]);
    check(&WHOLE[1..], &[("Gc", "end")]);
    check(&[(4, None), (3, None)], &[("Step", "end"), ("Step", "begin")]);
    check(&[(1, Some(1)), (1, Some(1)), (2, Some(1))], &[("Gc", "begin")]);
    check(&[(5, None)], &[]);
}

#[test]
fn validate_refuses_what_is_not_complete() {
    let whole = stream(&WHOLE);
    let folder = Folder::new().with("cut.tel", &whole[..whole.len() - 150]);
    let run = folder.run("validate cut.tel");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("incomplete: "), "{}", run.stderr);
}

/// The registry of docs/rules.md.
const RULES: &str = include_str!("../../../tests/registries/served.toml");

/// Makes a stream of a server that breaks three of its rules.
pub(crate) fn server() -> Vec<u8> {
    let registry = telemetry_schema::parse(RULES).unwrap();
    let (mut writer, lane) = begun(7, 1_795_240_051_000_000_000, "server", &registry);
    writer.thread(7, 1, &facts_of_thread("main")).unwrap();
    let id = Value::Unsigned;
    let peer = |peer: &'static str| Value::String(RawStr(peer.as_bytes()));
    let events = [
        (100, 3, Some(peer("ann"))),
        (200, 3, Some(peer("bob"))),
        (300, 1, Some(id(1))),
        (5_000, 2, Some(id(1))),
        (6_000, 1, Some(id(2))),
        (6_500, 5, None),
        (7_000, 3, Some(peer("cid"))),
        (8_000, 4, Some(peer("ann"))),
        (18_250, 2, Some(id(2))),
        (19_000, 4, Some(peer("bob"))),
        (19_500, 4, Some(peer("cid"))),
        (20_000, 1, Some(id(3))),
    ];
    for (us, code, value) in events {
        writer.event(lane, code, us * 1_000, value.as_slice()).unwrap();
    }
    writer.end(7, 30_000_000).unwrap();
    writer.finish().unwrap()
}

#[test]
fn rules_are_checked() {
    let folder = Folder::new().with("server.tel", server());
    folder.check(
        "rules_are_checked",
        &[
            "validate server.tel",
            "validate -n 1 server.tel",
            "validate --json server.tel",
            "validate --max-open 1 server.tel",
            "validate --where span==Connection server.tel",
            "validate --kind Serving server.tel",
        ],
    );
}
