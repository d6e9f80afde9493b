//! Labels: strings, and names of addresses, from the runtime's own events. The file `names.rs`
//! tests the names that other events give.

use telemetry_decode::__private::Source;
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{AddressName, Facts, Filter, Order, RawStr, Reader, Timed, Typed, Value};
use telemetry_format::{Label, Malformed};
use telemetry_schema::Registry;

use crate::made::{START, blocks, header, registry};

/// Returns the registry of the runtime's own events, as in streams.
pub(crate) fn runtime() -> Registry {
    telemetry_schema::parse_embedded(include_str!("../../../telemetry-runtime/telemetry.toml")).unwrap()
}

/// Names two addresses repeatedly, with a flush after some names, and emits an event of the program
/// after each.
pub(crate) fn named_over_and_over() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).block_size(90);
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let program = Lane { session: 1, thread: 3, registry: writer.registry(1, &registry()).unwrap() };
    let labels = Lane { session: 1, thread: 0, registry: writer.registry(1, &runtime()).unwrap() };
    for n in 0..20 {
        let text = format!("name {n}");
        writer.event(labels, 2, n * 10, &[Value::Label(n), Value::String(RawStr::from(&*text))]).unwrap();
        writer.event(labels, 3, n * 10 + 1, &[Value::Addr(0x1000 + n % 2), Value::Label(n)]).unwrap();
        writer.event(program, 1, n * 10 + 5, &[]).unwrap();
        if n % 3 == 0 {
            writer.flush().unwrap();
        }
    }
    writer.end(1, 300).unwrap();
    writer.finish().unwrap()
}

/// An address has its latest name so far, in every way of reading, and whatever a filter excludes.
#[test]
fn an_address_has_its_name_of_the_time() {
    let stream = named_over_and_over();
    // Each file of a rotated stream begins with all labels again; they may also be out of order.
    let all = blocks(&stream);
    let labels = all.iter().filter(|block| {
        let header = header(&stream[(*block).clone()]);
        header.thread == 0 && header.events > 0
    });
    let again: Vec<u8> = labels.rev().flat_map(|block| stream[block.clone()].to_vec()).collect();
    let repeated = [&stream[..], &again].concat();
    let cell_only = Filter::default().threads([3_u64]);
    for stream in [&stream, &repeated] {
        for filter in [Filter::default(), cell_only.clone()] {
            for order in [Order::Stream, Order::Time] {
                let mut events =
                    Reader::from_slice(stream).order(order).filter(filter.clone()).events().unwrap();
                let mut seen = 0;
                while let Some(event) = events.next().unwrap() {
                    if event.thread() == 0 {
                        continue;
                    }
                    let n = event.ticks() / 10;
                    let names = [0x1000, 0x1001, 0x1002].map(|address| event.name_of(address));
                    let name = |n: u64| format!("name {n}");
                    let (now, before) = (Some(name(n)), n.checked_sub(1).map(name));
                    let expected = if n % 2 == 0 { [now, before, None] } else { [before, now, None] };
                    let expected = expected.each_ref().map(|name| name.as_deref().map(AddressName::Text));
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

/// The type for an event with a label, as generated.
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

    fn read<'a, S: Source<'a>, T>(
        _: u32,
        source: &mut S,
        then: impl FnOnce(&mut S, Self::Event<'a>) -> T,
    ) -> Result<T, Malformed> {
        let mut slots: [u64; 1] = source.slots()?;
        let read = (source.delta(&mut slots[0])?, source.value::<Label>()?);
        source.keep(slots);
        Ok(then(source, read))
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
    writer.event(labels, 2, 6, &[Value::Label(1), Value::String(RawStr(b"one"))]).unwrap();
    writer.event(labels, 3, 7, &[Value::Addr(0x1000), Value::Label(1)]).unwrap();
    writer.event(program, 1, 8, &[Value::Pointer(0x1000), Value::Label(2)]).unwrap();
    let stream = writer.finish().unwrap();
    for order in [Order::Time, Order::Stream] {
        let mut seen = Vec::new();
        let mut events = Reader::from_slice(&stream).order(order).typed::<Named>().unwrap();
        let see = |at: Timed<'_, (u64, Label)>| {
            let (pool, called) = at.event;
            let name = at.name_of(pool).and_then(AddressName::text);
            seen.push((at.label(called).map(str::to_string), name.map(str::to_string)));
        };
        events.for_each(see).unwrap();
        assert_eq!(seen, [(Some("one".to_string()), None), (None, Some("one".to_string()))], "{order:?}");
        assert_eq!(events.skipped().total(), 2);
    }
}
