//! Adds up the amounts of each class.

use std::collections::{BTreeMap, HashMap};

use telemetry_decode::Event;
use telemetry_schema::{Census, CensusRole, CensusStep};

use super::class::class;

/// The most classes of one series. The amounts of further ones are those of `others`.
const MOST_CLASSES: usize = 100_000;

/// The most censuses that are open at once, and the most classes of all of them.
const MOST_OPEN: usize = 1000;
const MOST_OPEN_CLASSES: usize = 4 * MOST_CLASSES;

/// The most series, and the most classes of all of them.
const MOST_SERIES: usize = 1000;
const MOST_KEPT_CLASSES: usize = 4 * MOST_CLASSES;

/// The name of all classes that have none of their own.
pub const OTHERS: &str = "others";

/// A whole census.
#[derive(Debug)]
pub struct Whole {
    /// What is counted.
    pub what: String,
    /// Id of the session.
    pub session: u64,
    /// When it began, in nanoseconds since the session's start.
    pub time_ns: i64,
    /// By class.
    pub amounts: BTreeMap<String, u64>,
}

/// All censuses of one thing in a session.
#[derive(Debug)]
pub struct Series {
    /// What is counted.
    pub what: String,
    /// Id of the session.
    pub session: u64,
    /// Its name.
    pub registry: String,
    /// Of the amounts; may be empty.
    pub unit: String,
    /// The number of censuses.
    pub censuses: u64,
    /// All classes.
    pub total: Amounts,
    /// By class.
    pub classes: HashMap<String, Amounts>,
}

/// The amounts of a class over all censuses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Amounts {
    /// Numbers the classes of a series.
    pub number: u32,
    /// Over all censuses.
    pub sum: u128,
    /// In one census.
    pub most: u64,
    /// The time of that census, since the session's start.
    pub most_at_ns: i64,
    /// The amount in the last census, and the number of that.
    pub last: (u64, u64),
}

/// Session, registry, thread, and what is counted.
type Key = (u64, u64, u32, String);

/// Adds up censuses from events by time.
#[derive(Debug, Default)]
pub struct Counted {
    open: HashMap<Key, Whole>,
    /// Classes of all that are open.
    open_classes: usize,
    /// By the first census of each.
    pub series: Vec<Series>,
    /// Index of each series by session, registry and what is counted.
    numbers: HashMap<(u64, String, String), usize>,
    /// Classes of all series.
    kept_classes: usize,
    unended: u64,
    unbegun: u64,
    beyond: u64,
}

/// What was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Censuses without an end.
    pub unended: u64,
    /// Amounts without a census.
    pub unbegun: u64,
    /// Censuses of series for which there is no room.
    pub beyond: u64,
}

impl Counted {
    /// Takes the next event. Returns the census that it ends, and the number of its series.
    #[inline]
    pub fn take(&mut self, event: &Event<'_>) -> Option<(usize, Whole)> {
        let census = event.schema().census.as_ref()?;
        self.step(event, census)
    }

    fn step(&mut self, event: &Event<'_>, census: &Census) -> Option<(usize, Whole)> {
        let session = event.session().id;
        let key = (session, event.known_registry().fingerprint, event.thread(), census.what.clone());
        match census.step {
            CensusStep::Begin => {
                let (what, time_ns) = (census.what.clone(), event.time_ns());
                let whole = Whole { what, session, time_ns, amounts: BTreeMap::new() };
                if self.open.len() >= MOST_OPEN && !self.open.contains_key(&key) {
                    self.unended += 1;
                } else if let Some(before) = self.open.insert(key, whole) {
                    self.unended += 1;
                    self.open_classes -= before.amounts.len();
                }
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
                let is_full = whole.amounts.len() >= MOST_CLASSES || self.open_classes >= MOST_OPEN_CLASSES;
                if is_full && !whole.amounts.contains_key(&class) {
                    class = OTHERS.to_string();
                }
                let amount = whole.amounts.entry(class).or_insert_with(|| {
                    self.open_classes += 1;
                    0
                });
                *amount = amount.saturating_add(value);
                None
            }
            CensusStep::End => {
                let whole = self.open.remove(&key)?;
                self.open_classes -= whole.amounts.len();
                let Some(number) = self.series(event, &whole) else {
                    self.beyond += 1;
                    return None;
                };
                let series = &mut self.series[number];
                let (before, room) =
                    (series.classes.len(), MOST_KEPT_CLASSES.saturating_sub(self.kept_classes));
                series.add(&whole, before + room);
                self.kept_classes += series.classes.len() - before;
                Some((number, whole))
            }
        }
    }

    /// Returns what was left out, at the end of all events.
    pub fn finish(&mut self) -> LeftOut {
        let unended = self.unended + self.open.drain().count() as u64;
        LeftOut { unended, unbegun: self.unbegun, beyond: self.beyond }
    }

    /// Returns the number of the series of a census; `None` if there is no room for another one.
    fn series(&mut self, event: &Event<'_>, whole: &Whole) -> Option<usize> {
        let registry = &event.registry().name;
        let key = (whole.session, registry.clone(), whole.what.clone());
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        if self.series.len() >= MOST_SERIES {
            return None;
        }
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
        self.numbers.insert(key, self.series.len() - 1);
        Some(self.series.len() - 1)
    }
}

impl Whole {
    /// Returns the sum of the amounts.
    pub fn total(&self) -> u64 {
        self.amounts.values().fold(0, |sum: u64, value| sum.saturating_add(*value))
    }
}

impl Series {
    /// Adds a census, and keeps at most this many classes.
    fn add(&mut self, whole: &Whole, most: usize) {
        self.censuses += 1;
        let (number, at_ns) = (self.censuses, whole.time_ns);
        self.total.add(whole.total(), at_ns, number);
        let mut others = 0_u64;
        for (class, value) in &whole.amounts {
            if self.classes.len() >= most.min(MOST_CLASSES) && !self.classes.contains_key(class) {
                others = others.saturating_add(*value);
                continue;
            }
            self.class(class).add(*value, at_ns, number);
        }
        if others > 0 {
            self.class(OTHERS).add(others, at_ns, number);
        }
    }

    fn class(&mut self, class: &str) -> &mut Amounts {
        let number = self.classes.len() as u32;
        let new = || Amounts { number, ..Amounts::default() };
        self.classes.entry(class.to_string()).or_insert_with(new)
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
