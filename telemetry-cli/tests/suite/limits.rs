//! Events that limits left out, as the commands show them.

use telemetry_decode::writer::Lane;
use telemetry_decode::{RawStr, Value};
use telemetry_format::own;

use crate::run::Folder;
use crate::streams::{begun, facts_of_thread, runtime_registry};

const REGISTRY: &str = include_str!("../../../tests/registries/limits.toml");

/// Rules about events with limits. `Answered` is by the key of both samples.
const RULES: &str = r#"
[[rule]]
name = "Answered"
after = "Request"
comes = "Response"
by = "id"
doc = "Peers wait for it"

[[rule]]
name = "PolledAgain"
after = "Closed"
comes = "Polled"
doc = "One more connection may come"

[[rule]]
name = "Refuses"
after = "Closed"
comes = "Refused"
within = "1 ms"
doc = "The server is full at once"
"#;

/// A server that left out events since its time `told`, in microseconds.
fn server(told: u64) -> Vec<u8> {
    let registry = telemetry_schema::parse(&format!("{REGISTRY}{RULES}")).unwrap();
    let (mut writer, lane) = begun(9, 1_795_240_051_000_000_000, "server", &registry);
    let runtime = writer.registry(9, &runtime_registry()).unwrap();
    writer.thread(9, 1, &facts_of_thread("main")).unwrap();
    let number = Value::Unsigned;
    for (us, code, values) in [
        (100, 4, vec![]),
        (200, 1, vec![number(7)]),
        (300, 2, vec![number(12), Value::Word(640)]),
        (400, 2, vec![number(15), Value::Word(80)]),
        (500, 3, vec![number(15)]),
        (3_000, 5, vec![]),
        (9_000, 1, vec![number(8)]),
    ] {
        writer.event(lane, code, us * 1_000, &values).unwrap();
    }
    let of_runtime = Lane { registry: runtime, ..lane };
    let text = |text: &'static str| Value::String(RawStr(text.as_bytes()));
    for (us, event, left_out, so_far) in
        [(told, "Refused", 1, 1), (20_000, "Refused", 1_234, 1_235), (20_001, "Polled", 98, 98)]
    {
        let counts = [text("limited"), text(event), number(4711), number(left_out), number(so_far)];
        writer.event(of_runtime, own::EVENTS_LEFT_OUT, us * 1_000, &counts).unwrap();
    }
    writer.end(9, 30_000_000).unwrap();
    writer.finish().unwrap()
}

/// The stream of docs/limits.md.
pub(crate) fn limited() -> Vec<u8> {
    server(250)
}

#[test]
fn commands_say_what_limits_left_out() {
    let folder = Folder::new().with("server.tel", limited());
    folder.check(
        "commands_say_what_limits_left_out",
        &[
            "print server.tel",
            "stats server.tel",
            "stats --kind Traffic --json server.tel",
            "validate server.tel",
            "validate --json server.tel",
        ],
    );
}

/// `Refuses` is broken for certain if the first event was left out after it was overdue.
#[test]
fn rules_about_limited_events() {
    let folder = Folder::new().with("before.tel", server(2_000)).with("after.tel", server(10_000));
    folder.check("rules_about_limited_events", &["validate before.tel", "validate after.tel"]);
}
