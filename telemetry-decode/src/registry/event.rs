//! An event, borrowed from its block.

use telemetry_format::own;
use telemetry_schema::{self as schema, Kind, Registry};

use crate::registry::condition::Candidate;
use crate::registry::known_registry::KnownRegistry;
use crate::registry::param_value::value;
use crate::sessions::labels::{AddressName, Numbers};
use crate::sessions::session::Session;
use crate::values::raw::Raw;
use crate::values::value::Value;

/// One event. It is neither copied nor allocated: values are made on demand. An event ends with the
/// next one; [`Event::into_owned`] makes one that lasts.
///
/// ```
/// use telemetry_decode::Event;
///
/// fn size(event: &Event<'_>) -> Option<u64> {
///     if event.name() == "Evicted" { event.get("size")?.as_u64() } else { None }
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    pub(crate) session: &'a Session,
    pub(crate) thread: u32,
    pub(crate) ticks: u64,
    pub(crate) time_ns: i64,
    pub(crate) schema: &'a schema::Event,
    pub(crate) packed_len: u32,
    pub(crate) offset: u64,
    /// Its number in its lane; [`NO_POSITION`] if unknown.
    pub(crate) position: u64,
    pub(crate) known: &'a KnownRegistry,
    /// Its index in the registry.
    pub(crate) index: usize,
    pub(crate) payload: &'a [u8],
    pub(crate) raw: &'a [Raw],
}

/// The position of an event whose number in its lane is unknown.
pub(crate) const NO_POSITION: u64 = u64::MAX;

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
    #[inline]
    pub fn name(&self) -> &'a str {
        &self.schema.name
    }

    /// Returns the event type: name, code, parameters, docs.
    #[inline]
    pub fn schema(&self) -> &'a schema::Event {
        self.schema
    }

    /// Returns the nanoseconds since the session's start.
    #[inline]
    pub fn time_ns(&self) -> i64 {
        self.time_ns
    }

    /// Returns the clock reading.
    #[inline]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns the session's number for the thread that emitted the event.
    #[inline]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Returns the session of the event.
    #[inline]
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns the encoded length in the block, with code and time, without compression.
    #[inline]
    pub fn packed_len(&self) -> u32 {
        self.packed_len
    }

    /// Returns the byte offset of the event's first byte in the input, where several inputs count
    /// as one. Returns 0 for the last event of a recovered thread, where it is unknown.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of events recorded before it in its lane, with those that are not in the
    /// stream. Session, thread, registry, kind and position identify an event. Returns `None` for
    /// logs of other systems, which do not number events, and for the last event of a recovered
    /// thread.
    #[inline]
    pub fn position(&self) -> Option<u64> {
        (self.position != NO_POSITION).then_some(self.position)
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
    #[inline]
    pub fn wall_ns(&self) -> i64 {
        self.time_ns.saturating_add_unsigned(self.session.clock.start_wall())
    }

    /// Returns the text of a mark, or `None` for all other events. A mark is the runtime's event
    /// `Mark`. The text is empty if the stream does not have it.
    #[inline]
    pub fn mark(&self) -> Option<&'a str> {
        if self.schema.code != own::MARK || self.registry().name != own::NAME {
            return None;
        }
        let Some(Value::Label(label)) = self.value(0) else { return None };
        Some(self.label(label).unwrap_or_default())
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
    #[inline]
    pub fn name_of_value(&self, value: &Value<'_>) -> Option<AddressName<'a>> {
        self.session.labels.name_of_value(value, self.ticks)
    }

    /// Returns true if the event passes the condition of its reader's filter.
    pub(crate) fn passes(&self) -> bool {
        let Some(test) = self.known.test() else { return true };
        test.matches(&self.candidate(), test.lane(self.session, self.thread))
    }

    /// Returns the event for tests of conditions.
    #[doc(hidden)]
    pub fn candidate(&self) -> Candidate<'a> {
        let Event { session, known, index, ticks, payload, raw, .. } = *self;
        let registry = (&known.registry, &known.namings);
        Candidate::new(session, registry, index as u32, ticks).with(payload, raw)
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

    /// Returns a parameter by its name, with its declaration.
    pub fn param(&self, name: &str) -> Option<Param<'a>> {
        self.params().find(|param| param.schema.name == name)
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

    /// Returns the bits of parameters that are single numbers, in the registry's order. For other
    /// parameters they mean nothing.
    #[doc(hidden)]
    #[inline(always)]
    pub fn bits(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        self.raw.iter().map(|raw| raw.bits)
    }

    /// Returns the bytes of a parameter by its index, if it is a string or a byte string.
    #[doc(hidden)]
    #[inline(always)]
    pub fn run(&self, index: usize) -> &'a [u8] {
        self.raw.get(index).map_or(&[], |raw| raw.run(self.payload))
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
