//! An event, borrowed from the block that it stands in.

use telemetry_schema::{Count, Kind, Registry};

use crate::packing::Packing;
use crate::registries::KnownRegistry;
use crate::session::Session;
use crate::value::{Array, Packed, Text, Value};

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
    /// The registry that it belongs to.
    pub registry: &'a KnownRegistry,
    /// What it is: name, code, parameters, docs.
    pub schema: &'a telemetry_schema::Event,
    pub(crate) payload: &'a [u8],
    pub(crate) raw: &'a [Raw],
}

/// What the decoder notes of a parameter while it finds where the next one begins.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Raw {
    /// The bits of a number; what the first element of an array counts from.
    pub(crate) bits: u64,
    /// Where a string, a byte string or an array stands in the payload: its bytes without the length
    /// or count before them.
    pub(crate) at: u32,
    pub(crate) end: u32,
    /// Number of elements of an array.
    pub(crate) len: u32,
}

/// One parameter of an event: what the relation says of it, and its value.
#[derive(Debug, Clone, Copy)]
pub struct Param<'a> {
    /// Name, sort, unit, docs.
    pub schema: &'a telemetry_schema::Param,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Event<'a> {
    /// The event's name.
    pub fn name(&self) -> &'a str {
        &self.schema.name
    }

    /// The event's kind.
    pub fn kind(&self) -> &'a Kind {
        let registry: &'a Registry = &self.registry.registry;
        &registry.kinds[self.schema.kind]
    }

    /// The thread's name, where the stream has one.
    pub fn thread_name(&self) -> Option<&'a str> {
        self.session.thread_name(self.thread)
    }

    /// Nanoseconds since 1970-01-01 UTC.
    pub fn wall_ns(&self) -> i64 {
        self.session.clock.wall_ns(self.ticks)
    }

    /// The value of a parameter by its name.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.value(self.schema.params.iter().position(|param| param.name == name)?)
    }

    /// The value of a parameter by its index.
    #[inline]
    pub fn value(&self, index: usize) -> Option<Value<'a>> {
        let param = self.schema.params.get(index)?;
        let raw = self.raw.get(index)?;
        let registry: &'a Registry = &self.registry.registry;
        let ty = registry.ty(param.sort);
        let run = || self.payload.get(raw.at as usize..raw.end as usize).unwrap_or_default();
        Some(match (param.count, param.sort) {
            (Count::One, telemetry_schema::Sort::String) => Value::String(Text(run())),
            (Count::One, telemetry_schema::Sort::Bytes) => Value::Bytes(run()),
            (Count::One, sort) => Value::from_bits(sort, ty, raw.bits),
            (Count::Fixed(_) | Count::UpTo(_), sort) => Value::Array(Array::packed(Packed {
                bytes: run(),
                len: raw.len as usize,
                base: raw.bits,
                sort,
                packing: Packing::of(registry.repr(sort)),
                ty,
            })),
        })
    }

    /// All values in the relation's order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'a>> + use<'a> {
        self.params().map(|param| param.value)
    }

    /// All parameters in the relation's order.
    pub fn params(&self) -> impl ExactSizeIterator<Item = Param<'a>> + use<'a> {
        let event = *self;
        event.schema.params.iter().enumerate().map(move |(index, schema)| Param {
            schema,
            // The decoder notes every parameter of the event before it gives the event out.
            value: event.value(index).unwrap_or(Value::Bytes(&[])),
        })
    }
}
