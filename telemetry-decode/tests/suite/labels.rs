//! Labels: strings and names of addresses, from the runtime's own events.

use telemetry_decode::__private::Source;
use telemetry_decode::{At, Facts, Filter, Labels, Lane, Order, Reader, Text, Typed, Value, Writer};
use telemetry_format::{Label, Malformed};
use telemetry_schema::Registry;

use crate::made::{START, blocks, header, relation};

/// The relation of the runtime's own events, as streams have it.
pub(crate) fn runtime() -> Registry {
    telemetry_schema::parse_embedded(include_str!("../../../telemetry-runtime/telemetry.toml")).unwrap()
}

/// Names two addresses over and over, with a flush after some, and emits an event of the program after each.
fn named_over_and_over() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).block_size(90);
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let program = Lane { session: 1, thread: 3, registry: writer.registry(1, &relation()).unwrap() };
    let labels = Lane { session: 1, thread: 0, registry: writer.registry(1, &runtime()).unwrap() };
    for n in 0..20 {
        let text = format!("name {n}");
        writer.event(labels, 2, n * 10, &[Value::Label(n), Value::String(Text::from(&*text))]).unwrap();
        writer.event(labels, 3, n * 10 + 1, &[Value::Addr(0x1000 + n % 2), Value::Label(n)]).unwrap();
        writer.event(program, 1, n * 10 + 5, &[]).unwrap();
        if n % 3 == 0 {
            writer.flush().unwrap();
        }
    }
    writer.end(1, 300).unwrap();
    writer.finish().unwrap()
}

/// The latest name until then, in whichever way the stream is read, and whatever a filter leaves out.
#[test]
fn an_address_has_its_name_of_the_time() {
    let stream = named_over_and_over();
    // As at the start of a file of a rotated stream, all labels are sent again; and out of order.
    let all = blocks(&stream);
    let labels = all.iter().filter(|block| {
        let header = header(&stream[(*block).clone()]);
        header.thread == 0 && header.events > 0
    });
    let again: Vec<u8> = labels.rev().flat_map(|block| stream[block.clone()].to_vec()).collect();
    let repeated = [&stream[..], &again].concat();
    let cell_only = Filter { threads: vec![3.into()], ..Filter::default() };
    for stream in [&stream, &repeated] {
        for filter in [Filter::default(), cell_only.clone()] {
            for order in [Order::Stream, Order::Time] {
                let mut events =
                    Reader::from_slice(stream).order(order).filter(filter.clone()).events().unwrap();
                let mut seen = 0;
                while let Some(event) = events.next().unwrap() {
                    if event.thread == 0 {
                        continue;
                    }
                    let n = event.ticks / 10;
                    let names = [0x1000, 0x1001, 0x1002].map(|address| event.name_of(address));
                    let (now, before) = (Some(n), n.checked_sub(1));
                    let expected = if n % 2 == 0 { [now, before, None] } else { [before, now, None] };
                    assert_eq!(names, expected);
                    assert_eq!(event.label(n), Some(&*format!("name {n}")));
                    assert_eq!(event.label(99), None);
                    seen += 1;
                }
                assert_eq!(seen, 20);
                assert!(events.completeness().is_complete());
                let labels = &events.sessions()[0].labels;
                assert_eq!((labels.strings(), labels.names()), (20, 20));
            }
        }
    }
}

/// As generated code has it for an event with a label.
struct Named;

impl Typed for Named {
    type Event<'a> = (u64, Label);

    const REGISTRY: &'static str = r#"
[registry]
name = "named"
version = { major = 1, median = 0, minor = 0 }
doc = "d"

[kinds]
Pool = { bit = 0, doc = "d" }

[[event]]
name = "PoolNamed"
code = 1
kind = "Pool"
doc = "d"
params = [{ name = "pool", sort = "pointer", doc = "d" }, { name = "called", sort = "label", doc = "d" }]
"#;

    fn read<'a>(_: u32, source: &mut impl Source<'a>) -> Result<Self::Event<'a>, Malformed> {
        Ok((source.delta(0)?, source.value::<Label>()?))
    }
}

#[test]
fn typed_events_have_labels() {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let named = telemetry_schema::parse(Named::REGISTRY).unwrap();
    let program = Lane { session: 1, thread: 3, registry: writer.registry(1, &named).unwrap() };
    let labels = Lane { session: 1, thread: 0, registry: writer.registry(1, &runtime()).unwrap() };
    writer.event(program, 1, 5, &[Value::Pointer(0x1000), Value::Label(1)]).unwrap();
    writer.event(labels, 2, 6, &[Value::Label(1), Value::String(Text(b"one"))]).unwrap();
    writer.event(labels, 3, 7, &[Value::Addr(0x1000), Value::Label(1)]).unwrap();
    writer.event(program, 1, 8, &[Value::Pointer(0x1000), Value::Label(2)]).unwrap();
    let stream = writer.finish().unwrap();
    for order in [Order::Time, Order::Stream] {
        let mut seen = Vec::new();
        let mut events = Reader::from_slice(&stream).order(order).typed::<Named>().unwrap();
        let see = |at: At<'_, (u64, Label)>| {
            let (pool, called) = at.event;
            seen.push((at.label(called).map(str::to_string), at.name_of(pool)));
        };
        events.for_each(see).unwrap();
        assert_eq!(seen, [(Some("one".to_string()), None), (None, Some(Label(1)))], "{order:?}");
        assert_eq!(events.passed_over().total(), 2);
    }
}

/// A program's own relation cannot take the place of the runtime's.
#[test]
fn labels_are_the_runtimes_alone() {
    let text =
        include_str!("../../../telemetry-runtime/telemetry.toml").replacen("\"telemetry\"", "\"mine\"", 1);
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let mine = writer.registry(1, &telemetry_schema::parse(&text).unwrap()).unwrap();
    let lane = Lane { session: 1, thread: 0, registry: mine };
    writer.event(lane, 3, 1, &[Value::Addr(1), Value::Label(2)]).unwrap();
    let stream = writer.finish().unwrap();
    let mut events = Reader::from_slice(&stream).events().unwrap();
    assert_eq!(events.next().unwrap().unwrap().name_of(1), None);
}

/// What is beyond the room for labels is not kept; what is kept stays.
#[test]
fn labels_are_bounded() {
    let (mut labels, mut room) = (Labels::default(), 1_000);
    labels.define(1, b"one", &mut room);
    labels.name(7, 10, 1, &mut room);
    let left = room;
    for _ in 0..1_000 {
        labels.define(1, b"one", &mut room);
        labels.name(7, 10, 1, &mut room);
    }
    assert_eq!(room, left, "what is known takes no room");
    for n in 2..1_000 {
        labels.define(n, &[b'x'; 40], &mut room);
        labels.name(n, n, n, &mut room);
    }
    assert!(labels.strings() + labels.names() < 1_000 / 64);
    assert_eq!((labels.string(1), labels.name_of(7, 10)), (Some("one"), Some(1)));
    let mut plenty = usize::MAX;
    labels.define(5_000, b"\xff\xfe", &mut plenty);
    assert_eq!(labels.string(5_000), Some("\u{fffd}\u{fffd}"));
}
