//! Parameters with the mark `counter`: readings of something that changes over time. Mono's
//! performance counters have events of their own.

use std::rc::Rc;

use hashbrown::HashMap;
use telemetry_decode::counters::DefinedCounters;
use telemetry_decode::{Event, Value};

/// A counter of some type of event.
#[derive(Debug)]
pub(crate) struct Counter {
    /// The index of the parameter.
    param: usize,
    /// Versions of a registry share their counters, and so their numbers.
    pub(crate) number: u64,
    /// `EVENT.PARAMETER`, or `SECTION: NAME` of Mono's, which no other counter has.
    pub(crate) name: String,
    pub(crate) unit: String,
}

/// A value of a counter, which is finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reading {
    Whole(i64),
    F32(f32),
    F64(f64),
}

/// All counters so far, by name.
#[derive(Default)]
pub(crate) struct Counters {
    by_name: HashMap<String, Known>,
    of_mono: DefinedCounters,
}

struct Known {
    number: u64,
    registry: String,
}

impl Counters {
    /// Returns the counters of a type of event.
    pub(crate) fn of(&mut self, event: &Event<'_>) -> Rc<[Counter]> {
        let params = event.schema().params.iter().enumerate();
        let counters = params.filter(|(_, param)| param.is_counter).map(|(index, param)| {
            let (name, number) = self.named(&event.registry().name, event.name(), &param.name);
            Counter { param: index, number, name, unit: param.unit.clone() }
        });
        counters.collect()
    }

    /// Returns whether [`Counters::defined`] takes events of this type.
    pub(crate) fn has_defined(event: &Event<'_>) -> bool {
        DefinedCounters::has(event)
    }

    /// Takes an event about a counter that an event defines. Returns the counter, and the values
    /// that it is known to have since the last call, with their times.
    pub(crate) fn defined(&mut self, event: &Event<'_>) -> Option<(Counter, Vec<(i64, Reading)>)> {
        let read = self.of_mono.take(event)?;
        let readings = read.values.iter().filter_map(|(time, value)| Some((*time, Reading::of(value)?)));
        let readings: Vec<_> = readings.collect();
        let new = Known { number: self.by_name.len() as u64, registry: event.registry().name.clone() };
        let number = self.by_name.entry_ref(read.name).or_insert(new).number;
        // It is no parameter.
        let counter =
            Counter { param: usize::MAX, number, name: read.name.to_string(), unit: read.unit.to_string() };
        Some((counter, readings))
    }

    /// Returns the name and the number of a counter. If an event of another registry has the short
    /// name, the name begins with the registry.
    fn named(&mut self, registry: &str, event: &str, param: &str) -> (String, u64) {
        let short = format!("{event}.{param}");
        let is_taken = self.by_name.get(&short).is_some_and(|known| known.registry != registry);
        let name = if is_taken { format!("{registry}:{short}") } else { short };
        let new = self.by_name.len() as u64;
        let known = || Known { number: new, registry: registry.to_string() };
        let number = self.by_name.entry_ref(&name).or_insert_with(known).number;
        (name, number)
    }
}

impl Counter {
    /// Returns its value in an event.
    #[inline]
    pub(crate) fn reading(&self, event: &Event<'_>) -> Option<Reading> {
        Reading::of(&event.value(self.param)?)
    }
}

impl Reading {
    /// Returns a value. Readers take no whole number above the largest signed one, so those are
    /// floats. Floats that are not finite stand on no axis.
    #[inline]
    fn of(value: &Value<'_>) -> Option<Reading> {
        Some(match *value {
            Value::Word(number) | Value::Unsigned(number) => {
                i64::try_from(number).map_or(Reading::F64(number as f64), Reading::Whole)
            }
            Value::Signed(number) => Reading::Whole(number),
            Value::F32(x) if x.is_finite() => Reading::F32(x),
            Value::F64(x) if x.is_finite() => Reading::F64(x),
            _ => return None,
        })
    }
}
