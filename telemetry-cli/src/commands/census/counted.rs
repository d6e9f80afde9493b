//! Adds up the amounts of each class.

use std::collections::{BTreeMap, HashMap};

use telemetry_decode::{AddressName, Event, Value};
use telemetry_schema::{CensusRole, CensusStep};

use crate::text::scalar;

/// The most classes of one series. The amounts of further ones are those of `others`.
const MOST_CLASSES: usize = 100_000;

/// The most characters of a class that are kept.
const MOST_CHARACTERS: usize = 1024;

/// The name of all classes that have none of their own.
pub(super) const OTHERS: &str = "others";

/// A whole census.
pub(super) struct Whole {
    pub(super) what: String,
    pub(super) session: u64,
    /// When it began, in nanoseconds since the session's start.
    pub(super) time_ns: i64,
    pub(super) amounts: BTreeMap<String, u64>,
}

/// All censuses of one thing in a session.
pub(super) struct Series {
    pub(super) what: String,
    pub(super) session: u64,
    pub(super) registry: String,
    pub(super) unit: String,
    pub(super) censuses: u64,
    pub(super) total: Amounts,
    pub(super) classes: HashMap<String, Amounts>,
}

/// The amounts of a class over all censuses.
#[derive(Clone, Copy, Default)]
pub(super) struct Amounts {
    pub(super) sum: u128,
    pub(super) most: u64,
    pub(super) most_at_ns: i64,
    /// The amount in the last census, and the number of that.
    pub(super) last: (u64, u64),
}

/// Session, registry, thread, and what is counted.
type Key = (u64, u64, u32, String);

#[derive(Default)]
pub(super) struct Counted {
    open: HashMap<Key, Whole>,
    pub(super) series: Vec<Series>,
    unended: u64,
    unbegun: u64,
}

impl Counted {
    /// Takes the next event. Returns the census that it ends.
    pub(super) fn take(&mut self, event: &Event<'_>) -> Option<Whole> {
        let census = event.schema().census.as_ref()?;
        let session = event.session().id;
        let key = (session, event.known_registry().fingerprint, event.thread(), census.what.clone());
        match census.step {
            CensusStep::Begin => {
                let (what, time_ns) = (census.what.clone(), event.time_ns());
                let whole = Whole { what, session, time_ns, amounts: BTreeMap::new() };
                self.unended += u64::from(self.open.insert(key, whole).is_some());
                None
            }
            CensusStep::Row => {
                let param = census.param(CensusRole::Class)?;
                let value = event.value(census.param(CensusRole::Value)?)?.as_u64()?;
                let Some(whole) = self.open.get_mut(&key) else {
                    self.unbegun += 1;
                    return None;
                };
                let mut class = class(event, param)?;
                if whole.amounts.len() >= MOST_CLASSES && !whole.amounts.contains_key(&class) {
                    class = OTHERS.to_string();
                }
                let amount = whole.amounts.entry(class).or_default();
                *amount = amount.saturating_add(value);
                None
            }
            CensusStep::End => {
                let whole = self.open.remove(&key);
                if let Some(whole) = &whole {
                    self.series(event, whole).add(whole);
                }
                whole
            }
        }
    }

    /// Returns the number of censuses without an end, and of amounts without a census.
    pub(super) fn finish(&mut self) -> (u64, u64) {
        (self.unended + self.open.drain().count() as u64, self.unbegun)
    }

    fn series(&mut self, event: &Event<'_>, whole: &Whole) -> &mut Series {
        let registry = &event.registry().name;
        let is_it = |series: &Series| {
            (series.session, &series.what, &series.registry) == (whole.session, &whole.what, registry)
        };
        let place = self.series.iter().position(is_it).unwrap_or_else(|| {
            let rows = event.registry().events.iter().filter_map(|event| {
                let census = event.census.as_ref().filter(|census| census.what == whole.what)?;
                Some(event.params[census.param(CensusRole::Value)?].unit.clone())
            });
            self.series.push(Series {
                what: whole.what.clone(),
                session: whole.session,
                registry: registry.clone(),
                unit: { rows }.next().unwrap_or_default(),
                censuses: 0,
                total: Amounts::default(),
                classes: HashMap::new(),
            });
            self.series.len() - 1
        });
        &mut self.series[place]
    }
}

impl Series {
    fn add(&mut self, whole: &Whole) {
        self.censuses += 1;
        let (number, at_ns) = (self.censuses, whole.time_ns);
        let total = whole.amounts.values().fold(0, |sum: u64, value| sum.saturating_add(*value));
        self.total.add(total, at_ns, number);
        let mut others = 0_u64;
        for (class, value) in &whole.amounts {
            if self.classes.len() >= MOST_CLASSES && !self.classes.contains_key(class) {
                others = others.saturating_add(*value);
                continue;
            }
            self.classes.entry(class.clone()).or_default().add(*value, at_ns, number);
        }
        if others > 0 {
            self.classes.entry(OTHERS.to_string()).or_default().add(others, at_ns, number);
        }
    }
}

impl Amounts {
    fn add(&mut self, value: u64, at_ns: i64, number: u64) {
        self.sum += u128::from(value);
        if value > self.most {
            (self.most, self.most_at_ns) = (value, at_ns);
        }
        let before = if self.last.1 == number { self.last.0 } else { 0 };
        self.last = (before.saturating_add(value), number);
    }
}

/// Returns the class that a parameter has, as text.
fn class(event: &Event<'_>, param: usize) -> Option<String> {
    let numbers = event.numbers(param);
    let text = |value: &Value<'_>| -> Option<String> {
        let known = numbers.and_then(|numbers| event.string_of(numbers, value));
        Some(match *value {
            _ if known.is_some() => known?.to_string(),
            Value::String(text) => text.to_string(),
            Value::Label(label) => event.label(label).map_or_else(|| label.to_string(), str::to_string),
            Value::Pointer(place) | Value::Addr(place) => {
                let name = event.name_of_value(value).and_then(AddressName::text);
                name.map_or_else(|| format!("{place:#x}"), str::to_string)
            }
            Value::Named(_) => {
                let sort = event.schema().params[param].sort;
                scalar::shown(event.registry(), sort, value.as_i128()? as u64, None).1
            }
            _ => value.as_u64()?.to_string(),
        })
    };
    let mut class = match event.value(param)? {
        Value::Array(array) => {
            let parts: Option<Vec<String>> = array.iter().map(|value| text(&value)).collect();
            parts?.join(" < ")
        }
        value => text(&value)?,
    };
    if let Some((end, _)) = class.char_indices().nth(MOST_CHARACTERS) {
        class.truncate(end);
    }
    Some(class)
}
