//! Events with memory of their own say the same as those that they are copied from.

use telemetry_decode::{Event, Filter, OwnedEvent, Reader, Result, Value};

use crate::labels::named_over_and_over;
use crate::made::{Plan, make, registry};
use crate::names::every_way;

/// Returns all that an event says.
fn lent(event: &Event<'_>) -> String {
    let mut text = format!("{} {} {}", event.name(), event.schema().code, event.kind().name);
    text += &format!(" {} {} {}", event.time_ns(), event.wall_ns(), event.ticks());
    text += &format!(" {:x} {} {:?}", event.session().id, event.thread(), event.thread_name());
    text += &format!(" {} {} {}", event.packed_len(), event.offset(), event.registry().name);
    for (index, param) in event.params().enumerate() {
        assert_eq!(event.get(&param.schema.name), Some(param.value));
        assert_eq!(event.param(&param.schema.name).unwrap().schema, param.schema);
        text += &format!("\n  {}:{:?}", param.schema.name, param.value);
        for value in elements(param.value) {
            let label = if let Value::Label(number) = value { event.label(number) } else { None };
            let string = event.numbers(index).and_then(|numbers| event.string_of(numbers, &value));
            text += &format!(" {label:?} {:?} {string:?}", event.name_of_value(&value));
        }
    }
    text
}

/// Returns the same of a copy.
fn owned(event: &OwnedEvent) -> String {
    let mut text = format!("{} {} {}", event.name(), event.schema().code, event.kind().name);
    text += &format!(" {} {} {}", event.time_ns(), event.wall_ns(), event.ticks());
    text += &format!(" {:x} {} {:?}", event.session_id(), event.thread(), event.thread_name());
    text += &format!(" {} {} {}", event.packed_len(), event.offset(), event.registry().name);
    assert!(event.values().eq(event.params().map(|param| param.value)));
    for (index, param) in event.params().enumerate() {
        assert_eq!(event.get(&param.schema.name), Some(param.value));
        assert_eq!(event.param(&param.schema.name).unwrap().schema, param.schema);
        text += &format!("\n  {}:{:?}", param.schema.name, param.value);
        for value in elements(param.value) {
            let label = if let Value::Label(number) = value { event.label(number) } else { None };
            let string = event.string_of(index, &value);
            text += &format!(" {label:?} {:?} {string:?}", event.name_of_value(&value));
        }
    }
    text
}

fn elements(value: Value<'_>) -> Vec<Value<'_>> {
    match value {
        Value::Array(array) => array.iter().collect(),
        value => vec![value],
    }
}

#[test]
fn copies_say_the_same() {
    let made = make(&registry(), &Plan { events: 300, threads: 3, ..Plan::default() }).stream;
    for (stream, least) in [(made, 300), (named_over_and_over(), 60), (every_way(), 13)] {
        let mut expected = Vec::new();
        let mut events = Reader::from_slice(&stream).events().unwrap();
        while let Some(event) = events.next().unwrap() {
            expected.push(lent(&event));
        }
        drop(events);
        assert!(expected.len() >= least, "{}", expected.len());
        let mut events = Reader::from_slice(&stream).events().unwrap().into_owned();
        let all: Vec<OwnedEvent> = events.by_ref().collect::<Result<_>>().unwrap();
        assert!(events.next().is_none() && events.events().completeness().is_complete());
        drop(events);
        drop(stream);
        assert_eq!(all.iter().map(owned).collect::<Vec<_>>(), expected);
    }
}

/// A copy has the names and strings of its own values.
#[test]
fn copies_have_names() {
    let stream = every_way();
    let mut events =
        Reader::from_slice(&stream).filter(Filter::default().events(["Show"])).events().unwrap().into_owned();
    let mut names = Vec::new();
    for event in &mut events {
        let event = event.unwrap();
        names.extend(event.values().map(|value| {
            event.name_of_value(&value).map_or("-".into(), |name| name.text().unwrap_or("?").to_string())
        }));
    }
    assert_eq!(names, ["three", "seven", "forty", "sixty", "forty", "-", "?", "-", "-", "-"]);
}

/// After an error there is no further event.
#[test]
fn an_error_ends_the_iterator() {
    struct Failing(bool);
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            if std::mem::replace(&mut self.0, false) { Err(std::io::ErrorKind::Other.into()) } else { Ok(0) }
        }
    }
    let events = Reader::from_reader(Failing(true)).order(telemetry_decode::Order::Stream).events();
    let mut events = events.unwrap().into_owned();
    assert!(events.next().is_some_and(|event| event.is_err()));
    assert!(events.next().is_none());
}

#[test]
fn values_as_numbers() {
    assert_eq!(Value::Word(u64::MAX).as_i64(), None);
    assert_eq!((Value::Signed(-1).as_i64(), Value::Signed(-1).as_u64()), (Some(-1), None));
    assert_eq!((Value::Bool(true).as_bool(), Value::Unsigned(1).as_bool()), (Some(true), None));
    assert_eq!((Value::Bool(true).as_i64(), Value::F64(1.0).as_i64()), (Some(1), None));
}
