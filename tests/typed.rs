//! Typed decoders: every sort as the generic reader has it, in both ways of reading, and streams of
//! other versions of the relation.

#![allow(missing_docs)]

use telemetry::decode::{Array, Facts, Lane, Named, Order, Reader, Value, Writer};
use telemetry::telemetry_event;
use telemetry_schema::{Count, Param, Registry, Sort, TypeForm, parse};

#[telemetry_event("tests/relations/sorts.toml", decode)]
pub mod sorts {}

#[telemetry_event("tests/relations/work.toml", decode)]
pub mod work {}

const SORTS: &str = include_str!("relations/sorts.toml");
const WORK: &str = include_str!("relations/work.toml");

/// Numbers at the edges of all widths, and a few between.
const NUMBERS: [u64; 9] = [0, 1, 127, 128, 0x7fff_ffff, u32::MAX as u64, 1 << 55, i64::MAX as u64, u64::MAX];

/// One value of a parameter, the same for the same `pick`.
fn one(registry: &Registry, sort: Sort, pick: usize) -> Value<'static> {
    let bits = NUMBERS[pick % NUMBERS.len()];
    match sort {
        Sort::Pointer => Value::Pointer(bits),
        Sort::Addr => Value::Addr(bits),
        Sort::Word => Value::Word(bits),
        Sort::U8 => Value::Unsigned((bits as u8).into()),
        Sort::U16 => Value::Unsigned((bits as u16).into()),
        Sort::U32 => Value::Unsigned((bits as u32).into()),
        Sort::U64 => Value::Unsigned(bits),
        Sort::I8 => Value::Signed((bits as i8).into()),
        Sort::I16 => Value::Signed((bits as i16).into()),
        Sort::I32 => Value::Signed((bits as i32).into()),
        Sort::I64 => Value::Signed(bits as i64),
        Sort::F32 => Value::F32(bits as f32),
        Sort::F64 => Value::F64(bits as f64 / 3.0),
        Sort::Bool => Value::Bool(bits & 1 != 0),
        Sort::String => Value::String(["", "short", "zwölf Boxkämpfer jagen Viktor"][pick % 3].into()),
        Sort::Bytes => Value::Bytes(&[[0, 255], [1, 2]][pick % 2][..pick % 3]),
        Sort::Label => Value::Label(bits),
        Sort::Named(index) => {
            let ty = &registry.types[index];
            let range = ty.repr.int_range().expect("a type is carried by integers");
            let value = ty.values[pick % ty.values.len()].number;
            // Every third number is not one of an enum's.
            let number = if pick.is_multiple_of(3) { (*range.end() - 1) / 2 } else { value };
            Value::Named(Named::new(number))
        }
    }
}

/// What the typed decoders' `Debug` says of a value.
fn debug(registry: &Registry, sort: Sort, value: &Value<'_>) -> String {
    let float = value.as_f64();
    match (value, registry.ty(sort)) {
        (Value::Named(named), Some(ty)) => match (ty.form, ty.value(named.number())) {
            (TypeForm::Flags, _) => format!("{}({})", ty.name, named.number()),
            (TypeForm::Enum, Some(value)) => format!("Ok({})", value.name),
            (TypeForm::Enum, None) => format!("Err({})", named.number()),
        },
        (Value::Array(array), _) => {
            let elements: Vec<String> = array.iter().map(|value| debug(registry, sort, &value)).collect();
            format!("[{}]", elements.join(", "))
        }
        (Value::String(text), _) => format!("{:?}", String::from_utf8_lossy(text.0)),
        (Value::Bytes(bytes), _) => format!("{bytes:?}"),
        (Value::Label(number), _) => format!("Label({number})"),
        (Value::F32(number), _) => format!("{number:?}"),
        (Value::Bool(truth), _) => format!("{truth}"),
        (value, _) => match value.number() {
            Some(number) => number.to_string(),
            None => format!("{:?}", float.unwrap_or_default()),
        },
    }
}

/// A stream of one session of a registry, and of each event the name and values of `pick`s.
fn stream(registry: &Registry, picks: usize) -> (Vec<u8>, Vec<String>) {
    let mut writer = Writer::new(Vec::new());
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(1, &facts, 0, 0).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, registry).unwrap() };
    let (mut expected, mut ticks) = (Vec::new(), 0);
    for pick in 0..picks {
        for event in &registry.events {
            let of = |param: &Param| match param.count {
                Count::One => vec![one(registry, param.sort, pick)],
                Count::Fixed(n) => (0..n as usize).map(|i| one(registry, param.sort, pick + i)).collect(),
                Count::UpTo(n) => {
                    (0..pick % (n as usize + 1)).map(|i| one(registry, param.sort, pick + i)).collect()
                }
            };
            let values: Vec<Vec<Value<'_>>> = event.params.iter().map(of).collect();
            let values: Vec<Value<'_>> = event
                .params
                .iter()
                .zip(&values)
                .map(|(param, values)| match param.count {
                    Count::One => values[0],
                    _ => Value::Array(Array::from(&values[..])),
                })
                .collect();
            ticks += 10;
            // What is longer than a parameter may be is refused, and left out here.
            if writer.event(lane, event.code, ticks, &values).is_err() {
                continue;
            }
            let fields = event
                .params
                .iter()
                .zip(&values)
                .map(|(param, value)| format!("{}: {}", param.name, debug(registry, param.sort, value)));
            let fields: Vec<String> = fields.collect();
            let name = &event.name;
            expected.push(match fields.is_empty() {
                true => format!("{name}({name})"),
                false => format!("{name}({name} {{ {} }})", fields.join(", ")),
            });
        }
    }
    writer.end(1, ticks).unwrap();
    (writer.finish().unwrap(), expected)
}

#[test]
fn every_sort_is_what_it_was_written_as() {
    let registry = parse(SORTS).unwrap();
    let (bytes, expected) = stream(&registry, 30);
    assert!(expected.len() > 20 * registry.events.len(), "too much was refused");
    let mut all = Vec::new();
    let mut events = Reader::from_slice(&bytes).order(Order::Stream).typed::<sorts::Decoder>().unwrap();
    events.for_each(|at| all.push((at.time_ns(), format!("{:?}", at.event)))).unwrap();
    assert!(events.completeness().is_complete(), "{}", events.completeness());
    assert_eq!(events.others(), 0);
    // One lane of a kind after the other; by time they are as they were written.
    all.sort_by_key(|(time, _)| *time);
    assert_eq!(all.iter().map(|(_, event)| event.as_str()).collect::<Vec<_>>(), expected);

    for order in [Order::Time, Order::Stream] {
        let mut one_by_one = Vec::new();
        let mut events = Reader::from_slice(&bytes).order(order).typed::<sorts::Decoder>().unwrap();
        while let Some(at) = events.next().unwrap() {
            one_by_one.push((at.time_ns(), format!("{:?}", at.event)));
        }
        one_by_one.sort_by_key(|(time, _)| *time);
        assert_eq!(one_by_one, all, "{order:?}");
    }
}

/// Reads a stream of another `work.toml` in every way, and says what came of it.
fn check(relation: &str, expected: Result<(usize, u64), &str>) {
    let registry =
        parse(relation).unwrap_or_else(|invalid| panic!("{}", invalid.render("work.toml", relation)));
    let (bytes, all) = stream(&registry, 9);
    let reader = |order| Reader::from_slice(&bytes).order(order).typed::<work::Decoder>().unwrap();
    let mut count = 0;
    let mut at_once = reader(Order::Stream);
    let at_once = at_once.for_each(|_| count += 1).map(|()| (count, at_once.others()));
    let one_by_one = |order| {
        let (mut events, mut count) = (reader(order), 0);
        while events.next()?.is_some() {
            count += 1;
        }
        Ok::<_, std::io::Error>((count, events.others()))
    };
    for found in [at_once, one_by_one(Order::Stream), one_by_one(Order::Time)] {
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found, expected);
                assert_eq!(found.0 + found.1 as usize, all.len());
            }
            (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected),
            (found, expected) => panic!("{found:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn streams_of_other_versions() {
    let edit = |from: &str, to: &str| {
        assert!(WORK.contains(from), "`{from}` is not in the relation");
        WORK.replacen(from, to, 1)
    };
    let added = "\n[[event]]\nname = \"New\"\ncode = 0\nkind = \"Precise\"\ndoc = \"new\"\n\
                 params = [{ name = \"p\", sort = \"P\" }]\n";
    // The four events as they are; another doc is no other form.
    check(WORK, Ok((36, 0)));
    check(&edit("doc = \"Work W\"", "doc = \"Work\""), Ok((36, 0)));
    // A later minor version has an event that we do not know, before the others in every table.
    check(&(edit("minor = 0", "minor = 1") + added), Ok((36, 9)));
    // A parameter was appended to `Alloc`: its first ones are as ever.
    check(
        &edit("doc = \"how deep\" },\n]", "doc = \"how deep\" },\n  { name = \"more\", sort = \"A\" },\n]"),
        Ok((36, 0)),
    );
    // A parameter of `Alloc` is of another sort: the other events are as ever.
    check(&edit("sort = \"U\"", "sort = \"u16\""), Ok((27, 9)));
    check(&edit("unit = \"bytes\"", "unit = \"words\""), Ok((27, 9)));
    check(&edit("name = \"Alloc\"", "name = \"Allot\""), Ok((27, 9)));
    // Another registry.
    check(&edit("name = \"work\"", "name = \"play\""), Ok((0, 36)));
    // Another major version.
    let refused = "registry `work` has version 2.0.0 in the stream, expected 1.x of this program; \
                   decode it generically, or with a program of that version";
    check(&edit("major = 1", "major = 2"), Err(refused));
}
