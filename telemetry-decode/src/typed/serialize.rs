//! Generated events for `serde`, with the members of `telemetry print --json`: see `docs/json.md`.

use serde::ser::SerializeMap;

pub use serde::ser::{Serialize, Serializer};
use telemetry_format::Label;

use crate::registry::serialize::Head;
use crate::typed::generated::{Delta, Element, List};
use crate::typed::typed_events::Timed;
use crate::values::serialize::{Hex, HexBytes, flags, float};

/// A type of plain values that can be serialized.
pub trait SerializeElement: Element {
    /// Serializes a value.
    #[allow(missing_docs)]
    fn serialize<S: Serializer>(item: &Self::Item, to: S) -> Result<S::Ok, S::Error>;
}

macro_rules! plain {
    ($($ty:ident)*) => {$(
        impl SerializeElement for $ty {
            fn serialize<S: Serializer>(item: &$ty, to: S) -> Result<S::Ok, S::Error> {
                Serialize::serialize(item, to)
            }
        }
    )*};
}

plain! { u8 u16 u32 u64 i8 i16 i32 i64 bool }

impl SerializeElement for f32 {
    fn serialize<S: Serializer>(item: &f32, to: S) -> Result<S::Ok, S::Error> {
        float(to, (*item).into(), |to| to.serialize_f32(*item))
    }
}

impl SerializeElement for f64 {
    fn serialize<S: Serializer>(item: &f64, to: S) -> Result<S::Ok, S::Error> {
        float(to, *item, |to| to.serialize_f64(*item))
    }
}

/// Words. Pointers and addresses are [`Addresses`].
impl SerializeElement for Delta {
    fn serialize<S: Serializer>(item: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(*item)
    }
}

impl SerializeElement for Label {
    fn serialize<S: Serializer>(item: &Label, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(item.0)
    }
}

/// A value of a parameter.
pub struct Item<'a, E: Element>(pub &'a E::Item);

impl<E: SerializeElement> Serialize for Item<'_, E> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        E::serialize(self.0, to)
    }
}

/// Serializes the elements.
impl<E: SerializeElement> Serialize for List<'_, E> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let mut list = to.serialize_seq(Some(self.len()))?;
        for item in self.iter() {
            list.serialize_element(&Item::<E>(&item))?;
        }
        list.end()
    }
}

/// A pointer or an address.
pub struct Address(pub u64);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Hex(self.0).serialize(to)
    }
}

/// Pointers or addresses.
pub struct Addresses<'a>(pub List<'a, Delta>);

impl Serialize for Addresses<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(Hex))
    }
}

/// A byte string.
pub struct RawBytes<'a>(pub &'a [u8]);

impl Serialize for RawBytes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        HexBytes(self.0).serialize(to)
    }
}

/// Serializes the name of an enum's value, or its number if the name is empty.
#[allow(missing_docs)]
pub fn serialize_enum<S: Serializer>(to: S, name: &str, number: impl Serialize) -> Result<S::Ok, S::Error> {
    match name {
        "" => number.serialize(to),
        name => to.serialize_str(name),
    }
}

/// Serializes the names of flags.
#[allow(missing_docs)]
pub fn serialize_flags<S: Serializer>(
    to: S,
    bits: u64,
    named: &[(&'static str, u64)],
) -> Result<S::Ok, S::Error> {
    flags(to, bits, named.iter().copied())
}

/// The parameters of an event, in their order.
pub struct Params<S: Serializer>(S::SerializeMap);

impl<S: Serializer> Params<S> {
    /// Begins the object.
    #[allow(missing_docs)]
    pub fn begin(to: S) -> Result<Self, S::Error> {
        to.serialize_map(None).map(Params)
    }

    /// Adds a parameter.
    #[allow(missing_docs)]
    pub fn put(&mut self, name: &'static str, value: &impl Serialize) -> Result<(), S::Error> {
        self.0.serialize_entry(name, value)
    }

    /// Ends the object.
    #[allow(missing_docs)]
    pub fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

/// Serializes an event: what the registry says of its type, and its parameters.
#[allow(missing_docs)]
pub fn serialize_event<S: Serializer>(
    to: S,
    of_type: &[(&'static str, &'static str)],
    params: &impl Serialize,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(of_type.len() + 1))?;
    for (key, text) in of_type {
        map.serialize_entry(key, text)?;
    }
    map.serialize_entry("params", params)?;
    map.end()
}

/// Serializes the members of `telemetry print --json`. Labels are numbers, and there are no `names`
/// or `strings`.
impl<E: Serialize> Serialize for Timed<'_, E> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Flat<'a, E> {
            #[serde(flatten)]
            head: Head<'a>,
            #[serde(flatten)]
            event: &'a E,
        }
        let head = Head {
            time_ns: self.time_ns(),
            wall_ns: self.wall_ns(),
            session: self.session.id,
            thread: self.thread,
            thread_name: self.thread_name(),
        };
        Flat { head, event: &self.event }.serialize(to)
    }
}
