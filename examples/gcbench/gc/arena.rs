//! An arena: address space reserved at once, committed as pools need it, allocated in grains.

use std::ops::Range;

use super::memory::{Memory, WORD};
use crate::events;

/// Words of a grain, the unit of the arena. A segment of the collected pool is one grain, so that
/// the segment of a reference is found by a shift.
pub(crate) const GRAIN: usize = 1 << GRAIN_SHIFT;
const GRAIN_SHIFT: u32 = 13;

/// Bytes of a grain.
pub(crate) const GRAIN_BYTES: usize = GRAIN * WORD;

/// The grain of a word.
#[inline]
pub(crate) fn grain_of(word: usize) -> usize {
    word >> GRAIN_SHIFT
}

/// The first word of a grain.
pub(crate) fn base_of(grain: usize) -> usize {
    grain << GRAIN_SHIFT
}

/// The words of some grains.
pub(crate) fn words_of(grains: &Range<usize>) -> Range<usize> {
    base_of(grains.start)..base_of(grains.end)
}

/// Memory in grains.
pub(crate) struct Arena {
    pub(crate) memory: Memory,
    /// By grain. The first is never free, so that word 0 is never an object.
    is_free: Vec<bool>,
    free: usize,
    /// Grains from this index on were never used.
    committed: usize,
    /// Where the last search ended.
    hint: usize,
}

impl Arena {
    /// An arena of `bytes`, rounded up to grains.
    pub(crate) fn reserve(bytes: usize) -> Arena {
        let grains = bytes.div_ceil(GRAIN_BYTES) + 1;
        let mut is_free = vec![true; grains];
        is_free[0] = false;
        let memory = Memory::reserve(grains * GRAIN);
        Arena { memory, is_free, free: grains - 1, committed: 1, hint: 1 }
    }

    /// Emits the arena's first events, once its address is final.
    pub(crate) fn announce(&self, name: &str) {
        let reserved = self.is_free.len() * GRAIN_BYTES;
        events::arena_create_vm!(self, self.memory.address(0), reserved, GRAIN_BYTES, name);
        events::commit_limit_set!(self, reserved);
    }

    /// Number of grains, free or not.
    pub(crate) fn grains(&self) -> usize {
        self.is_free.len()
    }

    /// Number of free grains.
    pub(crate) fn free_grains(&self) -> usize {
        self.free
    }

    /// Bytes that were ever used.
    pub(crate) fn committed_bytes(&self) -> usize {
        self.committed * GRAIN_BYTES
    }

    /// Bytes allocated to pools.
    pub(crate) fn used_bytes(&self) -> usize {
        (self.is_free.len() - self.free) * GRAIN_BYTES
    }

    /// Allocates adjacent grains for the pool at an address. None if there are not enough.
    pub(crate) fn alloc(&mut self, count: usize, pool: usize) -> Option<Range<usize>> {
        let found = self.search(self.hint, count).or_else(|| self.search(1, count));
        let grains = found?;
        self.is_free[grains.clone()].fill(false);
        self.free -= count;
        self.hint = grains.end;
        if grains.end > self.committed {
            let new = self.committed..grains.end;
            events::arena_extend!(&*self, self.address(&new), bytes(&new));
            self.committed = grains.end;
        }
        events::arena_alloc!(&*self, self.address(&grains), bytes(&grains), pool);
        Some(grains)
    }

    /// Frees grains of the pool at an address.
    pub(crate) fn free(&mut self, grains: Range<usize>, pool: usize) {
        events::arena_free!(&*self, self.address(&grains), bytes(&grains), pool);
        self.free += grains.len();
        // Reuse the memory soon: it is still in the cache.
        self.hint = self.hint.min(grains.start);
        self.is_free[grains].fill(true);
    }

    /// The address of the first of some grains.
    pub(crate) fn address(&self, grains: &Range<usize>) -> usize {
        self.memory.address(words_of(grains).start)
    }

    /// First fit, starting at a grain.
    fn search(&self, from: usize, count: usize) -> Option<Range<usize>> {
        let mut start = from;
        for grain in from..self.is_free.len() {
            if !self.is_free[grain] {
                start = grain + 1;
            } else if grain + 1 - start == count {
                return Some(start..start + count);
            }
        }
        None
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        events::arena_destroy!(&*self);
    }
}

/// Bytes of some grains.
pub(crate) fn bytes(grains: &Range<usize>) -> usize {
    grains.len() * GRAIN_BYTES
}
