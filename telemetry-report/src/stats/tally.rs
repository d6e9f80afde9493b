//! Counts events while they are read.

use std::collections::HashMap;

use telemetry_decode::{Event, Value};
use telemetry_schema::{Param, Sort};

use crate::figures::distribution::Distribution;
use crate::figures::frequent::Frequent;
use crate::figures::keyed::PerEvent;
use crate::figures::rate::Rate;

/// The maximum length in bytes of strings that are counted by value.
const MAX_STRING_LEN: usize = 256;
/// Stands for all longer strings.
const LONGER_STRINGS: &[u8] = b"(longer than 256 bytes)";

/// A number of events, with the first and last time.
#[derive(Clone, Copy)]
pub struct Count {
    pub count: u64,
    pub bytes: u64,
    pub first_ns: i64,
    pub last_ns: i64,
}

/// The counts.
#[derive(Default)]
pub struct Tally {
    /// The counts of events by index, for every session, thread and registry.
    pub lanes: Vec<(LaneKey, Counts)>,
    pub events: PerEvent<EventTally>,
    /// All events by time, in nanoseconds since 1970.
    pub rate: Rate,
    /// Index of each key in `lanes`.
    by_key: HashMap<LaneKey, usize>,
    /// Index of the lane of the last event.
    current: usize,
}

/// Session, thread, fingerprint of the registry.
type LaneKey = (u64, u32, u64);

/// Counts of an event's times and parameters.
pub struct EventTally {
    pub rate: Rate,
    /// Nanoseconds since the thread's last event of this type.
    pub intervals: Distribution,
    pub params: Vec<ParamTally>,
}

/// Counts of a parameter's values.
pub struct ParamTally {
    /// The distribution of numbers, with those in arrays.
    pub distribution: Option<Distribution>,
    pub values: Values,
}

/// The most frequent values.
pub enum Values {
    /// Floats and arrays are not counted by value.
    None,
    Numbers(Frequent<Bits>),
    Strings(Frequent<Box<[u8]>>),
}

/// The bits of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits(pub u64);

impl From<&Bits> for Bits {
    fn from(bits: &Bits) -> Bits {
        *bits
    }
}

impl Tally {
    /// Counts an event at its time in nanoseconds since 1970.
    #[inline]
    pub fn add(&mut self, event: &Event<'_>, wall_ns: i64) {
        let key = (event.session().id, event.thread(), event.known_registry().fingerprint);
        // Events come in blocks of one lane.
        if self.lanes.get(self.current).is_none_or(|(last, _)| *last != key) {
            self.current = *self.by_key.entry(key).or_insert_with(|| {
                self.lanes.push((key, Counts::default()));
                self.lanes.len() - 1
            });
        }
        let count = self.lanes[self.current].1.of(event.index());
        let interval = event.time_ns().checked_sub(count.last_ns);
        let of_event = self.events.get(event, EventTally::new);
        // Blocks out of order have no intervals.
        if let Some(interval) = interval.filter(|interval| count.count > 0 && *interval >= 0) {
            of_event.intervals.add_signed(interval);
        }
        count.add(event);
        for (param, value) in of_event.params.iter_mut().zip(event.values()) {
            param.add(event, &value);
        }
        of_event.rate.add(wall_ns);
        self.rate.add(wall_ns);
    }
}

/// Number of events in a page of counts.
const PAGE: usize = 16;

/// Counts by index of the event. A registry may have thousands of events, and a stream 100,000
/// threads, of which each has a few of them. So only pages with an event take memory.
#[derive(Default)]
pub struct Counts(Vec<Option<Box<[Count; PAGE]>>>);

impl Counts {
    /// Returns the count of an event.
    #[inline]
    fn of(&mut self, index: usize) -> &mut Count {
        let page = index / PAGE;
        if page >= self.0.len() {
            self.0.resize_with(page + 1, || None);
        }
        let page = self.0[page].get_or_insert_with(|| Box::new([Count::NONE; PAGE]));
        &mut page[index % PAGE]
    }

    /// Returns the counts of all events that occurred, with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Count)> {
        let pages = self.0.iter().enumerate().filter_map(|(page, counts)| Some((page, counts.as_ref()?)));
        let all = pages.flat_map(|(page, counts)| (page * PAGE..).zip(counts.iter()));
        all.filter(|(_, count)| count.count > 0)
    }
}

impl Count {
    pub const NONE: Count = Count { count: 0, bytes: 0, first_ns: i64::MAX, last_ns: i64::MIN };

    fn add(&mut self, event: &Event<'_>) {
        let bytes = event.packed_len().into();
        self.merge(&Count { count: 1, bytes, first_ns: event.time_ns(), last_ns: event.time_ns() });
    }

    pub fn merge(&mut self, other: &Count) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

impl EventTally {
    fn new(event: &Event<'_>) -> EventTally {
        let params = event.schema().params.iter().map(ParamTally::new).collect();
        EventTally { rate: Rate::default(), intervals: Distribution::default(), params }
    }
}

impl ParamTally {
    fn new(param: &Param) -> ParamTally {
        let is_one = param.count == telemetry_schema::Count::One;
        let values = match param.sort {
            Sort::F32 | Sort::F64 => Values::None,
            Sort::String | Sort::Bytes | Sort::Label => Values::Strings(Frequent::default()),
            Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Values::Numbers(Frequent::default()),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Values::Numbers(Frequent::default()),
            Sort::Pointer | Sort::Addr | Sort::Bool | Sort::Named(_) => Values::Numbers(Frequent::default()),
        };
        ParamTally {
            distribution: is_number(param.sort).then(Distribution::default),
            values: if is_one { values } else { Values::None },
        }
    }

    fn add(&mut self, event: &Event<'_>, value: &Value<'_>) {
        if let Value::Array(array) = value {
            return array.iter().for_each(|element| self.add(event, &element));
        }
        if let Some(distribution) = &mut self.distribution {
            match *value {
                Value::Word(n) | Value::Unsigned(n) => distribution.add_unsigned(n),
                Value::Signed(n) => distribution.add_signed(n),
                Value::F32(x) => distribution.add_float(x.into()),
                Value::F64(x) => distribution.add_float(x),
                _ => {}
            }
        }
        match &mut self.values {
            Values::None => {}
            Values::Numbers(values) => {
                if let Some(number) = value.as_i128() {
                    values.add(&Bits(number as u64));
                }
            }
            Values::Strings(values) => match *value {
                Value::Label(number) => match event.label(number) {
                    Some(text) => values.add(text.as_bytes()),
                    None => values.add(format!("label {number}").as_bytes()),
                },
                value => values.add(
                    value.as_bytes().filter(|bytes| bytes.len() <= MAX_STRING_LEN).unwrap_or(LONGER_STRINGS),
                ),
            },
        }
    }
}

/// Returns true if values of this sort have a distribution.
pub fn is_number(sort: Sort) -> bool {
    match sort {
        Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => true,
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::F32 | Sort::F64 => true,
        Sort::Pointer | Sort::Addr | Sort::Bool | Sort::Named(_) => false,
        Sort::String | Sort::Bytes | Sort::Label => false,
    }
}
