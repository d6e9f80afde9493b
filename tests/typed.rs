//! Typed decoders: every sort as the generic reader has it, in both ways of reading, and streams of
//! other versions of the registry.

#![allow(missing_docs)]

use telemetry::decode::blocks::{Blocks, Piece};
use telemetry::decode::writer::{Lane, Writer};
use telemetry::decode::{
    Array, EnumValue, Error, Facts, Filter, Order, Reader, Skipped, Timed, Typed, TypedEvents, Value,
    VersionMismatch,
};
use telemetry::telemetry_event;
use telemetry_format::BlockType;
use telemetry_schema::{Count, Param, Registry, Sort, TypeForm, parse};

#[telemetry_event("tests/registries/sorts.toml", decode)]
pub mod sorts {}

#[telemetry_event("tests/registries/names.toml", decode)]
pub mod names {}

#[telemetry_event("tests/registries/work.toml", decode)]
pub mod work {}

const NAMES: &str = include_str!("registries/names.toml");
const SORTS: &str = include_str!("registries/sorts.toml");
const WORK: &str = include_str!("registries/work.toml");

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
            Value::Named(EnumValue::new(number))
        }
    }
}

/// What the typed decoders' `Debug` says of a value.
fn debug(registry: &Registry, sort: Sort, value: &Value<'_>) -> String {
    let float = value.as_f64();
    match (value, registry.ty(sort)) {
        (Value::Named(named), Some(ty)) if ty.form == TypeForm::Flags => {
            let number = named.number();
            let set = ty.values.iter().filter(|value| number & value.number == value.number);
            let rest = set.clone().fold(number, |rest, value| rest & !value.number);
            let mut parts: Vec<String> = set.map(|value| value.name.clone()).collect();
            if rest != 0 || parts.is_empty() {
                parts.push(format!("{rest:#x}"));
            }
            format!("{}({})", ty.name, parts.join(" | "))
        }
        (Value::Named(named), Some(ty)) => match ty.value(named.number()) {
            Some(value) => value.name.clone(),
            None => format!("{}({})", ty.name, named.number()),
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
        (value, _) => match value.as_i128() {
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

/// Events are what they were written as, however many are read one by one before the others.
#[track_caller]
fn check_values<D>(registry: &str)
where
    D: for<'a> Typed<Event<'a>: std::fmt::Debug>,
{
    let registry = parse(registry).unwrap();
    let (bytes, expected) = stream(&registry, 30);
    assert!(expected.len() > 20 * registry.events.len(), "too much was refused");
    for order in [Order::Stream, Order::Time] {
        for one_by_one in [0, 1, 2, 63, 64, 65, expected.len() / 2, expected.len(), usize::MAX] {
            let mut all = Vec::new();
            let mut events = Reader::from_slice(&bytes).order(order).typed::<D>().unwrap();
            for _ in 0..one_by_one {
                let Some(at) = events.next().unwrap() else { break };
                all.push((at.time_ns(), format!("{:?}", at.event)));
            }
            events.for_each(|at| all.push((at.time_ns(), format!("{:?}", at.event)))).unwrap();
            assert!(events.next().unwrap().is_none(), "an event behind the last");
            assert!(events.completeness().is_complete(), "{}", events.completeness());
            assert_eq!(events.completeness().events, expected.len() as u64);
            let of_lanes = events.completeness().lanes.iter().map(|lane| lane.read).sum::<u64>();
            assert_eq!(of_lanes, expected.len() as u64, "{one_by_one} one by one");
            assert_eq!(events.skipped().total(), 0);
            // One lane of a kind after the other; by time they are as they were written.
            all.sort_by_key(|(time, _)| *time);
            assert_eq!(all.iter().map(|(_, event)| event.as_str()).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn every_sort_is_what_it_was_written_as() {
    check_values::<sorts::Decoder>(SORTS);
}

#[test]
fn names_and_codes_of_all_kinds() {
    check_values::<names::Decoder>(NAMES);
}

/// Typed events have the same JSON as generic ones, which can name values too.
#[track_caller]
fn check_json<D>(registry: &str)
where
    D: for<'a> Typed<Event<'a>: serde::Serialize>,
{
    let (bytes, expected) = stream(&parse(registry).unwrap(), 30);
    let of = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let mut generic = Reader::from_slice(&bytes).order(Order::Stream).events().unwrap();
    let mut count = 0;
    let check = |at: Timed<'_, D::Event<'_>>| {
        let mut event = of(serde_json::to_string(&generic.next().unwrap().unwrap()).unwrap());
        let members = event.as_object_mut().unwrap();
        members.retain(|key, _| key != "names" && key != "strings");
        assert_eq!(of(serde_json::to_string(&at).unwrap()), event);
        count += 1;
    };
    Reader::from_slice(&bytes).order(Order::Stream).typed::<D>().unwrap().for_each(check).unwrap();
    assert_eq!(count, expected.len());
}

#[test]
fn typed_events_serialize_as_generic_ones() {
    check_json::<sorts::Decoder>(SORTS);
    check_json::<names::Decoder>(NAMES);
    check_json::<work::Decoder>(WORK);
}

/// Reads a stream of another `work.toml` in every way, and says what came of it.
#[track_caller]
fn check(registry: &str, expected: &str) {
    let registry =
        parse(registry).unwrap_or_else(|invalid| panic!("{}", invalid.render("work.toml", registry)));
    let (bytes, all) = stream(&registry, 9);
    let reader = |order| Reader::from_slice(&bytes).order(order).typed::<work::Decoder>().unwrap();
    let said = |read: u64, events: &TypedEvents<'_, work::Decoder>| {
        let passed = events.skipped();
        assert_eq!(read + passed.total(), all.len() as u64);
        let of_forms = events.other_forms().iter().map(|form| form.events).sum::<u64>();
        assert_eq!(of_forms, passed.other_form);
        let Skipped { foreign, unknown, other_form, not_utf8: 0, .. } = passed else { panic!("{passed:?}") };
        let forms = events.other_forms().iter().map(|form| format!("\n{form}"));
        format!("{read} read, {foreign} foreign, {unknown} unknown, {other_form} of other form")
            + &forms.collect::<String>()
    };
    let (mut at_once, mut count) = (reader(Order::Stream), 0);
    let at_once = at_once.for_each(|_| count += 1).map(|()| said(count, &at_once));
    let one_by_one = |order| {
        let (mut events, mut count) = (reader(order), 0);
        while let Some(at) = events.next()? {
            assert!(all.iter().any(|event| event.starts_with(at.event.name())));
            count += 1;
        }
        Ok::<_, Error>(said(count, &events))
    };
    for found in [at_once, one_by_one(Order::Stream), one_by_one(Order::Time)] {
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expected);
    }
    // What is refused strictly has an event of another form, or is refused anyway.
    let strict = reader(Order::Stream).strict().and_then(|mut events| events.for_each(|_| ()));
    let strict = strict.err().map(mismatch);
    assert_eq!(strict.is_some(), expected.contains('`'), "{strict:?}");
    let piped = Reader::from_reader(&bytes[..]).order(Order::Stream).typed::<work::Decoder>().unwrap();
    let piped = piped.strict().expect("nothing was read yet").for_each(|_| ());
    assert_eq!(piped.err().map(mismatch), strict);
}

fn mismatch(error: Error) -> VersionMismatch {
    let Error::Version(mismatch) = error else { panic!("{error}") };
    *mismatch
}

/// `work.toml` with one piece replaced.
fn edit(from: &str, to: &str) -> String {
    assert!(WORK.contains(from), "`{from}` is not in the registry");
    WORK.replacen(from, to, 1)
}

#[test]
fn streams_of_other_versions() {
    let added = "\n[[event]]\nname = \"New\"\ncode = 0\nkind = \"Precise\"\ndoc = \"new\"\n\
                 params = [{ name = \"p\", sort = \"P\" }]\n";
    let other = |difference: &str| {
        format!("27 read, 0 foreign, 0 unknown, 9 of other form\n`Alloc` (0x0001): {difference}")
    };
    let all = "36 read, 0 foreign, 0 unknown, 0 of other form";
    // The four events as they are; another doc is no other form.
    check(WORK, all);
    check(&edit("doc = \"Work W\"", "doc = \"Work\""), all);
    // A later minor version has an event that we do not know, before the others in every table.
    check(&(edit("minor = 0", "minor = 1") + added), "36 read, 0 foreign, 9 unknown, 0 of other form");
    // A parameter was appended to `Alloc`: its first ones are as ever.
    check(
        &edit("doc = \"how deep\" },\n]", "doc = \"how deep\" },\n  { name = \"more\", sort = \"A\" },\n]"),
        all,
    );
    // `Alloc` has another form: the other events are as ever.
    check(
        &edit("sort = \"U\"", "sort = \"u16\""),
        &other("parameter `level` is u16 in the stream, u32 in the program"),
    );
    check(
        &edit("unit = \"bytes\"", "unit = \"words\""),
        &other("parameter `size` is in words in the stream, in bytes in the program"),
    );
    check(
        &edit("name = \"Alloc\"", "name = \"Allot\""),
        &other("its name is `Allot` in the stream, `Alloc` in the program"),
    );
    check(
        &edit("code = 1\n", "code = 0x77\n"),
        &other("its code is 0x0077 in the stream, 0x0001 in the program"),
    );
    check(
        &edit("  { name = \"level\", sort = \"U\", doc = \"how deep\" },\n", ""),
        &other("parameter `level` is not in the stream"),
    );
    // Another registry.
    check(&edit("name = \"work\"", "name = \"play\""), "0 read, 36 foreign, 0 unknown, 0 of other form");
    // Another major version.
    check(
        &edit("major = 1", "major = 2"),
        "registry `work` has version 2.0.0 in the stream, 1.0.0 in this program: another major version, \
         in which no event means the same\n\
         help: decode it generically, as `telemetry print` does, or with a program of that version",
    );
}

/// What a reader does not ask for cannot be refused.
#[test]
fn strictness_is_about_wanted_events() {
    let registry = edit("sort = \"U\"", "sort = \"u16\"");
    let (bytes, _) = stream(&parse(&registry).unwrap(), 9);
    let strict = |events: &[&str]| {
        let filter = Filter::default().events(events.iter().copied());
        let mut read = 0;
        let reader = Reader::from_slice(&bytes).filter(filter).typed::<work::Decoder>().unwrap();
        reader.strict()?.for_each(|_| read += 1)?;
        Ok::<_, Error>(read)
    };
    assert_eq!(strict(&["Named"]).unwrap(), 9);
    assert_eq!(
        strict(&["Named", "Alloc"]).unwrap_err().to_string(),
        "registry `work` has version 1.0.0 in the stream, 1.0.0 in this program: some events have another form\n  \
         `Alloc` (0x0001): parameter `level` is u16 in the stream, u32 in the program\n\
         help: decode it generically, as `telemetry print` does, or with a program of that version; without \
         `strict` those events are skipped, and the others are decoded"
    );
}

/// A stream without its registry can be read by who has it: the program itself, if it is its own.
#[test]
fn a_registry_may_come_from_elsewhere() {
    let newer = parse(&edit("minor = 0", "minor = 1")).unwrap();
    for (registry, given, read) in [
        (parse(WORK).unwrap(), None, 36),
        (newer.clone(), None, 0),
        (newer.clone(), Some(newer.clone()), 36),
        (newer, Some(parse(&edit("minor = 0", "minor = 2")).unwrap()), 0),
    ] {
        let (bytes, _) = stream(&registry, 9);
        let bytes = without_registries(&bytes);
        let reader = Reader::from_slice(&bytes);
        let reader = given.into_iter().fold(reader, Reader::registry);
        let (mut events, mut count) = (reader.typed::<work::Decoder>().unwrap(), 0);
        events.for_each(|_| count += 1).unwrap();
        assert_eq!(count, read);
        // What could not be decoded is told.
        assert_eq!(events.completeness().missing(), 36 - read, "{}", events.completeness());
    }
}

/// A stream less its registry blocks.
fn without_registries(stream: &[u8]) -> Vec<u8> {
    let mut blocks = Blocks::from_slice(stream);
    let mut rest = Vec::new();
    while let Some(piece) = blocks.next().unwrap() {
        let Piece::Block(block) = piece else { panic!("the stream is damaged") };
        if block.header.block_type != BlockType::Registry {
            rest.extend_from_slice(&stream[block.at as usize..][..block.header.block_len() as usize]);
        }
    }
    rest
}
