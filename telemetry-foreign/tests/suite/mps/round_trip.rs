//! Logs to streams and back.

use telemetry_decode::names::Numbers;
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{AddressName, Facts, Order, RawStr, Reader, Value};
use telemetry_foreign::{Written, mps};

use super::made::{self, Is::N, event, sync};
use super::shown::{line, shown};
use crate::{reference, streams};

/// Returns the events of a log, by time, as a stream.
fn stream_of(log: &[u8]) -> Vec<u8> {
    streams::of_log(log, mps::MpsLog::new())
}

/// Returns a stream as a log.
fn log_of(stream: &[u8]) -> (Vec<u8>, Written) {
    let mut log = Vec::new();
    let mut events = Reader::from_slice(stream).events().unwrap();
    let written = mps::write(&mut events, &mut log).expect("memory takes it all");
    (log, written)
}

/// Checks that a log looks the same after it became a stream and a log again. Returns the stream.
fn check(name: &str, log: &[u8]) -> Vec<u8> {
    let before = shown(log, Order::Stream);
    let stream = stream_of(log);
    let (again, written) = log_of(&stream);
    assert_eq!((written.events, written.left_out.len()), (before.counted, 0), "{name}");
    let after = shown(&again, Order::Stream);
    for (at, (found, expected)) in after.text.lines().zip(before.text.lines()).enumerate() {
        assert_eq!(found, expected, "{name}, line {}", at + 1);
    }
    assert_eq!(after.text.len(), before.text.len(), "{name}");
    assert_eq!(again.len(), log.len(), "{name}");
    // The stream shows what the log shows, labels and times included.
    let mut by_time = String::new();
    let mut events = Reader::from_slice(&stream).events().unwrap();
    while let Some(event) = events.next().unwrap() {
        line(&mut by_time, &event);
    }
    assert_eq!(by_time, shown(log, Order::Time).text, "{name}");
    let [session] = events.sessions() else { panic!("{name}: one session") };
    let labels = |session: &telemetry_decode::Session| (session.labels.strings(), session.labels.names());
    assert_eq!(labels(session), labels(&before.sessions[0]), "{name}");
    let (clock, other) = (session.clock, before.sessions[0].clock);
    // A stream has the rate in whole ticks per second.
    for ticks in [0, 1_000_000, 1 << 40].map(|ticks| clock.start_ticks() + ticks) {
        let (ns, other) = (clock.ns(ticks), other.ns(ticks));
        assert!(ns.abs_diff(other) as f64 <= 1.0 + 1e-6 * other as f64, "{name}: {ns} and {other}");
    }
    drop(events);
    stream
}

#[test]
fn a_small_log_and_its_beginnings() {
    let log = made::small();
    check("whole", &log);
    // Cut after any event: then the last batch has no end.
    let (mut at, mut cuts) = (0, 0);
    while at < log.len() {
        at += usize::from(u16::from_le_bytes([log[at + 2], log[at + 3]]));
        check(&format!("cut at {at}"), &log[..at]);
        cuts += 1;
    }
    assert_eq!(cuts, 20);
}

#[test]
fn unknown_events_stay_where_they_are() {
    let mut unknown = event("PoolInit", 2_350, &[N(1), N(2), N(3), N(4)]);
    unknown[0] = 200;
    let log = [
        made::beginning(1_000),
        event("ArenaDestroy", 2_400, &[N(1)]),
        event("PoolFinish", 2_380, &[N(1), N(7)]),
        unknown,
        event("PoolFinish", 2_340, &[N(1), N(7)]),
        event("SegFree", 2_360, &[N(1), N(7)]),
        sync(3_000, 2_000),
    ];
    let stream = check("unknown", &log.concat());
    assert!(shown(&log.concat(), Order::Stream).text.contains("\n000000000000092E   C8\n"));
    let found = Reader::from_slice(&stream)
        .events()
        .unwrap()
        .registries()
        .iter()
        .any(|known| known.registry.name == mps::UNKNOWN_REGISTRY);
    assert!(found);
}

/// Returns the bytes of a stream's events, without headers of blocks and the registry.
fn packed(stream: &[u8]) -> u64 {
    let (mut events, mut bytes) = (Reader::from_slice(stream).events().unwrap(), 0);
    while let Some(event) = events.next().unwrap() {
        bytes += u64::from(event.packed_len());
    }
    bytes
}

/// Real logs come back, and are short as streams: about seven bytes for an event, if there are
/// many.
#[test]
fn real_logs() {
    let Some(folder) = reference::folder("mps") else { return };
    for name in reference::names(&folder, ".mpsio.log") {
        let Some(log) = reference::read(&folder.join(format!("{name}.mpsio.log"))) else { continue };
        let stream = check(&name, &log);
        let events = shown(&log, Order::Stream).counted;
        let each = stream.len() as f64 / events as f64;
        eprintln!(
            "{name}: {events} events, {} bytes, as a stream {}: {each:.2} an event",
            log.len(),
            stream.len()
        );
        let packed = packed(&stream) as f64 / events as f64;
        eprintln!("{name}: the events alone: {packed:.2}");
        assert!(log.len() < 1_000_000 || packed <= 7.1, "{name}: {packed}");
    }
}

const OTHER: &str = r#"
[registry]
name = "other"
version = { major = 1, median = 0, minor = 0 }
doc = "Of another program, which has some of the MPS's events"
[kinds]
Some = { bit = 9, doc = "all" }
[[event]]
name = "PoolAlloc"
code = 1
kind = "Some"
doc = "As the MPS has it, under another code"
params = [{ name = "pool", sort = "P" }, { name = "p_return", sort = "A" }, { name = "size", sort = "W" }]
[[event]]
name = "PoolFree"
code = 2
kind = "Some"
doc = "With a size of another sort"
params = [{ name = "pool", sort = "P" }, { name = "old", sort = "A" }, { name = "size", sort = "u64" }]
[[event]]
name = "Mine"
code = 3
kind = "Some"
doc = "Not the MPS's"
"#;

/// From other sources, events of the MPS's form are written, in batches as the MPS would make them.
#[test]
fn other_sources() {
    let registry = telemetry_schema::parse(OTHER).unwrap();
    let mut facts = Facts::default();
    facts.set("clock", "os");
    let mut writer = Writer::new(Vec::new());
    let mut lanes = Vec::new();
    for session in [7, 8] {
        writer.session(session, &facts, 0, 1_700_000_000_000_000_000 + session).unwrap();
        lanes.push(Lane { session, thread: 1, registry: writer.registry(session, &registry).unwrap() });
    }
    for n in 1..=200_u64 {
        let values = [Value::Pointer(5), Value::Addr(n), Value::Word(48)];
        writer.event(lanes[0], 1, 1_000 * n, &values).unwrap();
    }
    let values = [Value::Pointer(5), Value::Addr(1), Value::Unsigned(48)];
    writer.event(lanes[0], 2, 300_000, &values).unwrap();
    writer.event(lanes[0], 3, 300_001, &[]).unwrap();
    writer.event(lanes[1], 3, 300_002, &[]).unwrap();
    let (log, written) = log_of(&writer.finish().unwrap());
    let left_out =
        [("that the MPS does not have", 2), ("of further sessions, since such a log has only one", 1)];
    let left_out = left_out.map(|(why, events)| (why.to_string(), events)).into();
    assert_eq!((written.events, written.left_out), (200, left_out));
    let found = shown(&log, Order::Stream);
    assert!(found.completeness.is_whole());
    let codes: Vec<&str> = found.text.lines().map(|line| line[17..21].trim()).collect();
    // EventInit alone, then the events that fit a buffer of 4096 bytes, and the rest.
    let batches: Vec<usize> = codes.split(|code| *code == "1C").map(<[&str]>::len).collect();
    assert_eq!(batches, [1, 102, 98, 0]);
    assert_eq!((codes[0], codes[2]), ("1D", "2A"));
    // The slow clock, in whole microseconds, gives back the rate of the first one.
    let rate = found.sessions[0].clock.ticks_per_second();
    assert!((0.99e9..1.01e9).contains(&rate), "{rate}");
}

/// The runtime's labels become the MPS's.
#[test]
fn labels_of_the_runtime() {
    let runtime =
        telemetry_schema::parse_embedded(include_str!("../../../../telemetry-runtime/telemetry.toml"));
    let runtime = runtime.unwrap();
    let mut writer = Writer::new(Vec::new());
    writer.session(7, &Facts::default(), 0, 1_700_000_000_000_000_000).unwrap();
    let lane = Lane { session: 7, thread: 0, registry: writer.registry(7, &runtime).unwrap() };
    let long = "x".repeat(256);
    writer.event(lane, 2, 10, &[Value::Label(9), Value::String(RawStr(b"nine"))]).unwrap();
    writer.event(lane, 2, 11, &[Value::Label(8), Value::String(RawStr(long.as_bytes()))]).unwrap();
    writer.event(lane, 2, 12, &[Value::Label(7), Value::String(RawStr(b"a\0b"))]).unwrap();
    writer.event(lane, 3, 20, &[Value::Addr(0x1000), Value::Label(9)]).unwrap();
    let (log, written) = log_of(&writer.finish().unwrap());
    assert_eq!(written.events, 2);
    assert_eq!(written.left_out.values().sum::<u64>(), 2);
    let labels = &shown(&log, Order::Time).sessions[0].labels;
    assert_eq!(labels.string_of(Numbers::of("mps", "string_id"), 9), Some("nine"));
    let name = Some(AddressName::Text("nine"));
    assert_eq!((labels.name_of(0x1000, 20), labels.name_of_pointer(0x1000, 20)), (name, name));
}
