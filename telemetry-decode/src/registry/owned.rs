//! An event with memory of its own.

use std::sync::Arc;

use telemetry_schema::{self as schema, Count, Kind, Registry};

use crate::registry::event::{Event, Param};
use crate::registry::known_registry::Kept;
use crate::registry::param_value::value;
use crate::sessions::labels::{AddressName, Labels};
use crate::values::raw::Raw;
use crate::values::value::Value;

/// An event with memory of its own, so that it can outlive the reader. [`Event::into_owned`] makes
/// it, and [`Events::into_owned`](crate::Events::into_owned) an iterator of them.
///
/// It has the strings of its labels and the names of its addresses. All events of a reader share
/// their registry.
#[derive(Debug, Clone)]
pub struct OwnedEvent {
    pub(crate) kept: Arc<Kept>,
    pub(crate) index: usize,
    session: u64,
    thread: u32,
    thread_name: Option<Box<str>>,
    pub(crate) ticks: u64,
    time_ns: i64,
    wall_ns: i64,
    packed_len: u32,
    offset: u64,
    /// The bytes of the parameters that are strings, byte strings or arrays.
    pub(crate) payload: Box<[u8]>,
    pub(crate) raw: Box<[Raw]>,
    /// The strings and names of its own values.
    pub(crate) labels: Option<Box<Labels>>,
}

impl Event<'_> {
    /// Copies the event, so that it can outlive the reader.
    #[must_use]
    pub fn into_owned(self) -> OwnedEvent {
        let (payload, raw) = self.copy_of_values();
        let values = self.values().enumerate().map(|(index, value)| (self.numbers(index), value));
        OwnedEvent {
            kept: self.known.kept(),
            index: self.index,
            session: self.session.id,
            thread: self.thread,
            thread_name: self.thread_name().map(Box::from),
            ticks: self.ticks,
            time_ns: self.time_ns,
            wall_ns: self.wall_ns(),
            packed_len: self.packed_len,
            offset: self.offset,
            payload: payload.into(),
            raw,
            labels: self.session.labels.of_values(values, self.ticks).map(Box::new),
        }
    }

    /// Returns the bytes of the parameters without those of other events, and where each is there.
    fn copy_of_values(&self) -> (Vec<u8>, Box<[Raw]>) {
        let mut payload = Vec::new();
        let copy = |(param, raw): (&schema::Param, &Raw)| {
            if param.count == Count::One && !param.sort.is_run() {
                return Raw { bits: raw.bits, ..Raw::default() };
            }
            // A payload is shorter than 4 GiB, so a part of it is too.
            let at = payload.len() as u32;
            payload.extend_from_slice(raw.run(self.payload));
            Raw { bits: raw.bits, at, end: payload.len() as u32 }
        };
        let raw = self.schema.params.iter().zip(self.raw).map(copy).collect();
        (payload, raw)
    }
}

impl OwnedEvent {
    /// Returns the event's name.
    pub fn name(&self) -> &str {
        &self.schema().name
    }

    /// Returns the event type: name, code, parameters, docs.
    pub fn schema(&self) -> &schema::Event {
        // The index is that of an event which was read.
        &self.kept.registry.events[self.index]
    }

    /// Returns the event's registry.
    pub fn registry(&self) -> &Registry {
        &self.kept.registry
    }

    /// Returns the event's kind.
    pub fn kind(&self) -> &Kind {
        self.registry().kind_of(self.schema())
    }

    /// Returns the nanoseconds since the session's start.
    pub fn time_ns(&self) -> i64 {
        self.time_ns
    }

    /// Returns the event's time in nanoseconds since 1970-01-01 UTC.
    pub fn wall_ns(&self) -> i64 {
        self.wall_ns
    }

    /// Returns the clock reading.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns the id of the event's session.
    pub fn session_id(&self) -> u64 {
        self.session
    }

    /// Returns the session's number for the thread that emitted the event.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Returns the thread's name, if the stream has it.
    pub fn thread_name(&self) -> Option<&str> {
        self.thread_name.as_deref()
    }

    /// Returns the encoded length in the block, with code and time, without compression.
    pub fn packed_len(&self) -> u32 {
        self.packed_len
    }

    /// Returns the byte offset of the event's first byte in the input, as [`Event::offset`] does.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the string for a label among the event's values, if the stream has it.
    pub fn label(&self, number: u64) -> Option<&str> {
        self.labels.as_ref()?.string(number)
    }

    /// Returns the name that an address or pointer among the event's values had at its time.
    pub fn name_of_value(&self, value: &Value<'_>) -> Option<AddressName<'_>> {
        self.labels.as_ref()?.name_of_value(value, self.ticks)
    }

    /// Returns the string for a value of a parameter by its index, if its numbers are shown with
    /// strings.
    pub fn string_of(&self, index: usize, value: &Value<'_>) -> Option<&str> {
        let numbers = (*self.kept.namings.numbers_of_event(self.index).get(index)?)?;
        self.labels.as_ref()?.string_of(numbers, value.as_u64()?)
    }

    /// Returns a parameter by its name, with its declaration.
    pub fn param(&self, name: &str) -> Option<Param<'_>> {
        self.params().find(|param| param.schema.name == name)
    }

    /// Returns the value of a parameter by its name.
    pub fn get(&self, name: &str) -> Option<Value<'_>> {
        self.value(self.schema().params.iter().position(|param| param.name == name)?)
    }

    /// Returns the value of a parameter by its index.
    pub fn value(&self, index: usize) -> Option<Value<'_>> {
        let (param, raw) = (self.schema().params.get(index)?, self.raw.get(index)?);
        Some(value(self.registry(), &self.payload, param, raw))
    }

    /// Returns all values in the registry's order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        self.params().map(|param| param.value)
    }

    /// Returns all parameters in the registry's order.
    pub fn params(&self) -> impl ExactSizeIterator<Item = Param<'_>> {
        let (registry, payload) = (self.registry(), &*self.payload);
        let both = self.schema().params.iter().zip(&self.raw);
        both.map(move |(schema, raw)| Param { schema, value: value(registry, payload, schema, raw) })
    }
}
