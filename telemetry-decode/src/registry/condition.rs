//! Conditions on the values of events, as a part of a filter.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use telemetry_schema::Registry;

use crate::registry::namings::Namings;
use crate::registry::param_value::value;
use crate::sessions::session::Session;
use crate::values::raw::Raw;
use crate::values::value::Value;

/// A condition on the values of events.
pub trait Condition: fmt::Debug + Send + Sync {
    /// Returns the test for the events of a registry.
    fn test(&self, registry: &Registry, namings: &Namings) -> Arc<dyn Test>;

    /// Checks that each name in the condition is known, and that each comparison fits an event.
    ///
    /// # Errors
    /// If not, for all registries of a stream.
    fn check(&self, registries: &[&Registry]) -> Result<(), Misfit>;
}

/// Why a condition fits none of the registries of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// What the stream does not have, in a few words: ``parameter `siez` ``.
    pub what: String,
    /// The most similar name that the stream has.
    pub nearest: Option<String>,
    /// The whole message, with the place in the condition.
    pub text: String,
    /// It would tell values that are hidden.
    pub is_hidden: bool,
}

/// A condition on the events of one registry.
pub trait Test: fmt::Debug + Send + Sync {
    /// Returns what the condition says about the thread and the session of a lane, for the other
    /// methods.
    fn lane(&self, session: &Session, thread: u32) -> u64;

    /// Returns true if an event of this type in some lane may match.
    fn may_match(&self, event: usize) -> bool;

    /// Returns true if an event of this type in this lane, at one of these times, may match. Times
    /// are in nanoseconds since the session's start.
    fn may_match_in(&self, event: usize, lane: u64, times: &RangeInclusive<i64>) -> bool;

    /// Returns true if an event matches.
    fn matches(&self, candidate: &Candidate<'_>, lane: u64) -> bool;
}

/// The condition of a filter. Two are equal only if one is a clone of the other.
#[derive(Debug, Clone)]
pub struct SharedCondition(pub(crate) Arc<dyn Condition>);

impl PartialEq for SharedCondition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedCondition {}

/// An event that may match, without what all events of its part share.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    session: &'a Session,
    registry: (&'a Registry, &'a Namings),
    index: u32,
    ticks: u64,
    payload: &'a [u8],
    raw: &'a [Raw],
}

impl<'a> Candidate<'a> {
    /// Makes one without parameters.
    #[inline(always)]
    pub(crate) fn new(
        session: &'a Session,
        registry: (&'a Registry, &'a Namings),
        index: u32,
        ticks: u64,
    ) -> Candidate<'a> {
        Candidate { session, registry, index, ticks, payload: &[], raw: &[] }
    }

    /// Sets the parameters, and the payload with their bytes.
    #[inline(always)]
    pub(crate) fn with(self, payload: &'a [u8], raw: &'a [Raw]) -> Candidate<'a> {
        Candidate { payload, raw, ..self }
    }

    /// Returns the index of the event in its registry.
    #[inline]
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// Returns the nanoseconds since the session's start.
    #[inline]
    pub fn time_ns(&self) -> i64 {
        self.session.clock.ns(self.ticks)
    }

    /// Returns the bits of a parameter that is a single number: a whole number itself, two's
    /// complement if it is negative.
    #[inline]
    pub fn bits(&self, param: usize) -> u64 {
        self.raw.get(param).map_or(0, |raw| raw.bits)
    }

    /// Returns the bytes of a parameter that is a string or a byte string.
    #[inline]
    pub fn run(&self, param: usize) -> &'a [u8] {
        self.raw.get(param).map_or(&[], |raw| raw.run(self.payload))
    }

    /// Returns the value of a parameter.
    pub fn value(&self, param: usize) -> Option<Value<'a>> {
        let (registry, _) = self.registry;
        let declared = registry.events.get(self.index())?.params.get(param)?;
        Some(value(registry, self.payload, declared, self.raw.get(param)?))
    }

    /// Returns the string for a parameter with numbers that stand for strings.
    pub fn string(&self, param: usize) -> Option<&'a str> {
        let labels = &self.session.labels;
        match self.value(param)? {
            Value::Label(number) => labels.string(number),
            Value::Word(number) | Value::Unsigned(number) => {
                let (_, namings) = self.registry;
                labels.string_of((*namings.numbers_of_event(self.index()).get(param)?)?, number)
            }
            _ => None,
        }
    }
}
