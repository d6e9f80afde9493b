//! Rows for spans that do not nest on a thread: those on one row do not overlap.

use std::collections::BTreeSet;

use hashbrown::HashMap;

/// Which spans share rows: those of a session, of a thread if it matters, and of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RowKey {
    pub(crate) session: u64,
    pub(crate) thread: Option<u32>,
    pub(crate) def: usize,
}

/// All rows. Their number is at most that of spans that were open at once.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The end of the last span on each row, and the row.
    rows: HashMap<RowKey, BTreeSet<(i64, u64)>>,
}

impl Rows {
    /// Returns a row that is free from one time to another. Spans come by their ends. Calls `make`
    /// for a new row.
    pub(crate) fn take(&mut self, key: RowKey, from: i64, until: i64, make: impl FnOnce() -> u64) -> u64 {
        let rows = self.rows.entry(key).or_default();
        // The row that was used last keeps long gaps for long spans.
        let free = rows.range(..=(from, u64::MAX)).next_back().copied();
        let row = match free {
            Some(free) => {
                rows.remove(&free);
                free.1
            }
            None => make(),
        };
        rows.insert((until, row));
        row
    }
}
