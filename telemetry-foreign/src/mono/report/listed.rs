//! Things by address, in the order in which they were first seen.

use hashbrown::HashMap;

pub(super) struct Listed<T> {
    index: HashMap<u64, usize>,
    /// Address and thing.
    pub(super) all: Vec<(u64, T)>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Listed { index: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Default> Listed<T> {
    /// The index of what has an address; it is made if there is none.
    #[inline]
    pub(super) fn index_of(&mut self, address: u64) -> usize {
        let all = &mut self.all;
        *self.index.entry(address).or_insert_with(|| {
            all.push((address, T::default()));
            all.len() - 1
        })
    }

    /// What has an address; it is made if there is nothing.
    pub(super) fn of(&mut self, address: u64) -> &mut T {
        let index = self.index_of(address);
        &mut self.all[index].1
    }

    pub(super) fn get(&self, address: u64) -> Option<&T> {
        self.all.get(*self.index.get(&address)?).map(|(_, thing)| thing)
    }
}
