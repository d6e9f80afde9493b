//! Counters whose events carry changes: their values, in `stats`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;
use telemetry_decode::counters::DefinedCounters;
use telemetry_decode::{Event, Events, Filter, KnownRegistry, Value};

use crate::input::inputs::cannot_read;
use crate::term::ended::Failure;
use crate::text::table::Table;
use crate::text::{escaped_text, grouped, number_text};

/// The values of all such counters.
#[derive(Default)]
pub(crate) struct Counters {
    defined: DefinedCounters,
    /// By session and name.
    values: BTreeMap<(u64, String), Values>,
}

struct Values {
    unit: &'static str,
    count: u64,
    first: Value<'static>,
    last: Value<'static>,
    min: Value<'static>,
    max: Value<'static>,
}

/// A counter, for JSON and a row.
#[derive(Serialize)]
pub(crate) struct CounterStats {
    session: String,
    counter: String,
    unit: &'static str,
    /// Number of values.
    count: u64,
    first: Json,
    last: Json,
    min: Json,
    max: Json,
}

impl Counters {
    /// Returns the counters of an input. `open` opens its events; it is called only if a registry
    /// may define counters.
    pub(crate) fn of(
        registries: &[KnownRegistry],
        open: impl FnOnce(Filter) -> Result<Events<'static>, Failure>,
    ) -> Result<Counters, Failure> {
        let mut counters = Counters::default();
        if DefinedCounters::may_be_in(registries) {
            let mut events = open(DefinedCounters::filter())?;
            while let Some(event) = events.next().map_err(cannot_read)? {
                counters.take(&event);
            }
        }
        Ok(counters)
    }

    /// Takes an event. Those of each lane must come in their order.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if !DefinedCounters::has(event) {
            return;
        }
        let Some(of) = self.defined.take(event) else { return };
        for (_, value) in of.values {
            let key = (event.session().id, of.name.to_string());
            let new = Values { unit: of.unit, count: 0, first: value, last: value, min: value, max: value };
            self.values.entry(key).or_insert(new).add(value);
        }
    }

    /// Returns the counters in the order of sessions and names.
    pub(crate) fn stats(&self) -> Vec<CounterStats> {
        let json = |value: &Value<'_>| serde_json::to_value(value).unwrap_or_default();
        let stats = |((session, name), values): (&(u64, String), &Values)| CounterStats {
            session: format!("{session:016x}"),
            counter: name.clone(),
            unit: values.unit,
            count: values.count,
            first: json(&values.first),
            last: json(&values.last),
            min: json(&values.min),
            max: json(&values.max),
        };
        self.values.iter().map(stats).collect()
    }
}

impl Values {
    fn add(&mut self, value: Value<'static>) {
        let number = |value: &Value<'_>| value.as_f64().unwrap_or(f64::NAN);
        self.count += 1;
        self.last = value;
        // A value that is no number is neither the least nor the greatest one, unless all are.
        if number(&value) < number(&self.min) || number(&self.min).is_nan() {
            self.min = value;
        }
        if number(&value) > number(&self.max) || number(&self.max).is_nan() {
            self.max = value;
        }
    }
}

/// Appends a table of counters, if there are some.
pub(crate) fn append(out: &mut Vec<u8>, counters: &[CounterStats]) {
    let mut table = Table::new(2, &["counter", "unit", "values", "first", "last", "min", "max"]);
    for counter in counters {
        let numbers = [&counter.first, &counter.last, &counter.min, &counter.max].map(number_text);
        let words = [escaped_text(&counter.counter), counter.unit.to_string(), grouped(counter.count)];
        table.row(words.into_iter().chain(numbers));
    }
    table.append_if_any(out);
}
