//! The number of times that a typed reader decodes an event.

use std::cell::Cell;

use telemetry_decode::__private::{Malformed, Source, unknown};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Order, RawStr, Reader, Typed, Value};
use telemetry_schema::parse;

use crate::made::START;

const REGISTRY: &str = r#"
[registry]
name = "once"
version = { major = 1, median = 0, minor = 0 }
doc = "Numbers and strings"
[kinds]
Some = { bit = 0, doc = "some events" }
[[event]]
name = "Number"
code = 1
kind = "Some"
doc = "A number"
params = [{ name = "number", sort = "u64", doc = "which" }]
[[event]]
name = "Text"
code = 2
kind = "Some"
doc = "A string"
params = [{ name = "text", sort = "string", doc = "which" }]
"#;

thread_local! {
    static READ: Cell<u64> = const { Cell::new(0) };
}

/// A decoder as the macro generates it, which also counts.
struct Decoder;

#[derive(Debug, PartialEq)]
enum Event<'a> {
    Number(u64),
    Text(&'a str),
}

impl Typed for Decoder {
    type Event<'a> = Event<'a>;
    const REGISTRY: &'static str = REGISTRY;

    fn read<'a, S: Source<'a>, T>(
        event: u32,
        source: &mut S,
        then: impl FnOnce(&mut S, Event<'a>) -> T,
    ) -> Result<T, Malformed> {
        READ.set(READ.get() + 1);
        let event = match event {
            0 => Event::Number(source.value::<u64>()?),
            1 => Event::Text(source.str()?),
            _ => return Err(unknown(event)),
        };
        Ok(then(source, event))
    }
}

#[test]
fn an_event_is_decoded_once() {
    let mut writer = Writer::new(Vec::new()).block_size(50);
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let registry = writer.registry(1, &parse(REGISTRY).unwrap()).unwrap();
    let lane = Lane { session: 1, thread: 1, registry };
    for time in 1..=100 {
        writer.event(lane, 1, time, &[Value::Unsigned(time)]).unwrap();
        let text: &[u8] = if time % 10 == 0 { b"not \xff UTF-8" } else { b"some text" };
        writer.event(lane, 2, time, &[Value::String(RawStr(text))]).unwrap();
    }
    writer.end(1, 1_000).unwrap();
    let stream = writer.finish().unwrap();

    for order in [Order::Stream, Order::Time] {
        let mut events = Reader::from_slice(&stream).order(order).typed::<Decoder>().unwrap();
        READ.set(0);
        let mut given = 0;
        while let Some(at) = events.next().unwrap() {
            assert!(matches!(at.event, Event::Number(_) | Event::Text("some text")), "{at:?}");
            given += 1;
        }
        assert_eq!((given, events.skipped().not_utf8), (190, 10), "{order:?}");
        assert_eq!(READ.get(), 190, "those that are skipped are not decoded, {order:?}");

        // `for_each` also continues where `next` has begun.
        let mut events = Reader::from_slice(&stream).order(order).typed::<Decoder>().unwrap();
        READ.set(0);
        let first = events.next().unwrap().map(|at| at.event);
        assert_eq!(first, Some(Event::Number(1)));
        let mut given = 1;
        events.for_each(|_| given += 1).unwrap();
        assert_eq!((given, events.skipped().not_utf8), (190, 10), "{order:?}");
        assert_eq!(READ.get(), 200, "{order:?}");
    }
}
