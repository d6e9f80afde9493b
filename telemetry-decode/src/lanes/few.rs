//! An ordered map that usually has one entry.

use std::collections::BTreeMap;

/// An ordered map that keeps its last entry in place. A map of one entry takes no memory on the
/// heap. A stream may have hundreds of thousands of lanes, and most need no more.
#[derive(Debug)]
pub(crate) struct Few<K, V> {
    last: Option<(K, V)>,
    /// The entries before the last.
    before: BTreeMap<K, V>,
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Few { last: None, before: BTreeMap::new() }
    }
}

impl<K: Ord + Copy, V> Few<K, V> {
    /// Returns the number of entries before the last: those that take memory on the heap.
    pub(crate) fn more(&self) -> usize {
        self.before.len()
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        match &mut self.last {
            Some((last, _)) if key < *last => _ = self.before.insert(key, value),
            Some((last, old)) if key == *last => *old = value,
            _ => {
                if let Some((last, old)) = self.last.replace((key, value)) {
                    self.before.insert(last, old);
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        if self.last.as_ref().is_some_and(|(last, _)| last == key) {
            let last = self.last.take();
            self.last = self.before.pop_last();
            return last.map(|(_, value)| value);
        }
        self.before.remove(key)
    }

    /// Returns the last entry whose key is not above this one.
    pub(crate) fn up_to(&self, key: &K) -> Option<(&K, &V)> {
        match &self.last {
            Some((last, value)) if last <= key => Some((last, value)),
            _ => self.before.range(..=*key).next_back(),
        }
    }

    /// Returns the last entry whose key is not above this one, to change it.
    pub(crate) fn up_to_mut(&mut self, key: &K) -> Option<&mut V> {
        match &mut self.last {
            Some((last, value)) if *last <= *key => Some(value),
            _ => self.before.range_mut(..=*key).next_back().map(|(_, value)| value),
        }
    }

    /// Returns the first entry whose key is not below this one.
    pub(crate) fn from(&self, key: &K) -> Option<(&K, &V)> {
        let last = self.last.as_ref().filter(|(last, _)| last >= key).map(|(last, value)| (last, value));
        self.before.range(*key..).next().or(last)
    }

    /// Returns all entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.before.iter().chain(self.last.iter().map(|(key, value)| (key, value)))
    }

    pub(crate) fn last(&self) -> Option<&V> {
        self.last.as_ref().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Few;

    /// It behaves as a map, in any order of operations.
    #[test]
    fn it_is_a_map() {
        let (mut few, mut map) = (Few::default(), BTreeMap::new());
        let mut random = 1_u64;
        for step in 0..20_000_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = random >> 40 & 31;
            match random >> 60 {
                0..=6 => {
                    few.insert(key, step);
                    map.insert(key, step);
                }
                _ => assert_eq!(few.remove(&key), map.remove(&key)),
            }
            assert!(few.iter().eq(map.iter()));
            assert_eq!(few.last(), map.values().next_back());
            assert_eq!(few.up_to(&key), map.range(..=key).next_back());
            assert_eq!(few.from(&key), map.range(key..).next());
            assert_eq!(few.up_to_mut(&key).copied(), map.range(..=key).next_back().map(|(_, value)| *value));
        }
    }
}
