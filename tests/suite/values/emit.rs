//! Calls the emitters of the registry of every parameter type.

use telemetry::Label;

use crate::sorts::{self, *};
use crate::support::stream::Owned;

/// Emits an event by name.
pub(crate) fn emit(name: &str, v: &[Owned]) {
    match name {
        "Numbers" => sorts::numbers!(
            v[0].int::<u64>(),
            v[1].int::<u64>(),
            v[2].int::<u64>(),
            v[3].int(),
            v[4].int(),
            v[5].int(),
            v[6].int(),
            v[7].int(),
            v[8].int(),
            v[9].int(),
            v[10].int(),
            v[11].f32(),
            v[12].f64(),
            v[13].bool(),
            v[14].label()
        ),
        "Types" => sorts::types!(
            EnumU8::from_repr(v[0].int()).expect("a value"),
            EnumU16::from_repr(v[1].int()).expect("a value"),
            EnumU32::from_repr(v[2].int()).expect("a value"),
            EnumU64::from_repr(v[3].int()).expect("a value"),
            EnumI8::from_repr(v[4].int()).expect("a value"),
            EnumI16::from_repr(v[5].int()).expect("a value"),
            EnumI32::from_repr(v[6].int()).expect("a value"),
            EnumI64::from_repr(v[7].int()).expect("a value"),
            FlagsU8::from_repr(v[8].int()),
            FlagsU16::from_repr(v[9].int()),
            FlagsU32::from_repr(v[10].int()),
            FlagsU64::from_repr(v[11].int())
        ),
        "Runs" => sorts::runs!(
            v[0].int::<u64>(),
            v[1].text(),
            v[2].text(),
            v[3].bytes(),
            v[4].bytes(),
            v[5].int::<u64>()
        ),
        "Nothing" => sorts::nothing!(),
        "UpTo" => sorts::up_to!(
            &v[0].each(Owned::int::<u64>),
            &v[1].each(Owned::int::<u64>),
            &v[2].each(Owned::int::<u64>),
            &v[3].each(Owned::int),
            &v[4].each(Owned::int),
            &v[5].each(Owned::int),
            &v[6].each(Owned::int),
            &v[7].each(Owned::int),
            &v[8].each(Owned::int),
            &v[9].each(Owned::int),
            &v[10].each(Owned::int),
            &v[11].each(Owned::f32),
            &v[12].each(Owned::f64),
            &v[13].each(Owned::bool),
            &v[14].each(Owned::label)
        ),
        "Fixed" => sorts::fixed!(
            &v[0].just::<_, 2>(Owned::int::<u64>),
            &v[1].just::<_, 2>(Owned::int::<u64>),
            &v[2].just::<_, 2>(Owned::int::<u64>),
            &v[3].just(Owned::int),
            &v[4].just(Owned::int),
            &v[5].just(Owned::int),
            &v[6].just(Owned::int),
            &v[7].just(Owned::int),
            &v[8].just(Owned::int),
            &v[9].just(Owned::int),
            &v[10].just(Owned::int),
            &v[11].just(Owned::f32),
            &v[12].just(Owned::f64),
            &v[13].just(Owned::bool),
            &v[14].just(Owned::label)
        ),
        "TypeArrays" => sorts::type_arrays!(
            &v[0].each(|v| EnumU8::from_repr(v.int()).expect("a value")),
            &v[1].each(|v| EnumU16::from_repr(v.int()).expect("a value")),
            &v[2].each(|v| EnumU32::from_repr(v.int()).expect("a value")),
            &v[3].each(|v| EnumU64::from_repr(v.int()).expect("a value")),
            &v[4].each(|v| EnumI8::from_repr(v.int()).expect("a value")),
            &v[5].each(|v| EnumI16::from_repr(v.int()).expect("a value")),
            &v[6].each(|v| EnumI32::from_repr(v.int()).expect("a value")),
            &v[7].each(|v| EnumI64::from_repr(v.int()).expect("a value")),
            &v[8].each(|v| FlagsU8::from_repr(v.int())),
            &v[9].each(|v| FlagsU16::from_repr(v.int())),
            &v[10].each(|v| FlagsU32::from_repr(v.int())),
            &v[11].each(|v| FlagsU64::from_repr(v.int()))
        ),
        "LongText" => sorts::long_text!(v[0].int::<u64>(), v[1].text()),
        "LongBytes" => sorts::long_bytes!(v[0].int::<u64>(), &v[1].each(Owned::int)),
        "LongFlags" => sorts::long_flags!(&v[0].each(Owned::bool), v[1].int::<u64>()),
        "LongFloats" => sorts::long_floats!(&v[0].each(Owned::f32), v[1].int::<u64>()),
        "LongDoubles" => sorts::long_doubles!(&v[0].just(Owned::f64), v[1].int::<u64>()),
        "LongWords" => sorts::long_words!(&v[0].each(Owned::int::<u64>), v[1].int::<u64>()),
        "LongShorts" => sorts::long_shorts!(&v[0].each(Owned::int), v[1].int::<u64>()),
        "LongNumbers" => sorts::long_numbers!(&v[0].each(Owned::int), v[1].int::<u64>()),
        "Late" => sorts::late!(v[0].int()),
        other => panic!("no event {other}"),
    }
}

impl Owned {
    pub(crate) fn int<T: TryFrom<i128>>(&self) -> T {
        match self {
            Owned::Number(number) => T::try_from(*number).ok().expect("a number that fits"),
            other => panic!("{other:?} is no number"),
        }
    }

    fn bool(&self) -> bool {
        self.int::<u8>() != 0
    }

    fn label(&self) -> Label {
        Label(self.int())
    }

    pub(crate) fn f32(&self) -> f32 {
        match self {
            Owned::F32(bits) => f32::from_bits(*bits),
            other => panic!("{other:?} is no f32"),
        }
    }

    pub(crate) fn f64(&self) -> f64 {
        match self {
            Owned::F64(bits) => f64::from_bits(*bits),
            other => panic!("{other:?} is no f64"),
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Owned::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Owned::Bytes(bytes) => bytes,
            other => panic!("{other:?} are no bytes"),
        }
    }

    pub(crate) fn each<T>(&self, element: impl Fn(&Owned) -> T) -> Vec<T> {
        match self {
            Owned::Array(values) => values.iter().map(element).collect(),
            other => panic!("{other:?} is no array"),
        }
    }

    fn just<T, const N: usize>(&self, element: impl Fn(&Owned) -> T) -> [T; N] {
        self.each(element).try_into().ok().expect("an array of this length")
    }
}
