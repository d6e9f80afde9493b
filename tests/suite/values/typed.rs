//! The results of the generated decoders, in the same form as those of the generic reader.

use std::path::Path;

use telemetry::Label;
use telemetry::decode::Reader;

use crate::sorts::{self, *};
use crate::support::stream::Owned;

/// Names and values of all events, by time.
pub(super) fn read(path: &Path) -> Vec<(&'static str, Vec<Owned>)> {
    let mut events = Reader::open(path).expect("a stream").typed::<sorts::Decoder>().expect("a stream");
    let mut read = Vec::new();
    while let Some(event) = events.next().expect("a readable stream") {
        read.push(own(event.event));
    }
    read
}

fn own(event: sorts::Event<'_>) -> (&'static str, Vec<Owned>) {
    use sorts::Event;
    match event {
        Event::Numbers(e) => ("Numbers", own_numbers(&e)),
        Event::Types(e) => ("Types", own_types(&e)),
        Event::Runs(e) => (
            "Runs",
            vec![
                number(e.word),
                Owned::Text(e.text.into()),
                Owned::Text(e.short.into()),
                Owned::Bytes(e.raw.into()),
                Owned::Bytes(e.most.into()),
                number(e.after),
            ],
        ),
        Event::Nothing(Nothing { .. }) => ("Nothing", vec![]),
        Event::UpTo(e) => ("UpTo", own_up_to(&e)),
        Event::Fixed(e) => ("Fixed", own_fixed(&e)),
        Event::TypeArrays(e) => ("TypeArrays", own_type_arrays(&e)),
        Event::LongText(e) => ("LongText", vec![number(e.word), Owned::Text(e.text.into())]),
        Event::LongBytes(e) => ("LongBytes", vec![number(e.word), array(e.bytes.iter(), number)]),
        Event::LongFlags(e) => ("LongFlags", vec![array(e.flags.iter(), number), number(e.word)]),
        Event::LongFloats(e) => ("LongFloats", vec![array(e.floats.iter(), float), number(e.word)]),
        Event::LongDoubles(e) => ("LongDoubles", vec![array(e.doubles.iter(), double), number(e.word)]),
        Event::LongWords(e) => ("LongWords", vec![array(e.words.iter(), number), number(e.word)]),
        Event::LongShorts(e) => ("LongShorts", vec![array(e.shorts.iter(), number), number(e.word)]),
        Event::LongNumbers(e) => ("LongNumbers", vec![array(e.numbers.iter(), number), number(e.word)]),
        Event::Late(e) => ("Late", vec![number(e.number)]),
    }
}

fn number(number: impl Into<i128>) -> Owned {
    Owned::Number(number.into())
}

fn float(x: f32) -> Owned {
    Owned::F32(x.to_bits())
}

fn double(x: f64) -> Owned {
    Owned::F64(x.to_bits())
}

fn label(label: Label) -> Owned {
    number(label.0)
}

fn array<T>(values: impl Iterator<Item = T>, one: impl Fn(T) -> Owned) -> Owned {
    Owned::Array(values.map(one).collect())
}

/// Values of an enum that have names in the registry.
macro_rules! named {
    ($value:expr) => {
        number($value.expect("a value of the enum").repr())
    };
}

fn own_numbers(e: &Numbers) -> Vec<Owned> {
    vec![
        number(e.pointer),
        number(e.addr),
        number(e.word),
        number(e.n_u8),
        number(e.n_u16),
        number(e.n_u32),
        number(e.n_u64),
        number(e.n_i8),
        number(e.n_i16),
        number(e.n_i32),
        number(e.n_i64),
        float(e.n_f32),
        double(e.n_f64),
        number(e.flag),
        label(e.label),
    ]
}

fn own_types(e: &Types) -> Vec<Owned> {
    vec![
        named!(e.enum_u8),
        named!(e.enum_u16),
        named!(e.enum_u32),
        named!(e.enum_u64),
        named!(e.enum_i8),
        named!(e.enum_i16),
        named!(e.enum_i32),
        named!(e.enum_i64),
        number(e.flags_u8.repr()),
        number(e.flags_u16.repr()),
        number(e.flags_u32.repr()),
        number(e.flags_u64.repr()),
    ]
}

/// The arrays of every type, which two events have under the same names.
macro_rules! arrays {
    ($e:ident) => {
        vec![
            array($e.pointers.iter(), number),
            array($e.addrs.iter(), number),
            array($e.words.iter(), number),
            array($e.n_u8s.iter(), number),
            array($e.n_u16s.iter(), number),
            array($e.n_u32s.iter(), number),
            array($e.n_u64s.iter(), number),
            array($e.n_i8s.iter(), number),
            array($e.n_i16s.iter(), number),
            array($e.n_i32s.iter(), number),
            array($e.n_i64s.iter(), number),
            array($e.n_f32s.iter(), float),
            array($e.n_f64s.iter(), double),
            array($e.flags.iter(), number),
            array($e.labels.iter(), label),
        ]
    };
}

fn own_up_to(e: &UpTo<'_>) -> Vec<Owned> {
    arrays!(e)
}

fn own_fixed(e: &Fixed<'_>) -> Vec<Owned> {
    arrays!(e)
}

fn own_type_arrays(e: &TypeArrays<'_>) -> Vec<Owned> {
    vec![
        array(e.enum_u8s.iter(), |value| named!(value)),
        array(e.enum_u16s.iter(), |value| named!(value)),
        array(e.enum_u32s.iter(), |value| named!(value)),
        array(e.enum_u64s.iter(), |value| named!(value)),
        array(e.enum_i8s.iter(), |value| named!(value)),
        array(e.enum_i16s.iter(), |value| named!(value)),
        array(e.enum_i32s.iter(), |value| named!(value)),
        array(e.enum_i64s.iter(), |value| named!(value)),
        array(e.flags_u8s.iter(), |value| number(value.repr())),
        array(e.flags_u16s.iter(), |value| number(value.repr())),
        array(e.flags_u32s.iter(), |value| number(value.repr())),
        array(e.flags_u64s.iter(), |value| number(value.repr())),
    ]
}
