//! An event, borrowed from the block that it stands in.

use telemetry_format::Cursor;
use telemetry_schema::{self as schema, Count, Kind, Registry};

use crate::registry::known_registry::KnownRegistry;
use crate::sessions::labels::{AddressName, Numbers};
use crate::sessions::session::Session;
use crate::values::raw::Raw;
use crate::values::value::{Array, Packed, Value};

/// One event. Nothing is copied or allocated for it: values are made when asked for.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// The run that it comes from.
    pub session: &'a Session,
    /// The session's number for the thread that emitted it.
    pub thread: u32,
    /// The clock reading.
    pub ticks: u64,
    /// Nanoseconds since the session's start.
    pub time_ns: i64,
    /// What it is: name, code, parameters, docs.
    pub schema: &'a schema::Event,
    /// Bytes that the event takes in its block: code, time and parameters, without compression.
    pub packed_len: u32,
    /// Where it begins, in bytes of the input; several inputs count as one. Of the last event of a recovered
    /// thread it is not known, and 0.
    pub offset: u64,
    /// The registry that it belongs to.
    pub(crate) known: &'a KnownRegistry,
    /// Its index in the registry.
    pub(crate) index: usize,
    pub(crate) payload: &'a [u8],
    pub(crate) raw: &'a [Raw],
}

/// One parameter of an event: what the relation says of it, and its value.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Param<'a> {
    /// Name, sort, unit, docs.
    pub schema: &'a schema::Param,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Event<'a> {
    /// The event's name.
    pub fn name(&self) -> &'a str {
        &self.schema.name
    }

    /// The event's index in its registry.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The registry that it belongs to.
    #[inline]
    pub fn registry(&self) -> &'a Registry {
        &self.known.registry
    }

    /// The same with its fingerprint, and where in the stream it was found.
    #[inline]
    pub fn known_registry(&self) -> &'a KnownRegistry {
        self.known
    }

    /// The event's kind.
    pub fn kind(&self) -> &'a Kind {
        &self.registry().kinds[self.schema.kind]
    }

    /// The thread's name, where the stream has one.
    pub fn thread_name(&self) -> Option<&'a str> {
        self.session.thread_name(self.thread)
    }

    /// Nanoseconds since 1970-01-01 UTC.
    pub fn wall_ns(&self) -> i64 {
        self.session.clock.wall_ns(self.ticks)
    }

    /// The string that a label stands for, where the stream has it.
    pub fn label(&self, number: u64) -> Option<&'a str> {
        self.session.labels.string(number)
    }

    /// What an address was called when the event was emitted, if it had a name.
    pub fn name_of(&self, address: u64) -> Option<AddressName<'a>> {
        self.session.labels.name_of(address, self.ticks)
    }

    /// What a value was called when the event was emitted, if it is an address or a pointer and had a name.
    pub fn name_of_value(&self, value: &Value<'_>) -> Option<AddressName<'a>> {
        self.session.labels.name_of_value(value, self.ticks)
    }

    /// The clock reading of the moment that it tells of, if its relation marks a parameter with that.
    pub(crate) fn told_ticks(&self) -> Option<u64> {
        match self.value(self.schema.time?)? {
            Value::Unsigned(ticks) => Some(ticks),
            _ => None,
        }
    }

    /// Whose numbers the values of a parameter are, by its index, if they are shown with strings.
    #[inline]
    pub fn numbers(&self, index: usize) -> Option<Numbers> {
        self.known.namings.numbers_of_event(self.index).get(index).copied().flatten()
    }

    /// True if a parameter has numbers that are shown with strings.
    #[inline]
    pub fn has_numbers(&self) -> bool {
        !self.known.namings.numbers_of_event(self.index).is_empty()
    }

    /// The string of a number that a parameter with these numbers holds.
    pub fn string_of(&self, numbers: Numbers, value: &Value<'_>) -> Option<&'a str> {
        match *value {
            Value::Word(number) | Value::Unsigned(number) => self.session.labels.string_of(numbers, number),
            _ => None,
        }
    }

    /// The value of a parameter by its name.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.value(self.schema.params.iter().position(|param| param.name == name)?)
    }

    /// The value of a parameter by its index.
    #[inline]
    pub fn value(&self, index: usize) -> Option<Value<'a>> {
        let (param, raw) = (self.schema.params.get(index)?, self.raw.get(index)?);
        Some(value(self.registry(), self.payload, param, raw))
    }

    /// All values in the relation's order.
    #[inline]
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'a>> + use<'a> {
        let (registry, payload) = (self.registry(), self.payload);
        self.schema.params.iter().zip(self.raw).map(move |(param, raw)| value(registry, payload, param, raw))
    }

    /// All parameters in the relation's order.
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
    // The decoder has read the count before.
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
