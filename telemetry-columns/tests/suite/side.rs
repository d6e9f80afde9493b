//! Side tables.

use std::collections::BTreeMap;

use telemetry_columns::{Batches, Messages, Spans, block_table, side_tables};
use telemetry_decode::{Order, RawStr, Reader, Value};
use telemetry_testing::made::{Plan, blocks, header, make, registry as every_type};

use crate::text::{NONE, described};
use crate::written::{event, registry, stream, stream_of_whole_blocks};

type Side = BTreeMap<String, Vec<BTreeMap<String, String>>>;

/// Returns the number of rows of all events, and the side tables.
fn read(stream: &[u8]) -> (u64, Side) {
    let mut batches = Batches::new(Reader::from_slice(stream).order(Order::Stream).events().unwrap());
    let mut rows = 0;
    while let Some(batch) = batches.next_batch().unwrap() {
        rows += batch.rows() as u64;
    }
    (rows, described(&side_tables(batches.events())))
}

fn sum(rows: &[BTreeMap<String, String>], columns: &[&str]) -> u64 {
    let of = |row: &BTreeMap<String, String>| {
        columns.iter().map(|name| row[*name].parse::<u64>().unwrap()).sum::<u64>()
    };
    rows.iter().map(of).sum()
}

const LOST: [&str; 3] = ["lost_pool", "lost_reentrant", "lost_sink"];

#[test]
fn rows_and_losses_are_all_events() {
    for seed in 0..10 {
        let plan = Plan { seed, events: 2000, sessions: 2, threads: 3, lose: 20, ..Plan::default() };
        let made = make(&every_type(), &plan);
        let lost: u64 = made.lost.values().map(|(loss, _)| loss.events()).sum();
        let truncated: u64 = made.lost.values().map(|(loss, _)| loss.truncated).sum();
        let (rows, side) = read(&made.stream);
        assert_eq!((rows, sum(&side["lane"], &["events"])), (2000, 2000));
        assert_eq!(sum(&side["lane"], &LOST), lost);
        assert_eq!(sum(&side["loss"], &LOST), lost);
        assert_eq!(sum(&side["loss"], &["truncated"]), truncated);
        assert_eq!(side["session"].len(), 2);
        assert_eq!(side["thread"].len(), 6);
        assert!(!side.contains_key("damage"));

        // The events of a damaged block are missing, and those of its later parts.
        let mut damaged = made.stream.clone();
        let block = blocks(&damaged)[20].clone();
        damaged[block.end - 1] ^= 1;
        let (rows, side) = read(&damaged);
        assert_eq!(side["damage"][0]["from"], block.start.to_string());
        assert_eq!(rows + sum(&side["lane"], &["missing"]), 2000, "{side:?}");
    }
}

#[test]
fn sessions_and_threads_have_their_facts() {
    let (_, side) = read(&make(&every_type(), &Plan { threads: 1, ..Plan::default() }).stream);
    let [session, thread] = ["session", "thread"].map(|table| &side[table][0]);
    let expected = [
        ("program", "'program1'"),
        ("started", "1700000000000000050"),
        ("start_ticks", "1000000"),
        ("ticks_per_second", "41ddcd6500000000"),
        ("declared", "true"),
        ("ended", "true"),
        ("facts", "'program = \\\"program1\\\"\\nclock = \\\"tsc\\\"\\nticks_per_second = 2000000000\\n'"),
    ];
    for (name, value) in expected {
        assert_eq!(session[name], value, "{name}");
    }
    let expected = [("session", "1"), ("thread", "1"), ("name", "'worker-1'"), ("tid", NONE)];
    for (name, value) in expected {
        assert_eq!(thread[name], value, "{name}");
    }
}

#[test]
fn labels_and_names_have_tables() {
    let params = "{ name = \"id\", sort = \"label\", doc = \"d\" }, \
                  { name = \"text\", sort = \"string\", names = \"id\", doc = \"d\" }";
    let naming = "{ name = \"at\", sort = \"addr\", doc = \"d\" }, \
                  { name = \"by\", sort = \"label\", names = \"at\", doc = \"d\" }";
    let registry = registry("r", "1.0.0", &(event("Defined", 1, params) + &event("Called", 2, naming)));
    let ten = [Value::Label(10), Value::String(RawStr("zehn \u{e4}".as_bytes()))];
    let two = [Value::Label(2), Value::String(RawStr(b"two"))];
    let called = [Value::Addr(0x1000), Value::Label(2)];
    let unknown = [Value::Addr(0x2000), Value::Label(3)];
    let (_, side) =
        read(&stream(&[registry], &[(0, 1, &ten), (0, 1, &two), (0, 2, &called), (0, 2, &unknown)]));
    let cells = |table: &str, names: &[&str]| -> Vec<String> {
        side[table]
            .iter()
            .map(|row| names.iter().map(|name| row[*name].clone()).collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(cells("label", &["session", "number", "text"]), ["7 2 'two'", "7 10 'zehn \\xc3\\xa4'"]);
    assert_eq!(
        cells("name", &["address", "role", "time_ns", "name"]),
        ["4096 'either' 2 'two'", "8192 'either' 3 -"]
    );
}

#[test]
fn blocks_have_all_events() {
    let plan = Plan { events: 2000, sessions: 2, threads: 3, ..Plan::default() };
    let made = make(&every_type(), &plan);
    let index = Reader::from_slice(&made.stream).index().unwrap();
    let lengths: u64 = index.lanes.iter().map(|lane| lane.bytes).sum();
    let batches: Vec<_> = block_table(index).map(|batch| batch.unwrap()).collect();
    let rows = &described(&batches)["block"];
    assert_eq!(sum(rows, &["events"]), 2000);
    assert_eq!(sum(rows, &["length"]), lengths);
    assert!(rows.iter().all(|row| row["registry"] == "'all_sorts'" && row["kind"] != NONE), "{rows:?}");
}

/// A registry with a span of a key, and a message of one event.
fn paired() -> telemetry_schema::Registry {
    let key = "{ name = \"key\", sort = \"u32\", doc = \"d\" }";
    let pairs = "[[span]]\nname = \"Work\"\nbegin = \"Begun\"\nend = \"Ended\"\nkey = \"key\"\ndoc = \"d\"\n\
                 [[message]]\nname = \"Work\"\nbegin = \"Begun\"\nend = \"Ended\"\nkey = \"key\"\nlimit = 4\ndoc = \"d\"\n\
                 [[message]]\nname = \"Full\"\nbegin = \"Full\"\ndoc = \"d\"\n";
    let events = event("Begun", 1, key) + &event("Ended", 2, key) + &event("Full", 3, "");
    registry("r", "1.0.0", &(events + pairs))
}

#[test]
fn spans_and_messages_have_tables() {
    let [one, two, three] = [1, 2, 3].map(|key| [Value::Unsigned(key)]);
    let bytes = stream(&[paired()], &[(0, 1, &one), (0, 1, &two), (0, 3, &[]), (0, 2, &one), (0, 2, &three)]);
    let mut events = Reader::from_slice(&bytes).events().unwrap();
    let (mut spans, mut messages) = (Spans::new(&events.gaps()), Messages::default());
    while let Some(event) = events.next().unwrap() {
        assert!(spans.push(&event).is_none() && messages.push(&event).is_none());
    }
    let batches = [spans.finish().unwrap(), messages.finish().unwrap()];
    assert!(spans.finish().is_none() && messages.finish().is_none());
    let side = described(&batches);
    let cells = |table: &str, names: &[&str]| -> Vec<String> {
        side[table]
            .iter()
            .map(|row| names.iter().map(|name| row[*name].clone()).collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(
        cells(
            "span",
            &[
                "span",
                "key",
                "begin_ns",
                "end_ns",
                "duration_ns",
                "thread",
                "end_thread",
                "certain",
                "message"
            ]
        ),
        [
            "'Work' 1 0 3 3 1 1 true 'Work'",
            "'Work' 3 - 4 - - 1 false 'Work'",
            "'Work' 2 1 - - 1 - false 'Work'",
        ]
    );
    assert_eq!(
        cells("message", &["message", "part", "event", "position", "time"]),
        [
            "'Work' 'begin' 'Begun' 0 1000",
            "'Work' 'begin' 'Begun' 1 1001",
            "'Full' 'whole' 'Full' 2 1002",
            "'Work' 'end' 'Ended' 3 1003",
            "'Work' 'end' 'Ended' 4 1004",
        ]
    );
}

/// Damage becomes known with the first event after it, which may end a span.
#[test]
fn spans_across_damage_are_uncertain() {
    let key = [Value::Unsigned(1)];
    let bytes = stream_of_whole_blocks(&[paired()], &[(0, 1, &key), (0, 3, &[]), (0, 2, &key)]);
    let events_blocks: Vec<_> =
        blocks(&bytes).into_iter().filter(|range| header(&bytes[range.start..]).events == 1).collect();
    for (is_damaged, in_batches) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut bytes = bytes.clone();
        if is_damaged {
            bytes[events_blocks[1].end - 1] ^= 1;
        }
        let mut events = Reader::from_slice(&bytes).events().unwrap();
        let (mut spans, mut damages) = (Spans::new(&events.gaps()), events.damages());
        loop {
            let row = if in_batches {
                let Some(batch) = events.next_batch().unwrap() else { break };
                spans.push_batch(&batch)
            } else {
                let Some(event) = events.next().unwrap() else { break };
                spans.push(&event)
            };
            assert!(row.is_none());
            if events.damages() != damages {
                damages = events.damages();
                spans.set_gaps(&events.gaps());
            }
        }
        let rows = &described(&[spans.finish().unwrap()])["span"];
        assert_eq!(rows.len(), 1, "{rows:?} {:?} {events_blocks:?}", events.completeness());
        assert_eq!(
            (rows[0]["duration_ns"].as_str(), rows[0]["certain"] == "true"),
            ("2", !is_damaged),
            "{rows:?} {}",
            events.completeness()
        );
    }
}
