//! Items by address, in the order in which they were first seen.

use hashbrown::HashMap;

pub(super) struct Listed<T> {
    index: HashMap<u64, usize>,
    /// Address and item.
    pub(super) all: Vec<(u64, T)>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Listed { index: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Default> Listed<T> {
    /// Returns the approximate number of bytes that the list takes.
    pub(super) fn taken(&self) -> usize {
        self.index.capacity() * 17 + self.all.capacity() * size_of::<(u64, T)>()
    }

    /// Returns the index of the item at an address, which is created if missing.
    #[inline]
    pub(super) fn index_of(&mut self, address: u64) -> usize {
        let all = &mut self.all;
        *self.index.entry(address).or_insert_with(|| {
            all.push((address, T::default()));
            all.len() - 1
        })
    }

    /// Returns the item at an address, which is created if missing.
    pub(super) fn of(&mut self, address: u64) -> &mut T {
        let index = self.index_of(address);
        &mut self.all[index].1
    }

    pub(super) fn get(&self, address: u64) -> Option<&T> {
        self.all.get(*self.index.get(&address)?).map(|(_, thing)| thing)
    }
}
