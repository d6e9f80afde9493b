//! What addresses are called, wherever the log says it.

use std::collections::HashMap;

use telemetry_decode::Labels;

use super::decode::Item;
use super::what::What;

/// Bytes for the names of a log. What is beyond them is not kept: addresses stay numbers.
const ROOM: usize = 32 << 20;

/// Collects names, until they become a session's labels.
pub(super) struct Names {
    labels: Labels,
    /// Number of a text, and the names that are known.
    numbers: HashMap<Box<[u8]>, u64>,
    /// Whether an address has a name: only the first is from the beginning on.
    first: HashMap<u64, u64>,
    /// Of each vtable: the class that it belongs to.
    vtables: Vec<(u64, u64)>,
    room: usize,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            labels: Labels::default(),
            numbers: HashMap::new(),
            first: HashMap::new(),
            vtables: Vec::new(),
            room: ROOM,
        }
    }
}

impl Names {
    /// Takes what an event names.
    #[inline]
    pub(super) fn take(&mut self, item: &Item<'_>) {
        if let Some(name) = item.entry.name {
            let text = item.text(name.into());
            if !text.is_empty() {
                self.name(item.value(0), item.ticks, text);
            }
        } else if item.what == What::VtableLoad && self.room >= 16 {
            self.room -= 16;
            self.vtables.push((item.value(0), item.value(2)));
        }
    }

    fn name(&mut self, address: u64, ticks: u64, text: &[u8]) {
        let number = match self.numbers.get(text) {
            Some(number) => *number,
            None => {
                let number = self.numbers.len() as u64 + 1;
                self.labels.define(number, text, &mut self.room);
                if self.labels.string(number).is_none() {
                    return;
                }
                self.numbers.insert(text.into(), number);
                number
            }
        };
        // Its first name counts for what comes before, too: another thread's buffer may stand earlier.
        let ticks = if *self.first.entry(address).or_insert(number) == number { 0 } else { ticks };
        self.labels.name(address, ticks, number, &mut self.room);
    }

    /// All of them. A vtable is called as its class.
    pub(super) fn labels(mut self) -> Labels {
        for (vtable, class) in self.vtables {
            if let Some(number) = self.labels.name_of(class, u64::MAX) {
                self.labels.name(vtable, 0, number, &mut self.room);
            }
        }
        self.labels
    }
}
