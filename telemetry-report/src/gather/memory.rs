//! The memory that events with a `replay` role allocate and free.

use hashbrown::HashMap;
use telemetry_decode::replay::{Live, Op, Origin, Step, Totals};
use telemetry_decode::{Event, Value};

use super::axis::Series;

/// The maximum of pieces of memory that are live at once. With more, the record of memory ends.
const MAX_LIVE: u64 = 1_800_000;

/// The maximum of groups by label. Further ones are shown as one.
const MAX_GROUPS: usize = 100;

/// The memory of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    live: Live,
    /// By slot of the live memory.
    pieces: Vec<Piece>,
    number: u64,
    /// The most live bytes of each interval.
    pub(crate) peaks: Vec<u64>,
    pub(crate) allocated: Series<u64>,
    pub(crate) freed: Series<u64>,
    pub(crate) all: Group,
    /// By the power of two of the size.
    pub(crate) classes: Vec<Group>,
    pub(crate) groups: Vec<(String, Group)>,
    by_key: HashMap<(u32, u64, u64), u8>,
    /// When the record ended, because too much was live.
    pub(crate) ended: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    size: u64,
    class: u8,
    group: u8,
}

/// Memory of one size or label.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    /// Changes of what is live.
    pub(crate) bytes: Series<i64>,
    pub(crate) blocks: Series<i64>,
}

impl Memory {
    /// Takes an event in an interval.
    #[inline]
    pub(crate) fn take(&mut self, number: u32, moment: u64, at: usize, event: &Event<'_>) {
        if event.schema().replay.is_some() && self.ended.is_none() {
            self.step(number, moment, at, event);
        }
    }

    fn step(&mut self, number: u32, moment: u64, at: usize, event: &Event<'_>) {
        let Some(step) = Step::of(event) else { return };
        self.number += 1;
        // What is live now was live since the last change, up to this interval.
        self.peak(at);
        let op = self.live.step(step, &Origin::of(self.number, event));
        match op {
            Some(Op::Alloc { slot, size, .. }) => {
                let group = self.group(number, event);
                self.put(slot, size, group, at);
            }
            Some(Op::Free { slot }) => _ = self.take_away(slot, at),
            Some(Op::Realloc { slot, size }) => {
                let group = self.take_away(slot, at);
                self.put(slot, size, group, at);
            }
            // There are no other operations, and one without memory changes nothing.
            _ => return,
        }
        self.peak(at);
        if self.live.totals().live_blocks > MAX_LIVE {
            self.ended = Some(moment);
            (self.live, self.pieces) = (Live::new(), Vec::new());
        }
    }

    fn put(&mut self, slot: u32, size: u64, group: u8, at: usize) {
        let class = (u64::BITS - size.leading_zeros()) as u8;
        if usize::from(class) >= self.classes.len() {
            self.classes.resize_with(usize::from(class) + 1, Group::default);
        }
        if slot as usize >= self.pieces.len() {
            self.pieces.resize(slot as usize + 1, Piece::default());
        }
        self.pieces[slot as usize] = Piece { size, class, group };
        self.allocated.add(at, size);
        for group in
            [&mut self.all, &mut self.classes[usize::from(class)], &mut self.groups[usize::from(group)].1]
        {
            group.allocations += 1;
            group.allocated_bytes = group.allocated_bytes.saturating_add(size);
            group.bytes.add(at, size as i64);
            group.blocks.add(at, 1);
        }
    }

    /// Removes a piece, and returns its group.
    fn take_away(&mut self, slot: u32, at: usize) -> u8 {
        let Some(&Piece { size, class, group }) = self.pieces.get(slot as usize) else { return 0 };
        self.freed.add(at, size);
        for group in
            [&mut self.all, &mut self.classes[usize::from(class)], &mut self.groups[usize::from(group)].1]
        {
            group.bytes.add(at, -(size as i64));
            group.blocks.add(at, -1);
        }
        group
    }

    /// Raises the peak of an interval, and of those without a change before it, to what is live.
    fn peak(&mut self, at: usize) {
        let Totals { live_bytes, .. } = self.live.totals();
        if at >= self.peaks.len() {
            self.peaks.resize(at + 1, live_bytes);
        }
        self.peaks[at] = self.peaks[at].max(live_bytes);
    }

    /// Returns the group of an event: its type, and its first label or enum.
    fn group(&mut self, number: u32, event: &Event<'_>) -> u8 {
        let named = event.values().find(|value| matches!(value, Value::Label(_) | Value::Named(_)));
        let bits = named.and_then(|value| value.as_i128()).map_or(u64::MAX, |bits| bits as u64);
        let key = (number, bits, event.session().id);
        if let Some(group) = self.by_key.get(&key) {
            return *group;
        }
        let name = if self.groups.len() >= MAX_GROUPS {
            "all others".to_string()
        } else {
            let text = named.map(|value| match value {
                Value::Label(label) => event.label(label).map_or_else(|| label.to_string(), str::to_string),
                value => value.to_string(),
            });
            text.map_or_else(|| event.name().to_string(), |text| format!("{} {text}", event.name()))
        };
        let known = self.groups.iter().position(|(known, _)| *known == name);
        let group = known.unwrap_or_else(|| {
            self.groups.push((name, Group::default()));
            self.groups.len() - 1
        }) as u8;
        if self.groups.len() <= MAX_GROUPS {
            self.by_key.insert(key, group);
        }
        group
    }

    /// Merges each two intervals.
    pub(crate) fn fold(&mut self) {
        self.peaks = self.peaks.chunks(2).map(|two| two.iter().copied().max().unwrap_or(0)).collect();
        self.allocated.fold();
        self.freed.fold();
        let labeled = self.groups.iter_mut().map(|(_, group)| group);
        for group in [&mut self.all].into_iter().chain(&mut self.classes).chain(labeled) {
            group.bytes.fold();
            group.blocks.fold();
        }
    }

    /// Returns the counts of operations, or nothing if there was none.
    pub(crate) fn totals(&self) -> Option<Totals> {
        (self.number > 0).then(|| self.live.totals())
    }
}

impl Group {
    /// Returns what is live at the end of each interval.
    pub(crate) fn live(changes: &Series<i64>, intervals: usize) -> Vec<i64> {
        let mut live = 0;
        let change = |at: usize| changes.values.get(at.checked_sub(changes.first)?).copied();
        let each = (0..intervals).map(|at| {
            live += change(at).unwrap_or(0);
            live
        });
        each.collect()
    }
}
