//! Counts events while they are read.

use std::collections::HashMap;

use telemetry_decode::rows::Row;
use telemetry_decode::{Event, EventBatch, Value};
use telemetry_schema::{Param, Registry, Sort};

use crate::figures::distribution::{Distribution, SMALL};
use crate::figures::frequent::Frequent;
use crate::figures::frequent_numbers::{FrequentNumbers, most_frequent};
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
    /// Index of each key in `lanes`.
    by_key: HashMap<LaneKey, usize>,
    /// Index of the lane of the last event.
    current: usize,
}

/// Session, thread, fingerprint of the registry.
type LaneKey = (u64, u32, u64);

/// Counts of an event's times and parameters.
#[derive(Default)]
pub struct EventTally {
    /// By time, in nanoseconds since 1970.
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
    form: Form,
}

/// How the values of a parameter are taken, which is decided once.
#[derive(Clone, Copy)]
enum Form {
    /// By their bits: whole numbers and addresses.
    Unsigned,
    Signed,
    Other,
}

/// The most frequent values.
pub enum Values {
    /// Floats and arrays are not counted by value.
    None,
    /// The bits of numbers, without those that the distribution counts exactly.
    Numbers(FrequentNumbers),
    Strings(Frequent<Box<[u8]>>),
}

impl Tally {
    /// Counts an event.
    #[inline]
    pub fn add(&mut self, event: &Event<'_>) {
        self.add_batch(&EventBatch::of(*event));
    }

    /// Counts some events.
    #[inline]
    pub fn add_batch(&mut self, batch: &EventBatch<'_>) {
        let (session, known) = (batch.session(), batch.known_registry());
        self.set_lane((session.id, batch.thread(), known.fingerprint));
        let counts = &mut self.lanes[self.current].1;
        let of_registry = self.events.of_registry(known);
        let start = session.clock.start_wall();
        // Events that inherit their times have the same.
        let mut ticks = session.clock.start_ticks();
        let mut times = (0, 0_i64.saturating_add_unsigned(start));
        let mut rows = batch.rows();
        let mut next = rows.next();
        while let Some(first) = next {
            // The events that follow are often of the same type.
            let index = first.index as usize;
            let of_event = of_registry[index].get_or_insert_with(|| EventTally::new(&known.registry, index));
            let of_lane = counts.of(index);
            let mut count = *of_lane;
            while let Some(row) = next.filter(|row| row.index == first.index) {
                if row.ticks != ticks {
                    let time_ns = session.clock.ns(row.ticks);
                    (ticks, times) = (row.ticks, (time_ns, time_ns.saturating_add_unsigned(start)));
                }
                of_event.add(batch, &row, times, &mut count);
                next = rows.next();
            }
            *of_lane = count;
        }
    }

    /// Makes a lane the current one.
    #[inline]
    fn set_lane(&mut self, key: LaneKey) {
        // Events come in blocks of one lane.
        if self.lanes.get(self.current).is_none_or(|(last, _)| *last != key) {
            self.current = *self.by_key.entry(key).or_insert_with(|| {
                self.lanes.push((key, Counts::default()));
                self.lanes.len() - 1
            });
        }
    }

    /// Adds the counts of a later piece of the stream. The result is the same as if its events had
    /// been counted here, except that frequent values among many are counted less exactly.
    pub fn merge(&mut self, later: Tally) {
        for (key, counts) in later.lanes {
            self.set_lane(key);
            let known = &mut self.lanes[self.current].1;
            let of_registry = self.events.of_fingerprint(key.2);
            for (index, count) in counts.iter() {
                let before = known.of(index);
                let of_event = of_registry.get_mut(index).and_then(Option::as_mut);
                // Otherwise the piece has the first event of this type.
                if let (Some(of_event), Some(interval)) = (of_event, before.interval(count.first_ns)) {
                    of_event.intervals.add_signed(interval);
                }
                before.merge(count);
            }
        }
        self.events.merge(later.events, |known, later| known.merge(later));
    }

    /// Returns the number of all events by time, in nanoseconds since 1970.
    pub fn rate(&self) -> Rate {
        let mut all = Rate::default();
        self.events.iter().for_each(|(_, _, event)| all.merge(&event.rate));
        all
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
    #[inline(always)]
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

    /// Returns the time from the last event to the next one. Blocks out of order have none.
    #[inline(always)]
    fn interval(&self, next_ns: i64) -> Option<i64> {
        let interval = next_ns.checked_sub(self.last_ns)?;
        (self.count > 0 && interval >= 0).then_some(interval)
    }

    #[inline(always)]
    fn add(&mut self, row: &Row<'_>, time_ns: i64) {
        let bytes = row.packed_len.into();
        self.merge(&Count { count: 1, bytes, first_ns: time_ns, last_ns: time_ns });
    }

    #[inline]
    pub fn merge(&mut self, other: &Count) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

impl EventTally {
    #[cold]
    fn new(registry: &Registry, index: usize) -> EventTally {
        let params = registry.events[index].params.iter().map(ParamTally::new).collect();
        EventTally { params, ..EventTally::default() }
    }

    fn merge(&mut self, later: EventTally) {
        self.rate.merge(&later.rate);
        self.intervals.merge(&later.intervals);
        self.params.iter_mut().zip(later.params).for_each(|(known, later)| known.merge(later));
    }

    /// Counts an event at its time in nanoseconds since the session's start, and since 1970.
    /// `count` is that of its thread.
    #[inline(always)]
    fn add<'a>(
        &mut self,
        batch: &EventBatch<'a>,
        row: &Row<'a>,
        (time_ns, wall_ns): (i64, i64),
        count: &mut Count,
    ) {
        if let Some(interval) = count.interval(time_ns) {
            self.intervals.add_signed(interval);
        }
        count.add(row, time_ns);
        for (index, param) in self.params.iter_mut().enumerate() {
            param.add(batch, row, index);
        }
        self.rate.add(wall_ns);
    }
}

impl ParamTally {
    fn new(param: &Param) -> ParamTally {
        let is_one = param.count == telemetry_schema::Count::One;
        let numbers = FrequentNumbers::default();
        let values = match param.sort {
            Sort::F32 | Sort::F64 => Values::None,
            Sort::String | Sort::Bytes | Sort::Label => Values::Strings(Frequent::default()),
            Sort::Pointer | Sort::Addr | Sort::Word | Sort::Bool | Sort::Named(_) => Values::Numbers(numbers),
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Values::Numbers(numbers),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Values::Numbers(numbers),
        };
        let form = match param.sort {
            _ if !is_one => Form::Other,
            Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Form::Unsigned,
            Sort::Pointer | Sort::Addr | Sort::Named(_) => Form::Unsigned,
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Form::Signed,
            Sort::F32 | Sort::F64 | Sort::Bool | Sort::String | Sort::Bytes | Sort::Label => Form::Other,
        };
        ParamTally {
            distribution: is_number(param.sort).then(Distribution::default),
            values: if is_one { values } else { Values::None },
            form,
        }
    }

    /// Returns the bits of the most frequent numbers with their counts, and the number of all
    /// values.
    pub fn top_numbers(&self, values: &FrequentNumbers, most: usize) -> (Vec<(u64, u64)>, u64) {
        let mut top = values.top(most);
        let small = self.distribution.iter().flat_map(Distribution::small);
        let all = values.total() + small.clone().map(|(_, count)| count).sum::<u64>();
        top.extend(small);
        most_frequent(&mut top, most);
        (top, all)
    }

    fn merge(&mut self, later: ParamTally) {
        if let (Some(known), Some(later)) = (&mut self.distribution, &later.distribution) {
            known.merge(later);
        }
        match (&mut self.values, later.values) {
            (Values::Numbers(known), Values::Numbers(later)) => known.merge(&later),
            (Values::Strings(known), Values::Strings(later)) => known.merge(later),
            _ => {}
        }
    }

    /// Counts the value of a parameter by its index.
    #[inline(always)]
    fn add<'a>(&mut self, batch: &EventBatch<'a>, row: &Row<'a>, index: usize) {
        let bits = match self.form {
            Form::Other => return self.add_other(&batch.event(row), index),
            Form::Unsigned | Form::Signed => row.bits(index),
        };
        if let Some(distribution) = &mut self.distribution {
            match self.form {
                Form::Signed => distribution.add_signed(bits as i64),
                Form::Unsigned | Form::Other => distribution.add_unsigned(bits),
            }
            if bits < SMALL.into() {
                return;
            }
        }
        if let Values::Numbers(values) = &mut self.values {
            values.add(bits);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_other(&mut self, event: &Event<'_>, index: usize) {
        if let Some(value) = event.value(index) {
            self.add_value(event, &value);
        }
    }

    fn add_value(&mut self, event: &Event<'_>, value: &Value<'_>) {
        if let Value::Array(array) = value {
            return array.iter().for_each(|element| self.add_value(event, &element));
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
                    values.add(number as u64);
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
