//! Events of a type on a thread: numbers of events and of their values over time.

use telemetry_decode::{Event, Value};

use super::axis::Series;
use super::heat::Heat;
use super::threads::OTHERS;
use crate::stats::is_number;

/// The maximum of pairs of a thread and an event type. Further ones count as other threads'.
const MAX_SLOTS: usize = 8000;

/// The maximum of pairs whose values are kept apart from those of other threads.
const MAX_WITH_HEATS: usize = 1000;

/// The maximum of cells in all heat maps, at 16 bytes.
const MAX_CELLS: usize = 3_000_000;

/// Heat maps have this many intervals fewer than the axis, as a power of two.
const HEAT_SHIFT: u32 = 3;

/// All pairs that occurred.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub(crate) list: Vec<Slot>,
    /// By thread and event: the number of the slot plus one; 0 is none.
    by_thread: Vec<Vec<u32>>,
    /// Further merging of the heat maps' intervals.
    heat_shift: u32,
    /// Events until the cells are counted again.
    credit: usize,
}

/// Events of one type on one thread.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) thread: u32,
    pub(crate) event: u32,
    pub(crate) counts: Series<u64>,
    /// By parameter. `None`: no number, or with the values of other threads.
    pub(crate) heats: Vec<Option<Heat>>,
    /// Slot with the values; its own number if it has them.
    heats_in: u32,
}

impl Slots {
    /// Counts an event in an interval.
    #[inline]
    pub(crate) fn add(&mut self, thread: u32, number: u32, at: usize, event: &Event<'_>) {
        let slot = match self.by_thread.get(thread as usize).and_then(|of| of.get(number as usize)) {
            Some(slot) if *slot > 0 => *slot - 1,
            _ => self.make(thread, number, event),
        };
        self.list[slot as usize].counts.add(at, 1);
        let heats_in = self.list[slot as usize].heats_in;
        let heats = &mut self.list[heats_in as usize].heats;
        if heats.is_empty() {
            return;
        }
        let at = at >> (HEAT_SHIFT + self.heat_shift);
        for (heat, value) in heats.iter_mut().zip(event.values()) {
            if let Some(heat) = heat {
                add(heat, at, &value);
            }
        }
        match self.credit {
            0 => self.limit(),
            _ => self.credit -= 1,
        }
    }

    #[cold]
    fn make(&mut self, thread: u32, number: u32, event: &Event<'_>) -> u32 {
        if self.list.len() >= MAX_SLOTS && thread != OTHERS {
            let slot = self.of(OTHERS, number, event);
            self.set(thread, number, slot);
            return slot;
        }
        let has_numbers = event.schema().params.iter().any(|param| is_number(param.sort));
        let slot = self.list.len() as u32;
        self.list.push(Slot {
            thread,
            event: number,
            counts: Series::default(),
            heats: Vec::new(),
            heats_in: slot,
        });
        self.set(thread, number, slot);
        if has_numbers && thread != OTHERS && self.list.len() > MAX_WITH_HEATS {
            self.list[slot as usize].heats_in = self.of(OTHERS, number, event);
        } else if has_numbers {
            let heats = event.schema().params.iter().map(|param| is_number(param.sort).then(Heat::default));
            self.list[slot as usize].heats = heats.collect();
        }
        slot
    }

    /// Returns the slot of a thread and an event.
    fn of(&mut self, thread: u32, number: u32, event: &Event<'_>) -> u32 {
        match self.by_thread.get(thread as usize).and_then(|of| of.get(number as usize)) {
            Some(slot) if *slot > 0 => *slot - 1,
            _ => self.make(thread, number, event),
        }
    }

    fn set(&mut self, thread: u32, number: u32, slot: u32) {
        let (thread, number) = (thread as usize, number as usize);
        if thread >= self.by_thread.len() {
            self.by_thread.resize_with(thread + 1, Vec::new);
        }
        let of_thread = &mut self.by_thread[thread];
        if number >= of_thread.len() {
            of_thread.resize(number + 1, 0);
        }
        of_thread[number] = slot + 1;
    }

    /// Merges each two intervals.
    pub(crate) fn fold(&mut self) {
        for slot in &mut self.list {
            slot.counts.fold();
            slot.heats.iter_mut().flatten().for_each(Heat::fold);
        }
    }

    /// Merges intervals of the heat maps while they take too much memory.
    #[cold]
    fn limit(&mut self) {
        let heats = || self.list.iter().flat_map(|slot| slot.heats.iter().flatten());
        let cells: usize = heats().map(Heat::cells).sum();
        if cells > MAX_CELLS {
            self.heat_shift += 1;
            self.list.iter_mut().flat_map(|slot| slot.heats.iter_mut().flatten()).for_each(Heat::fold);
        }
        self.credit = (MAX_CELLS - cells.min(MAX_CELLS)).max(MAX_CELLS / 8) / 8;
    }

    /// Returns the number of the axis' intervals in one of the heat maps, as a power of two.
    pub(crate) fn heat_shift(&self) -> u32 {
        HEAT_SHIFT + self.heat_shift
    }
}

#[inline]
fn add(heat: &mut Heat, at: usize, value: &Value<'_>) {
    match *value {
        Value::Word(n) | Value::Unsigned(n) => heat.add(at, n as f64),
        Value::Signed(n) => heat.add(at, n as f64),
        Value::F32(x) => heat.add(at, x.into()),
        Value::F64(x) => heat.add(at, x),
        Value::Array(array) => array.iter().for_each(|element| add(heat, at, &element)),
        _ => {}
    }
}
