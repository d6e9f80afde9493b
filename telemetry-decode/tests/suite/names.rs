//! Names from the marks of registries: which values have them, from which time on, and in streams
//! that are older than the marks.

use telemetry_decode::names::{NameValue, NamedAt, Namings};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{AddressName, Event, Facts, Filter, Labels, Order, RawStr, Reader, Value};
use telemetry_schema::{Registry, parse, parse_embedded};

use crate::labels::runtime;
use crate::made::START;

/// The registry has all ways in which a value can name another, and an event that shows values with
/// names.
const NAMES: &str = include_str!("../names.toml");

/// Events to write: `Show` of pointer and address, and events that give names.
#[derive(Clone, Copy)]
enum Emitted {
    Show(u64, u64),
    Named(u64, &'static str),
    Alias(u64, u64),
    Number(u64, &'static str),
    Numbered(u64, u64),
    CalledAddr(u64, &'static str),
    /// Events of the runtime: the string of a label, and the label of an address.
    Intern(u64, &'static str),
    LabelAddress(u64, u64),
}

use Emitted::*;

/// Makes a stream of these events, at the times 10, 20, and so on; each kind has its own thread.
fn stream(registry: &Registry, emitted: &[Emitted]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).block_size(100);
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let names = writer.registry(1, registry).unwrap();
    let labels = writer.registry(1, &runtime()).unwrap();
    let text = |text: &'static str| Value::String(RawStr::from(text));
    let flags = [Value::Unsigned(1), Value::Unsigned(2)];
    for (index, emitted) in emitted.iter().enumerate() {
        let (code, values) = match *emitted {
            Show(pointer, addr) => (1, vec![Value::Pointer(pointer), Value::Addr(addr)]),
            Named(thing, name) => {
                (2, vec![Value::Array((&flags[..]).into()), Value::Pointer(thing), text(name)])
            }
            Alias(thing, like) => (3, vec![Value::Pointer(thing), Value::Pointer(like)]),
            Number(number, name) => (4, vec![Value::Word(number), text(name)]),
            Numbered(number, thing) => (5, vec![Value::Word(number), Value::Pointer(thing)]),
            CalledAddr(base, name) => (6, vec![Value::Addr(base), text(name)]),
            Intern(label, name) => (2, vec![Value::Label(label), text(name)]),
            LabelAddress(address, label) => (3, vec![Value::Addr(address), Value::Label(label)]),
        };
        let is_label = matches!(emitted, Intern(..) | LabelAddress(..));
        let (thread, registry) = if is_label { (0, labels) } else { (1 + u32::from(code != 1), names) };
        writer.event(Lane { session: 1, thread, registry }, code, index as u64 * 10 + 10, &values).unwrap();
    }
    writer.end(1, 1_000).unwrap();
    writer.finish().unwrap()
}

/// Makes a stream in which values have names and strings in every way, and some have none.
pub(crate) fn every_way() -> Vec<u8> {
    let registry = parse(NAMES).unwrap();
    let gives = [
        Intern(7, "seven"),
        LabelAddress(0x20, 7),
        Number(3, "three"),
        Numbered(3, 0x30),
        Numbered(9, 0x70),
        Named(0x40, "forty"),
        Alias(0x50, 0x40),
        CalledAddr(0x60, "sixty"),
    ];
    let shows = [Show(0x30, 0x20), Show(0x40, 0x60), Show(0x50, 0x40), Show(0x70, 0x70), Show(1, 2)];
    stream(&registry, &[&gives[..], &shows].concat())
}

/// Returns the names of the pointers and addresses of `Show`, as `pointer/addr` each.
fn shown(reader: Reader<'_>) -> String {
    let mut out = Vec::new();
    let mut events = reader.events().unwrap();
    while let Some(event) = events.next().unwrap() {
        if event.name() == "Show" {
            let values: Vec<String> = event.values().map(|value| called(&event, &value)).collect();
            out.push(values.join("/"));
        }
    }
    assert!(events.completeness().is_complete());
    out.join(" ")
}

fn called(event: &Event<'_>, value: &Value<'_>) -> String {
    match event.name_of_value(value) {
        Some(AddressName::Text(text)) => text.to_string(),
        Some(AddressName::Number(number)) => format!("#{number}"),
        _ => "-".to_string(),
    }
}

fn names() -> Registry {
    parse(NAMES).unwrap_or_else(|invalid| panic!("{}", invalid.render("events.toml", NAMES)))
}

/// Returns the registry without names of addresses. Pointers and addresses then share their names.
fn names_of_pointers() -> Registry {
    let text = NAMES.replace("sort = \"S\", names = \"base\"", "sort = \"S\"");
    parse(&text).unwrap()
}

/// Checks the shown names, in every way of reading, and whatever a filter excludes.
fn check(registry: &Registry, emitted: &[Emitted], expected: &str) {
    let stream = stream(registry, emitted);
    let shown_only = Filter::default().events(["Show"]);
    for order in [Order::Time, Order::Stream] {
        for filter in [Filter::default(), shown_only.clone()] {
            let reader = Reader::from_slice(&stream).order(order).filter(filter.clone());
            assert_eq!(shown(reader), expected, "{order:?}");
            let pipe = Reader::from_reader(&stream[..]).filter(filter);
            assert_eq!(shown(pipe), expected, "a pipe, by time");
        }
    }
}

#[test]
fn a_string_names_from_the_beginning_on_until_another_does() {
    let emitted = [Show(7, 7), Named(7, "one"), Show(7, 7), Named(7, "two"), Show(7, 8), Named(7, "")];
    check(&names_of_pointers(), &emitted, "one/one one/one two/-");
}

#[test]
fn what_is_called_as_something_else_is_that_from_the_beginning_on() {
    let emitted =
        [Show(9, 0), Alias(9, 7), Show(9, 0), Named(7, "class"), Alias(5, 9), Alias(9, 9), Show(5, 0)];
    check(&names_of_pointers(), &emitted[..4], "class/- class/-");
    // Names are followed only one step, and never in a circle.
    check(&names_of_pointers(), &emitted, "class/- class/- -/-");
}

#[test]
fn a_number_names_from_its_event_on() {
    let emitted = [
        Show(7, 7),
        Numbered(3, 7),
        Show(7, 7),
        Number(3, "three"),
        Number(4, "four"),
        Numbered(4, 7),
        Show(7, 7),
    ];
    check(&names_of_pointers(), &emitted, "-/- three/three four/four");
    check(&names_of_pointers(), &emitted[..3], "-/- #3/#3");
}

#[test]
fn a_registries_own_numbers_are_no_labels() {
    let emitted = [Intern(1, "label"), Number(1, "own"), LabelAddress(7, 1), Numbered(1, 8), Show(7, 8)];
    check(&names_of_pointers(), &emitted, "label/own");
}

#[test]
fn pointers_and_addresses_are_apart_where_a_registry_names_both() {
    let emitted = [Named(7, "pointer"), CalledAddr(7, "addr"), Named(8, "other"), Show(7, 7), Show(8, 8)];
    check(&names(), &emitted, "pointer/addr other/-");
    // Names of another registry are in either role; the latest name counts.
    let emitted = [Intern(1, "label"), Named(7, "pointer"), Show(7, 7), LabelAddress(7, 1), Show(7, 7)];
    check(&names(), &emitted, "pointer/- label/label");
}

/// Returns the text of a registry without its marks.
fn without_marks(text: &str) -> Registry {
    let mut registry = parse_embedded(text).unwrap();
    registry.events.iter_mut().flat_map(|event| &mut event.params).for_each(|param| param.names = None);
    registry
}

#[test]
fn an_older_stream_is_named_by_a_later_registry() {
    let emitted = [Named(7, "one"), Show(7, 0)];
    let older = NAMES.replace("minor = 4", "minor = 1");
    let later: fn(&str) -> Option<Registry> = |name| (name == "names").then(names);
    // The text, the events that give names, and the shown names.
    let check = |text: &str, expected: &str| {
        let stream = stream(&without_marks(text), &emitted);
        assert_eq!(shown(Reader::from_slice(&stream)), "-/-", "no name is known");
        assert_eq!(shown(Reader::from_slice(&stream).known_registries(later)), expected);
        assert_eq!(shown(Reader::from_slice(&stream).registry(names())), expected);
    };
    check(NAMES, "one/-");
    check(&older, "one/-");
    check(&NAMES.replace("minor = 4", "minor = 5"), "-/-");
    check(&NAMES.replace("major = 1", "major = 2"), "-/-");
    check(&NAMES.replace("\"names\"\nversion", "\"mine\"\nversion"), "-/-");
}

/// Older versions of the runtime's own registry have no marks, and get them. Another registry with
/// its name does not.
#[test]
fn older_runtimes_are_known() {
    let text = include_str!("../../../telemetry-runtime/telemetry.toml");
    let check = |from: &str, to: &str, expected: Option<&str>| {
        let mut writer = Writer::new(Vec::new());
        writer.session(1, &Facts::default(), 0, START).unwrap();
        let registry = writer.registry(1, &without_marks(&text.replacen(from, to, 1))).unwrap();
        let lane = Lane { session: 1, thread: 0, registry };
        writer.event(lane, 2, 1, &[Value::Label(2), Value::String(RawStr(b"two"))]).unwrap();
        writer.event(lane, 3, 1, &[Value::Addr(1), Value::Label(2)]).unwrap();
        let stream = writer.finish().unwrap();
        let mut events = Reader::from_slice(&stream).events().unwrap();
        assert_eq!(events.next().unwrap().unwrap().name_of(1), expected.map(AddressName::Text));
    };
    check("", "", Some("two"));
    check("minor = 2", "minor = 0", Some("two"));
    check("\"telemetry\"", "\"mine\"", None);
    check("major = 1", "major = 2", None);
}

/// Names beyond the limit are not kept, and those kept stay.
#[test]
fn names_are_bounded() {
    let registry = names();
    let namings = Namings::new(&registry);
    let mark = |code| namings.of_event(registry.event_index(code).unwrap())[0];
    let (called, number, numbered) = (mark(2), mark(4), mark(5));
    let (mut labels, mut room) = (Labels::default(), 1_000);
    let note_three = |labels: &mut Labels, room: &mut usize| {
        number.note(NamedAt::in_order(0), 1, NameValue::Text(b"one"), labels, room);
        numbered.note(NamedAt::in_order(10), 7, NameValue::Bits(1), labels, room);
        called.note(NamedAt::in_order(10), 8, NameValue::Text(b"eight"), labels, room);
    };
    note_three(&mut labels, &mut room);
    let left = room;
    for _ in 0..1_000 {
        note_three(&mut labels, &mut room);
    }
    assert_eq!(room, left, "what is known takes no room");
    for n in 20..1_000 {
        number.note(NamedAt::in_order(0), n, NameValue::Text(&[b'x'; 40]), &mut labels, &mut room);
        numbered.note(NamedAt::in_order(n), n, NameValue::Bits(n), &mut labels, &mut room);
        called.note(
            NamedAt::in_order(n),
            n,
            NameValue::Text(n.to_string().as_bytes()),
            &mut labels,
            &mut room,
        );
    }
    assert!(labels.strings() + labels.names() < 1_000 / 64);
    let names = [7, 8].map(|pointer| labels.name_of_pointer(pointer, 10));
    assert_eq!(names, [Some(AddressName::Text("one")), Some(AddressName::Text("eight"))]);
    let mut plenty = usize::MAX;
    called.note(NamedAt::in_order(0), 5_000, NameValue::Text(b"\xff\xfe"), &mut labels, &mut plenty);
    assert_eq!(labels.name_of_pointer(5_000, 0), Some(AddressName::Text("\u{fffd}\u{fffd}")));
}

/// Two threads name a pointer at one clock reading. The name of the higher thread counts, and
/// within a thread the last one, in whatever order the blocks stand in the stream.
#[test]
fn a_tie_does_not_depend_on_the_order_of_blocks() {
    let registry = parse(NAMES).unwrap();
    let flags = [Value::Unsigned(1)];
    for threads in [[1, 2], [2, 1]] {
        let mut writer = Writer::new(Vec::new()).block_size(100);
        writer.session(1, &Facts::default(), 0, START).unwrap();
        let names = writer.registry(1, &registry).unwrap();
        for thread in threads {
            for name in ["first", "last"] {
                let text = format!("{name} of {thread}");
                let values = [
                    Value::Array((&flags[..]).into()),
                    Value::Pointer(0x40),
                    Value::String(RawStr::from(&*text)),
                ];
                writer.event(Lane { session: 1, thread, registry: names }, 2, 10, &values).unwrap();
            }
        }
        writer.end(1, 1_000).unwrap();
        let stream = writer.finish().unwrap();
        for order in [Order::Time, Order::Stream] {
            let mut events = Reader::from_slice(&stream).order(order).events().unwrap();
            while events.next().unwrap().is_some() {}
            let labels = &events.sessions()[0].labels;
            let name = labels.name_of_pointer(0x40, 10).and_then(AddressName::text);
            assert_eq!(name, Some("last of 2"), "threads {threads:?}, {order:?}");
        }
    }
}
