//! Counts events while they are read.

use std::collections::HashMap;

use telemetry_decode::{Event, Value};
use telemetry_schema::{Param, Sort};

use crate::figures::distribution::Distribution;
use crate::figures::frequent::Frequent;
use crate::figures::rate::Rate;
use crate::input::events::Opened;
use crate::term::ended::Failure;
use crate::text::keyed::PerEvent;

/// The maximum length in bytes of strings that are counted by value.
const MAX_STRING_LEN: usize = 256;
/// Stands for all longer strings.
const LONGER_STRINGS: &[u8] = b"(longer than 256 bytes)";

/// A number of events, with the first and last time.
#[derive(Clone, Copy)]
pub(super) struct Count {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
}

/// The counts.
pub(super) struct Tally {
    /// The counts of events by index, for every session, thread and registry.
    pub(super) lanes: Vec<(LaneKey, Counts)>,
    pub(super) events: PerEvent<EventTally>,
    /// All events by time, in nanoseconds since 1970.
    pub(super) rate: Rate,
}

/// Session, thread, fingerprint of the registry.
type LaneKey = (u64, u32, u64);

/// Counts of an event's times and parameters.
pub(super) struct EventTally {
    pub(super) rate: Rate,
    /// Nanoseconds since the thread's last event of this type.
    pub(super) intervals: Distribution,
    pub(super) params: Vec<ParamTally>,
}

/// Counts of a parameter's values.
pub(super) struct ParamTally {
    /// The distribution of numbers, with those in arrays.
    pub(super) distribution: Option<Distribution>,
    pub(super) values: Values,
}

/// The most frequent values.
pub(super) enum Values {
    /// Floats and arrays are not counted by value.
    None,
    Numbers(Frequent<Bits>),
    Strings(Frequent<Box<[u8]>>),
}

/// The bits of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Bits(pub(super) u64);

impl From<&Bits> for Bits {
    fn from(bits: &Bits) -> Bits {
        *bits
    }
}

impl Tally {
    /// Counts all events.
    pub(super) fn of(opened: &mut Opened) -> Result<Tally, Failure> {
        let mut tally = Tally { lanes: Vec::new(), events: PerEvent::default(), rate: Rate::default() };
        let mut by_key: HashMap<LaneKey, usize> = HashMap::new();
        let mut current = 0;
        opened.each(|event| {
            let key = (event.session().id, event.thread(), event.known_registry().fingerprint);
            let lanes = &mut tally.lanes;
            // Events come in blocks of one lane.
            if lanes.get(current).is_none_or(|(last, _)| *last != key) {
                current = *by_key.entry(key).or_insert_with(|| {
                    lanes.push((key, Counts::default()));
                    lanes.len() - 1
                });
            }
            let Some(index) = event.registry().event_index(event.schema().code) else { return };
            let count = lanes[current].1.of(index);
            let interval = event.time_ns().checked_sub(count.last_ns);
            let of_event = tally.events.get(event, EventTally::new);
            // Blocks out of order have no intervals.
            if let Some(interval) = interval.filter(|interval| count.count > 0 && *interval >= 0) {
                of_event.intervals.add(interval);
            }
            count.add(event);
            for (param, value) in of_event.params.iter_mut().zip(event.values()) {
                param.add(event, &value);
            }
            let ns = event.wall_ns();
            of_event.rate.add(ns);
            tally.rate.add(ns);
        })?;
        Ok(tally)
    }
}

/// Number of events in a page of counts.
const PAGE: usize = 16;

/// Counts by index of the event. A registry may have thousands of events, and a stream 100,000
/// threads, of which each has a few of them. So only pages with an event take memory.
#[derive(Default)]
pub(super) struct Counts(Vec<Option<Box<[Count; PAGE]>>>);

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
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Count)> {
        let pages = self.0.iter().enumerate().filter_map(|(page, counts)| Some((page, counts.as_ref()?)));
        let all = pages.flat_map(|(page, counts)| (page * PAGE..).zip(counts.iter()));
        all.filter(|(_, count)| count.count > 0)
    }
}

impl Count {
    pub(super) const NONE: Count = Count { count: 0, bytes: 0, first_ns: i64::MAX, last_ns: i64::MIN };

    fn add(&mut self, event: &Event<'_>) {
        let bytes = event.packed_len().into();
        self.merge(&Count { count: 1, bytes, first_ns: event.time_ns(), last_ns: event.time_ns() });
    }

    pub(super) fn merge(&mut self, other: &Count) {
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
        let (is_number, values) = match param.sort {
            Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => (true, Values::numbers()),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => (true, Values::numbers()),
            Sort::F32 | Sort::F64 => (true, Values::None),
            Sort::Pointer | Sort::Addr | Sort::Bool | Sort::Named(_) => (false, Values::numbers()),
            Sort::String | Sort::Bytes | Sort::Label => (false, Values::Strings(Frequent::default())),
        };
        ParamTally {
            distribution: is_number.then(Distribution::default),
            values: if is_one { values } else { Values::None },
        }
    }

    fn add(&mut self, event: &Event<'_>, value: &Value<'_>) {
        if let Value::Array(array) = value {
            return array.iter().for_each(|element| self.add(event, &element));
        }
        if let Some(distribution) = &mut self.distribution {
            match *value {
                Value::Word(n) | Value::Unsigned(n) => distribution.add(n),
                Value::Signed(n) => distribution.add(n),
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

impl Values {
    fn numbers() -> Values {
        Values::Numbers(Frequent::default())
    }
}
