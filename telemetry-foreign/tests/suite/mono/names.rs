//! Names of addresses, in a log, and in a stream of it by the marks of the registry alone.

use telemetry_decode::{Event, Events, Reader, Value};
use telemetry_foreign::mono::MonoLog;

use super::made;
use super::round_trip::{stream, stream_with};

/// Returns every value that has a name, by event, time and place: `MethodEnter 20 0: Prog:Main`.
fn named(mut events: Events<'_>) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let mut note = |event: &Event<'_>, place: usize, value: &Value<'_>| {
            if let Some(name) = event.name_of_value(value) {
                names.push(format!("{} {} {place}: {name:?}", event.name(), event.ticks()));
            }
        };
        for (place, value) in event.values().enumerate() {
            match value {
                Value::Array(array) => array.iter().for_each(|value| note(&event, place, &value)),
                value => note(&event, place, &value),
            }
        }
    }
    names.sort();
    names
}

/// Checks that a log, its stream, and its stream from before the marks give the same names. At
/// least `least` values have one.
fn check(log: &[u8], least: usize) {
    let of_log = named(Reader::from_log(log, MonoLog::new()).events().unwrap());
    assert!(of_log.len() >= least, "{of_log:#?}");
    assert_eq!(named(Reader::from_slice(&stream(log)).events().unwrap()), of_log);
    let unmarked = stream_with(log, |registry| {
        registry.events.iter_mut().flat_map(|event| &mut event.params).for_each(|param| param.names = None);
    });
    assert_eq!(named(Reader::from_slice(&unmarked).events().unwrap()), [""; 0]);
    let reader = Reader::from_slice(&unmarked).known_registries(telemetry_foreign::known_registry);
    assert_eq!(named(reader.events().unwrap()), of_log);
}

#[test]
fn a_stream_has_the_names_of_its_log() {
    check(&made::one(), 10);
    check(&made::seventeen(), 10);
}
