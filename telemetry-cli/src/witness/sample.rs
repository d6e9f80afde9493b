//! Events that show a change, their values, and the stream that they make.

use telemetry_decode::writer::{Lane, WriteError, Writer};
use telemetry_decode::{EnumValue, Facts, RawStr, Value};
use telemetry_schema::version::{Change, Thing};
use telemetry_schema::{Count, Event, Param, Registry, Sort, TypeForm};

use crate::term::ended::Failure;

/// Session and thread of the stream.
const SESSION: u64 = 1;

/// 2023-11-14. A fixed time, so that the same registries make the same bytes.
const WALL_NS: u64 = 1_700_000_000_000_000_000;

/// The maximum of events per code.
const MAX_EVENTS: usize = 32;

/// Returns the code of an event that shows a change: the event itself, or the first of the kind or
/// type.
pub(super) fn event(change: &Change, registry: &Registry) -> Option<u16> {
    let of_type = |name: &str| {
        let has = |param: &Param| registry.ty(param.sort).is_some_and(|ty| ty.name == name);
        registry.events.iter().find(|event| event.params.iter().any(has)).map(|event| event.code)
    };
    match change.new.as_ref().or(change.old.as_ref())? {
        Thing::Event { code, .. } | Thing::Param { code, .. } => registry.event_index(*code).map(|_| *code),
        Thing::Type { name } | Thing::Value { ty: name, .. } => of_type(name),
        Thing::Kind { name } => {
            registry.events.iter().find(|event| registry.kind_of(event).name == *name).map(|event| event.code)
        }
        Thing::Registry | Thing::Span { .. } | Thing::Preset { .. } | Thing::Message { .. } => None,
    }
}

/// Makes a stream with events of these codes, each in its own block: one with small values, the
/// others with large ones. They are enough to show each value of an enum.
///
/// # Errors
/// None, if the registry is valid.
pub(super) fn stream(registry: &Registry, codes: &[u16]) -> Result<Vec<u8>, Failure> {
    written(registry, codes).map_err(|error| Failure::new(format!("no witness: {error}")))
}

fn written(registry: &Registry, codes: &[u16]) -> Result<Vec<u8>, WriteError> {
    let mut facts = Facts::default();
    facts.set("program", "witness");
    facts.set("clock", "os");
    let mut writer = Writer::new(Vec::new()).block_size(0);
    writer.session(SESSION, &facts, 0, WALL_NS)?;
    let lane = Lane { session: SESSION, thread: 1, registry: writer.registry(SESSION, registry)? };
    let mut ticks = 0;
    for &code in codes {
        let Some(index) = registry.event_index(code) else { continue };
        let event = &registry.events[index];
        let types = event.params.iter().filter_map(|param| registry.ty(param.sort));
        let values = types.map(|ty| ty.values.len()).max().unwrap_or(0);
        for number in 0..values.clamp(2, MAX_EVENTS) as u64 {
            ticks += 1000;
            write_event(&mut writer, lane, registry, event, ticks, number)?;
        }
    }
    writer.end(SESSION, ticks)?;
    writer.finish()
}

fn write_event(
    writer: &mut Writer<Vec<u8>>,
    lane: Lane,
    registry: &Registry,
    event: &Event,
    ticks: u64,
    number: u64,
) -> Result<(), WriteError> {
    let elements: Vec<Vec<Value>> = (1..)
        .zip(&event.params)
        .map(|(place, param)| {
            let len = match param.count {
                Count::One => 1,
                Count::Fixed(len) => len,
                Count::UpTo(max) => max.min(2),
            };
            (0..len).map(|element| value(registry, param, place * 100 + u64::from(element), number)).collect()
        })
        .collect();
    let values: Vec<Value> = event
        .params
        .iter()
        .zip(&elements)
        .map(|(param, elements)| match param.count {
            Count::One => elements[0],
            Count::Fixed(_) | Count::UpTo(_) => Value::Array(elements[..].into()),
        })
        .collect();
    writer.event(lane, event.code, ticks, &values)
}

/// Returns a value that shows its position, small in a first event and large in a second.
fn value(registry: &Registry, param: &Param, place: u64, number: u64) -> Value<'static> {
    let is_large = number > 0;
    if let Some(ty) = registry.ty(param.sort) {
        if ty.form == TypeForm::Flags && is_large {
            return Value::Named(EnumValue::new(ty.values.iter().fold(0, |all, value| all | value.number)));
        }
        let value = ty.values.get(number as usize % ty.values.len().max(1));
        return Value::Named(EnumValue::new(value.map_or(0, |value| value.number)));
    }
    let unsigned = |bits: u32| {
        let max = u64::MAX >> (64 - bits);
        Value::Unsigned(if is_large { max - place % 100 } else { place % (max / 2) })
    };
    let signed = |bits: u32| {
        let min = i64::MIN >> (64 - bits);
        Value::Signed(if is_large { min + (place % 100) as i64 } else { -((place % 100) as i64) - 1 })
    };
    let text = |place: u64| -> &'static [u8] {
        const TEXTS: [&[u8]; 4] = [b"one", b"two", b"three", b"a longer text"];
        TEXTS[if is_large { 3 } else { (place as usize / 100 + 2) % 3 }]
    };
    match param.sort {
        Sort::Pointer => Value::Pointer(0x7f00_0000 + (place << 12) + (number << 4)),
        Sort::Addr => Value::Addr(0x6000_0000 + (place << 12) + (number << 4)),
        Sort::Word => Value::Word(if is_large { place << 20 } else { place }),
        Sort::U8 => unsigned(8),
        Sort::U16 => unsigned(16),
        Sort::U32 => unsigned(32),
        Sort::U64 => unsigned(64),
        Sort::I8 => signed(8),
        Sort::I16 => signed(16),
        Sort::I32 => signed(32),
        Sort::I64 => signed(64),
        Sort::F32 => Value::F32(place as f32 + 0.5),
        Sort::F64 => Value::F64(place as f64 + 0.5),
        Sort::Bool => Value::Bool(is_large),
        Sort::String => Value::String(RawStr(text(place))),
        Sort::Bytes => Value::Bytes(text(place)),
        Sort::Label => Value::Label(place),
        Sort::Named(_) => Value::Named(EnumValue::new(0)),
    }
}
