//! Streams of a registry.

use telemetry::decode::writer::{Lane, Writer};
use telemetry::decode::{Array, EnumValue, Facts, Value};
use telemetry_schema::{Count, Event, Param, Registry, Sort};

/// A stream, and the codes of its events.
pub(crate) struct Emitted {
    pub(crate) registry: Registry,
    pub(crate) bytes: Vec<u8>,
    pub(crate) codes: Vec<u16>,
}

/// Each event a few times, also those that are retired.
pub(crate) fn all_of(registry: &Registry) -> Emitted {
    write(registry, |_| true)
}

/// Each event that programs of the registry emit a few times.
pub(crate) fn emitted_by(registry: &Registry) -> Emitted {
    write(registry, |event| event.used)
}

/// Enough for every value of a type.
const ROUNDS: usize = 6;

fn write(registry: &Registry, is_wanted: impl Fn(&Event) -> bool) -> Emitted {
    let mut writer = Writer::new(Vec::new());
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(1, &facts, 0, 0).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, registry).unwrap() };
    let mut codes = Vec::new();
    for round in 0..ROUNDS {
        for event in registry.events.iter().filter(|event| is_wanted(event)) {
            let values: Vec<Vec<Value<'_>>> =
                event.params.iter().map(|param| values(registry, param, round)).collect();
            let values = event.params.iter().zip(&values).map(|(param, values)| match param.count {
                Count::One => values[0],
                Count::Fixed(_) | Count::UpTo(_) => Value::Array(Array::from(&values[..])),
            });
            writer.event(lane, event.code, codes.len() as u64, &values.collect::<Vec<_>>()).unwrap();
            codes.push(event.code);
        }
    }
    writer.end(1, codes.len() as u64).unwrap();
    Emitted { registry: registry.clone(), bytes: writer.finish().unwrap(), codes }
}

fn values(registry: &Registry, param: &Param, round: usize) -> Vec<Value<'static>> {
    let count = match param.count {
        Count::One => 1,
        Count::Fixed(count) | Count::UpTo(count) => count as usize,
    };
    (0..count).map(|at| value(registry, param.sort, round + at)).collect()
}

/// A value of a sort that the registries have.
fn value(registry: &Registry, sort: Sort, round: usize) -> Value<'static> {
    match sort {
        Sort::Pointer => Value::Pointer(0x1000 + round as u64),
        Sort::Word => Value::Word(round as u64),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Value::Unsigned(round as u64),
        Sort::String => Value::String("text".into()),
        Sort::Bytes => Value::Bytes(b"bytes"),
        Sort::Named(index) => {
            let values = &registry.types[index].values;
            Value::Named(EnumValue::new(values[round % values.len()].number))
        }
        other => panic!("no value of {other:?}: a case has a sort that is new here"),
    }
}
