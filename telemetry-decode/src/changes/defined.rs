//! Performance counters: what their definitions mean, and their values.

use std::collections::{HashMap, HashSet};

use crate::registry::event::Event;
use crate::registry::filter::Filter;
use crate::registry::known_registry::KnownRegistry;
use crate::values::value::Value;

/// The registry whose events define counters.
const REGISTRY: &str = "mono";
/// Its events about them.
const EVENTS: [&str; 3] = ["CounterDefine", "CounterNumber", "CounterReal"];

/// The type of signed numbers of 32 bits.
pub const INT: u64 = 0;
/// The type of unsigned numbers of 32 bits.
pub const UINT: u64 = 1;
/// The type of signed numbers of 64 bits.
pub const LONG: u64 = 3;
/// The type of unsigned numbers of 64 bits.
pub const ULONG: u64 = 4;
/// The type of times in microseconds.
pub const INTERVAL: u64 = 7;

const BYTES: u64 = 1 << 24;
/// The unit of times. Those of the type `LONG` are tenths of a microsecond.
pub const TIME: u64 = 2 << 24;
const PERCENT: u64 = 4 << 24;

/// The maximum of counters. Values of further ones are left out.
const MAX_COUNTERS: usize = 10_000;

/// The maximum of values that wait for the definition of their counter. Further ones are left out.
const MAX_WAITING: usize = 100_000;

/// The counters of all sessions, from events of the registry `mono`.
#[derive(Default)]
pub struct DefinedCounters {
    /// By session and number.
    known: HashMap<(u64, u64), Known>,
    /// The names of each session.
    names: HashSet<(u64, String)>,
    waiting: usize,
}

#[derive(Default)]
struct Known {
    /// None before its definition: a log may have values first.
    definition: Option<Definition>,
    /// The sum of its changes.
    value: u64,
    /// With the time of each, in nanoseconds since 1970.
    waiting: Vec<(i64, Raw)>,
}

struct Definition {
    name: String,
    value_type: u64,
    unit: u64,
}

/// A value of whatever type.
#[derive(Clone, Copy)]
enum Raw {
    Bits(u64),
    Real(f64),
}

/// Values of a counter.
pub struct CounterValues<'r> {
    /// The number that its session's events name it by.
    pub number: u64,
    /// `SECTION: NAME`; with the number if an earlier counter has that name.
    pub name: &'r str,
    /// `bytes`, `ns`, `%`, or nothing.
    pub unit: &'static str,
    /// With their times, in nanoseconds since 1970.
    pub values: Vec<(i64, Value<'static>)>,
}

impl DefinedCounters {
    /// Returns a filter of those events.
    pub fn filter() -> Filter {
        Filter::default().registries([REGISTRY]).events(EVENTS)
    }

    /// Returns whether a registry may define counters.
    pub fn may_be_in(registries: &[KnownRegistry]) -> bool {
        registries.iter().any(|known| known.registry.name == REGISTRY)
    }

    /// Returns whether events of this type define counters or have their values.
    pub fn has(event: &Event<'_>) -> bool {
        event.registry().name == REGISTRY && EVENTS.contains(&event.name())
    }

    /// Takes an event. Returns the values of a counter that is defined: that of the event, or those
    /// that came before the definition.
    pub fn take(&mut self, event: &Event<'_>) -> Option<CounterValues<'_>> {
        let number = |param: usize| Some(event.value(param)?.as_i128()? as u64);
        let is_definition = event.name() == "CounterDefine";
        let (session, index) = (event.session().id, number(if is_definition { 6 } else { 0 })?);
        let key = (session, index);
        if self.known.len() >= MAX_COUNTERS && !self.known.contains_key(&key) {
            return None;
        }
        let known = self.known.entry(key).or_default();
        if is_definition {
            if known.definition.is_some() {
                return None;
            }
            let text = |param: usize| event.value(param).map_or_else(String::new, |text| text.to_string());
            let section = section(number(0)?).map_or_else(|| text(1), str::to_string);
            let mut name = format!("{section}: {}", text(2));
            if !self.names.insert((session, name.clone())) {
                name += &format!(" #{index}");
            }
            known.definition = Some(Definition { name, value_type: number(3)?, unit: number(4)? });
        } else {
            let raw = match event.value(1)? {
                Value::F64(value) => Raw::Real(value),
                _ => {
                    known.value = known.value.wrapping_add(number(2)?);
                    Raw::Bits(known.value)
                }
            };
            if known.definition.is_none() && self.waiting >= MAX_WAITING {
                return None;
            }
            self.waiting += 1;
            known.waiting.push((event.wall_ns(), raw));
        }
        let definition = known.definition.as_ref()?;
        let values = std::mem::take(&mut known.waiting);
        self.waiting -= values.len();
        let values = values.into_iter().map(|(time, raw)| (time, definition.value(raw))).collect();
        Some(CounterValues { number: index, name: &definition.name, unit: definition.unit(), values })
    }
}

impl Definition {
    fn value(&self, raw: Raw) -> Value<'static> {
        let bits = match raw {
            Raw::Bits(bits) => bits,
            Raw::Real(value) => return Value::F64(value),
        };
        match self.value_type {
            INT => Value::Signed((bits as i32).into()),
            UINT => Value::Unsigned((bits as u32).into()),
            LONG if self.unit == TIME => Value::Signed((bits as i64).saturating_mul(100)),
            INTERVAL => Value::Signed((bits as i64).saturating_mul(1000)),
            LONG => Value::Signed(bits as i64),
            _ => Value::Unsigned(bits),
        }
    }

    fn unit(&self) -> &'static str {
        match (self.value_type, self.unit) {
            (LONG, TIME) | (INTERVAL, _) => "ns",
            (_, BYTES) => "bytes",
            (_, PERCENT) => "%",
            _ => "",
        }
    }
}

/// Returns the name of a section; `None` for one that the program made.
pub fn section(section: u64) -> Option<&'static str> {
    Some(match section {
        0x100 => "Mono JIT",
        0x200 => "Mono GC",
        0x400 => "Mono Metadata",
        0x800 => "Mono Generics",
        0x1000 => "Mono Security",
        0x2000 => "Mono Runtime",
        0x4000 => "Mono System",
        0x8000 => return None,
        0x1_0000 => "Mono Profiler",
        _ => "<unknown>",
    })
}
