//! The manual pool: first-fit allocation of blocks of words, which never move.

use std::collections::BTreeMap;
use std::ops::Range;

use super::arena::{GRAIN, GRAIN_BYTES, bytes, words_of};
use super::heap::{Heap, OutOfMemory};
use super::memory::WORD;
use super::pool::TABLES;
use crate::events;

/// A block of words. Its owner may free it, once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table(Range<usize>);

impl Table {
    /// Without words.
    pub(super) const EMPTY: Table = Table(0..0);

    /// The range of its words.
    pub(super) fn words(&self) -> &Range<usize> {
        &self.0
    }
}

/// The manual pool.
#[derive(Default)]
pub(super) struct Tables {
    land: Land,
    /// Memory from the arena.
    runs: Vec<Range<usize>>,
    /// Words in tables.
    used: usize,
}

impl Tables {
    /// Only for its address.
    pub(super) fn land(&self) -> &Land {
        &self.land
    }

    /// Bytes from the arena, and the number of them that no table uses.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.runs.iter().map(bytes).sum(), self.land.words * WORD)
    }

    /// Checks that used and free words add up, and that no two free ranges are adjacent.
    pub(super) fn check(&self) -> Result<(), String> {
        let (total, free) = self.sizes();
        let ranges = || self.land.ranges.iter();
        let listed = ranges().map(|(start, end)| (end - start) * WORD).sum::<usize>();
        let apart = ranges().zip(ranges().skip(1)).all(|((_, end), (next, _))| end < next);
        if apart && listed == free && self.used * WORD + free == total {
            return Ok(());
        }
        Err(format!(
            "tables: {} bytes used, {free} free, {listed} in the land, {total} in all",
            self.used * WORD
        ))
    }
}

impl Heap {
    /// Allocates a table of zeros.
    ///
    /// # Errors
    /// If there is no memory, even after a collection.
    pub(crate) fn alloc_table(&mut self, len: usize) -> Result<Table, OutOfMemory> {
        let found = match self.tables.land.take(len) {
            Some(words) => words,
            None => {
                self.extend_tables(len)?;
                self.tables.land.take(len).ok_or_else(|| self.fail(len * WORD, TABLES))?
            }
        };
        events::pool_alloc!(self.pool(TABLES), self.arena.memory.address(found.start), len * WORD);
        self.counters.tables += (len * WORD) as u64;
        self.tables.used += len;
        self.arena.memory.words_mut(found.clone()).fill(0);
        Ok(Table(found))
    }

    /// Frees a table.
    pub(crate) fn free_table(&mut self, table: Table) {
        let (address, size) = (self.arena.memory.address(table.0.start), table.0.len() * WORD);
        events::pool_free!(self.pool(TABLES), address, size);
        self.tables.used -= table.0.len();
        self.tables.land.add(table.0);
    }

    /// The words of a table.
    pub(crate) fn table(&self, table: &Table) -> &[u64] {
        self.arena.memory.words(table.0.clone())
    }

    /// The words of a table, mutable.
    pub(crate) fn table_mut(&mut self, table: &Table) -> &mut [u64] {
        self.arena.memory.words_mut(table.0.clone())
    }

    /// Gets grains from the arena for `words` words.
    fn extend_tables(&mut self, words: usize) -> Result<(), OutOfMemory> {
        let count = words.div_ceil(GRAIN);
        self.make_room(count);
        let pool = self.pool(TABLES);
        let grains = if self.has_room(count) { self.arena.alloc(count, pool) } else { None };
        let grains = grains.ok_or_else(|| self.fail(count * GRAIN_BYTES, TABLES))?;
        let seg = &self.segments[grains.start];
        events::seg_alloc!(seg, self.arena.address(&grains), bytes(&grains), pool, 0);
        self.tables.land.add(words_of(&grains));
        self.tables.runs.push(grains);
        Ok(())
    }

    /// Frees all memory to the arena.
    pub(super) fn finish_tables(&mut self) {
        let pool = self.pool(TABLES);
        for grains in std::mem::take(&mut self.tables.runs) {
            let seg = &self.segments[grains.start];
            events::seg_free!(seg, self.arena.address(&grains), bytes(&grains), pool);
            self.arena.free(grains, pool);
        }
        events::land_finish!(&self.tables.land);
        events::pool_finish!(pool);
    }
}

/// Free ranges of words. Adjacent ranges are merged.
#[derive(Default)]
pub(super) struct Land {
    /// End by start.
    ranges: BTreeMap<usize, usize>,
    words: usize,
}

impl Land {
    /// Takes words from the first range that is large enough.
    fn take(&mut self, len: usize) -> Option<Range<usize>> {
        let (start, end) =
            self.ranges.iter().map(|(start, end)| (*start, *end)).find(|(start, end)| end - start >= len)?;
        self.ranges.remove(&start);
        if start + len < end {
            self.ranges.insert(start + len, end);
        }
        self.words -= len;
        Some(start..start + len)
    }

    /// Adds a range, which must not be free already.
    fn add(&mut self, range: Range<usize>) {
        let Range { mut start, mut end } = range;
        self.words += end - start;
        if let Some((before, _)) = self.ranges.range(..start).next_back().filter(|(_, end)| **end == start) {
            start = *before;
        }
        if let Some(after) = self.ranges.remove(&end) {
            end = after;
        }
        self.ranges.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ranges_that_meet_become_one() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut land = Land::default();
            land.add(100..130);
            let mut blocks = [10, 5, 15].map(|len| land.take(len));
            assert_eq!(blocks, [Some(100..110), Some(110..115), Some(115..130)]);
            assert_eq!((land.take(1), land.words), (None, 0));
            order.into_iter().for_each(|index| land.add(blocks[index].take().unwrap()));
            assert_eq!((land.ranges, land.words), (BTreeMap::from([(100, 130)]), 30), "{order:?}");
        }
    }

    #[test]
    fn the_first_range_that_is_large_enough_is_taken() {
        let mut land = Land::default();
        [10..14, 20..29, 40..50].into_iter().for_each(|range| land.add(range));
        assert_eq!(
            [5, 4, 5, 5, 4, 1].map(|len| land.take(len)),
            [Some(20..25), Some(10..14), Some(40..45), Some(45..50), Some(25..29), None]
        );
    }
}
