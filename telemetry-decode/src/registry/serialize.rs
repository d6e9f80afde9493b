//! Events for `serde`, in the form of `telemetry print --json`: see `docs/json.md`.

use serde::ser::{Serialize, SerializeMap, Serializer};
use telemetry_schema::{MessagePart, Registry};

use crate::registry::event::{Event, Param};
use crate::registry::owned::OwnedEvent;
use crate::sessions::labels::{AddressName, Labels, Numbers};
use crate::values::date::date;
use crate::values::value::Value;

/// The members that say when and where an event occurred.
pub(crate) struct Head<'a> {
    pub(crate) time_ns: i64,
    pub(crate) wall_ns: i64,
    pub(crate) session: u64,
    pub(crate) thread: u32,
    pub(crate) thread_name: Option<&'a str>,
}

impl Serialize for Head<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        self.put(&mut map)?;
        map.end()
    }
}

impl Head<'_> {
    /// Adds the members to an object.
    fn put<M: SerializeMap>(&self, to: &mut M) -> Result<(), M::Error> {
        // The version of `telemetry print --json`, which has the same members.
        to.serialize_entry("version", &1)?;
        to.serialize_entry("time_ns", &self.time_ns)?;
        to.serialize_entry("time", &date(self.wall_ns))?;
        to.serialize_entry("session", &format_args!("{:016x}", self.session))?;
        to.serialize_entry("thread", &self.thread)?;
        to.serialize_entry("thread_name", &self.thread_name)
    }
}

/// Serializes the object of `telemetry print --json`.
impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let head = Head {
            time_ns: self.time_ns,
            wall_ns: self.wall_ns(),
            session: self.session.id,
            thread: self.thread,
            thread_name: self.thread_name(),
        };
        let numbers = self.known.namings.numbers_of_event(self.index);
        let texts = Texts { labels: Some(&self.session.labels), numbers, ticks: self.ticks };
        let params: Vec<Param<'_>> = self.params().collect();
        Body { registry: self.registry(), index: self.index, params: &params, texts }.serialize(&head, to)
    }
}

/// Serializes the object of `telemetry print --json`.
impl Serialize for OwnedEvent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let head = Head {
            time_ns: self.time_ns(),
            wall_ns: self.wall_ns(),
            session: self.session_id(),
            thread: self.thread(),
            thread_name: self.thread_name(),
        };
        let numbers = self.kept.namings.numbers_of_event(self.index);
        let texts = Texts { labels: self.labels.as_deref(), numbers, ticks: self.ticks() };
        let params: Vec<Param<'_>> = self.params().collect();
        Body { registry: self.registry(), index: self.index, params: &params, texts }.serialize(&head, to)
    }
}

/// What an event says.
struct Body<'a> {
    registry: &'a Registry,
    index: usize,
    params: &'a [Param<'a>],
    texts: Texts<'a>,
}

/// The texts that stand for an event's values.
#[derive(Clone, Copy)]
struct Texts<'a> {
    /// `None` if none of the values has a text.
    labels: Option<&'a Labels>,
    /// The number space of each parameter; empty if no numbers are shown with strings.
    numbers: &'a [Option<Numbers>],
    ticks: u64,
}

impl<'a> Body<'a> {
    fn serialize<S: Serializer>(&self, head: &Head<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        head.put(&mut map)?;
        let event = &self.registry.events[self.index];
        map.serialize_entry("registry", &self.registry.name)?;
        map.serialize_entry("kind", &self.registry.kind_of(event).name)?;
        map.serialize_entry("event", &event.name)?;
        if let Some((message, part)) = self.registry.message_of(self.index) {
            map.serialize_entry("message", &message.name)?;
            match part {
                MessagePart::Begin => map.serialize_entry("message_part", "begin")?,
                MessagePart::End => map.serialize_entry("message_part", "end")?,
                MessagePart::Whole => {}
            }
        }
        let texts = self.texts;
        let params =
            self.params.iter().map(|param| (&*param.schema.name, Shown { value: param.value, texts }));
        map.serialize_entry("params", &Object(params.collect()))?;
        let names = self.names();
        if !names.is_empty() {
            map.serialize_entry("names", &Object(names))?;
        }
        let strings = self.strings();
        if !strings.is_empty() {
            map.serialize_entry("strings", &Object(strings))?;
        }
        map.end()
    }

    /// Returns the names that the event's addresses have at its time, by address.
    fn names(&self) -> Vec<(String, Name<'a>)> {
        let mut names: Vec<(String, Name<'a>)> = Vec::new();
        let Some(labels) = self.texts.labels else { return names };
        for value in self.params.iter().flat_map(|param| elements(param.value)) {
            if let Some(name) = labels.name_of_value(&value, self.texts.ticks) {
                let address = value.to_string();
                if names.iter().all(|(known, _)| *known != address) {
                    names.push((address, Name(name)));
                }
            }
        }
        names
    }

    /// Returns the strings of numbers that have some, by parameter.
    fn strings(&self) -> Vec<(&'a str, Strings<'a>)> {
        let of = |(param, numbers): (&'a Param<'a>, &Option<Numbers>)| {
            let (labels, numbers) = (self.texts.labels?, (*numbers)?);
            let string = |value: Value<'_>| labels.string_of(numbers, value.as_u64()?);
            let strings: Vec<Option<&str>> = elements(param.value).into_iter().map(string).collect();
            let is_array = matches!(param.value, Value::Array(_));
            let has_some = strings.iter().any(Option::is_some);
            has_some.then_some((&*param.schema.name, Strings { is_array, strings }))
        };
        self.params.iter().zip(self.texts.numbers).filter_map(of).collect()
    }
}

/// Returns the elements of an array, or the value itself.
fn elements(value: Value<'_>) -> Vec<Value<'_>> {
    match value {
        Value::Array(array) => array.iter().collect(),
        value => vec![value],
    }
}

/// Members of an object, in their order.
struct Object<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Object<K, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// A value, with the text of a label.
struct Shown<'a> {
    value: Value<'a>,
    texts: Texts<'a>,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Label(number) => match self.texts.labels.and_then(|labels| labels.string(number)) {
                Some(text) => to.serialize_str(text),
                None => to.serialize_u64(number),
            },
            Value::Array(array) => {
                to.collect_seq(array.iter().map(|value| Shown { value, texts: self.texts }))
            }
            value => value.serialize(to),
        }
    }
}

/// The name of an address.
struct Name<'a>(AddressName<'a>);

impl Serialize for Name<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AddressName::Text(text) => to.serialize_str(text),
            AddressName::Number(number) => to.serialize_u64(number),
        }
    }
}

/// The strings of a parameter's numbers: one, or one for each element of an array.
struct Strings<'a> {
    is_array: bool,
    strings: Vec<Option<&'a str>>,
}

impl Serialize for Strings<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (self.is_array, self.strings.first()) {
            (false, Some(string)) => string.serialize(to),
            _ => self.strings.serialize(to),
        }
    }
}
