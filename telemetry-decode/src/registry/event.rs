//! An event, borrowed from its block.

use telemetry_format::Cursor;
use telemetry_schema::{self as schema, Count, Kind, Registry};

use crate::registry::known_registry::KnownRegistry;
use crate::sessions::labels::{AddressName, Numbers};
use crate::sessions::session::Session;
use crate::values::raw::Raw;
use crate::values::value::{Array, Packed, Value};

/// One event. It is neither copied nor allocated: values are made on demand.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// The session of the event.
    pub session: &'a Session,
    /// The session's number for the thread that emitted it.
    pub thread: u32,
    /// The clock reading.
    pub ticks: u64,
    /// Nanoseconds since the session's start.
    pub time_ns: i64,
    /// Its event type: name, code, parameters, docs.
    pub schema: &'a schema::Event,
    /// Encoded length in the block, with code and time, without compression.
    pub packed_len: u32,
    /// The byte offset of its first byte in the input, where several inputs count as one. It is 0
    /// for the last event of a recovered thread, where it is unknown.
    pub offset: u64,
    /// The registry of the event.
    pub(crate) known: &'a KnownRegistry,
    /// Its index in the registry.
    pub(crate) index: usize,
    pub(crate) payload: &'a [u8],
    pub(crate) raw: &'a [Raw],
}

/// One parameter of an event: its declaration in the registry, and its value.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Param<'a> {
    /// Its name, type, unit and docs.
    pub schema: &'a schema::Param,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Event<'a> {
    /// Returns the event's name.
    pub fn name(&self) -> &'a str {
        &self.schema.name
    }

    /// Returns the event's index in its registry.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the event's registry.
    #[inline]
    pub fn registry(&self) -> &'a Registry {
        &self.known.registry
    }

    /// Returns the event's registry with its fingerprint and its offset in the stream.
    #[inline]
    pub fn known_registry(&self) -> &'a KnownRegistry {
        self.known
    }

    /// Returns the event's kind.
    pub fn kind(&self) -> &'a Kind {
        &self.registry().kinds[self.schema.kind]
    }

    /// Returns the thread's name, if the stream has it.
    pub fn thread_name(&self) -> Option<&'a str> {
        self.session.thread_name(self.thread)
    }

    /// Returns the event's time in nanoseconds since 1970-01-01 UTC.
    pub fn wall_ns(&self) -> i64 {
        self.session.clock.wall_ns(self.ticks)
    }

    /// Returns the string for a label, if the stream has it.
    pub fn label(&self, number: u64) -> Option<&'a str> {
        self.session.labels.string(number)
    }

    /// Returns the name of an address at the time of the event, if it had one.
    pub fn name_of(&self, address: u64) -> Option<AddressName<'a>> {
        self.session.labels.name_of(address, self.ticks)
    }

    /// Returns the name of a value at the time of the event, if it is an address or a pointer with
    /// a name.
    pub fn name_of_value(&self, value: &Value<'_>) -> Option<AddressName<'a>> {
        self.session.labels.name_of_value(value, self.ticks)
    }

    /// Returns the clock reading in the event's parameter with the mark `time`, if it has one.
    pub(crate) fn marked_ticks(&self) -> Option<u64> {
        match self.value(self.schema.time?)? {
            Value::Unsigned(ticks) => Some(ticks),
            _ => None,
        }
    }

    /// Returns the number space of a parameter by its index, if its numbers are shown with strings.
    #[inline]
    pub fn numbers(&self, index: usize) -> Option<Numbers> {
        self.known.namings.numbers_of_event(self.index).get(index).copied().flatten()
    }

    /// Returns true if a parameter has numbers that are shown with strings.
    #[inline]
    pub fn has_numbers(&self) -> bool {
        !self.known.namings.numbers_of_event(self.index).is_empty()
    }

    /// Returns the string for a value of a parameter with this number space.
    pub fn string_of(&self, numbers: Numbers, value: &Value<'_>) -> Option<&'a str> {
        match *value {
            Value::Word(number) | Value::Unsigned(number) => self.session.labels.string_of(numbers, number),
            _ => None,
        }
    }

    /// Returns the value of a parameter by its name.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.value(self.schema.params.iter().position(|param| param.name == name)?)
    }

    /// Returns the value of a parameter by its index.
    #[inline]
    pub fn value(&self, index: usize) -> Option<Value<'a>> {
        let (param, raw) = (self.schema.params.get(index)?, self.raw.get(index)?);
        Some(value(self.registry(), self.payload, param, raw))
    }

    /// Returns all values in the registry's order.
    #[inline]
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'a>> + use<'a> {
        let (registry, payload) = (self.registry(), self.payload);
        self.schema.params.iter().zip(self.raw).map(move |(param, raw)| value(registry, payload, param, raw))
    }

    /// Returns all parameters in the registry's order.
    #[inline]
    pub fn params(&self) -> impl ExactSizeIterator<Item = Param<'a>> + use<'a> {
        let schemas = self.schema.params.iter();
        schemas.zip(self.values()).map(|(schema, value)| Param { schema, value })
    }
}

/// Makes the value of a parameter.
#[inline(always)]
fn value<'a>(registry: &'a Registry, payload: &'a [u8], param: &schema::Param, raw: &Raw) -> Value<'a> {
    let fixed = match param.count {
        Count::One => {
            return Value::new(param.sort, raw.bits, || raw.run(payload), || registry.ty(param.sort));
        }
        Count::Fixed(count) => Some(count),
        Count::UpTo(_) => None,
    };
    array(registry, payload, param, raw, fixed)
}

#[inline(never)]
fn array<'a>(
    registry: &'a Registry,
    payload: &'a [u8],
    param: &schema::Param,
    raw: &Raw,
    fixed: Option<u32>,
) -> Value<'a> {
    let mut cursor = Cursor::new(raw.run(payload));
    // The decoder has checked the count.
    let len = fixed.map_or_else(|| cursor.unsigned().unwrap_or_default(), u64::from) as usize;
    Value::Array(Array::packed(Packed {
        bytes: cursor.rest(),
        len,
        base: raw.bits,
        sort: param.sort,
        encoding: registry.encoding(param.sort),
        ty: registry.ty(param.sort),
    }))
}
