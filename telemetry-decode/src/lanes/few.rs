//! An ordered map that usually has one entry.

use std::collections::BTreeMap;

/// An ordered map that keeps its last entry in place. A map of one entry takes no memory on the
/// heap, and one of a few takes no more than their own. A stream may have hundreds of thousands of
/// lanes, and most need no more.
#[derive(Debug, Clone)]
pub(crate) struct Few<K, V> {
    last: Option<(K, V)>,
    /// The entries before the last.
    before: Before<K, V>,
}

/// Maximum number of entries in a list. A node of a `BTreeMap` has room for more.
const MAX_LISTED: usize = 8;

#[derive(Debug, Clone)]
enum Before<K, V> {
    /// In order.
    Listed(Vec<(K, V)>),
    Mapped(BTreeMap<K, V>),
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Few { last: None, before: Before::Listed(Vec::new()) }
    }
}

impl<K: Ord + Copy, V> Few<K, V> {
    /// Returns the number of entries before the last: those that take memory on the heap.
    pub(crate) fn more(&self) -> usize {
        match &self.before {
            Before::Listed(list) => list.len(),
            Before::Mapped(map) => map.len(),
        }
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        match &mut self.last {
            Some((last, _)) if key < *last => self.before.insert(key, value),
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
            self.last = match &mut self.before {
                Before::Listed(list) => list.pop(),
                Before::Mapped(map) => map.pop_last(),
            };
            return last.map(|(_, value)| value);
        }
        match &mut self.before {
            Before::Listed(list) => place(list, key).ok().map(|place| list.remove(place).1),
            Before::Mapped(map) => map.remove(key),
        }
    }

    /// Returns the last entry whose key is not above this one.
    pub(crate) fn up_to(&self, key: &K) -> Option<(&K, &V)> {
        match (&self.last, &self.before) {
            (Some((last, value)), _) if last <= key => Some((last, value)),
            (_, Before::Listed(list)) => list[..not_above(list, key)].last().map(pair),
            (_, Before::Mapped(map)) => map.range(..=*key).next_back(),
        }
    }

    /// Returns the last entry whose key is not above this one, to change it.
    pub(crate) fn up_to_mut(&mut self, key: &K) -> Option<&mut V> {
        match (&mut self.last, &mut self.before) {
            (Some((last, value)), _) if *last <= *key => Some(value),
            (_, Before::Listed(list)) => {
                let end = not_above(list, key);
                list[..end].last_mut().map(|(_, value)| value)
            }
            (_, Before::Mapped(map)) => map.range_mut(..=*key).next_back().map(|(_, value)| value),
        }
    }

    /// Returns the first entry whose key is not below this one.
    pub(crate) fn from(&self, key: &K) -> Option<(&K, &V)> {
        let last = self.last.as_ref().filter(|(last, _)| last >= key).map(pair);
        match &self.before {
            Before::Listed(list) => {
                list.get(place(list, key).unwrap_or_else(|place| place)).map(pair).or(last)
            }
            Before::Mapped(map) => map.range(*key..).next().or(last),
        }
    }

    /// Returns all entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (list, map) = match &self.before {
            Before::Listed(list) => (&list[..], None),
            Before::Mapped(map) => (&[][..], Some(map)),
        };
        list.iter().map(pair).chain(map.into_iter().flatten()).chain(self.last.iter().map(pair))
    }

    pub(crate) fn last(&self) -> Option<&V> {
        self.last.as_ref().map(|(_, value)| value)
    }
}

impl<K: Ord + Copy, V> Before<K, V> {
    fn insert(&mut self, key: K, value: V) {
        match self {
            Before::Listed(list) => match place(list, &key) {
                Ok(place) => list[place].1 = value,
                Err(place) if list.len() < MAX_LISTED => {
                    list.reserve_exact(1);
                    list.insert(place, (key, value));
                }
                Err(_) => {
                    let mut map: BTreeMap<K, V> = std::mem::take(list).into_iter().collect();
                    map.insert(key, value);
                    *self = Before::Mapped(map);
                }
            },
            Before::Mapped(map) => _ = map.insert(key, value),
        }
    }
}

/// Returns the place of a key in a list, or where it would be.
fn place<K: Ord, V>(list: &[(K, V)], key: &K) -> Result<usize, usize> {
    list.binary_search_by(|(other, _)| other.cmp(key))
}

/// Returns the number of entries whose key is not above this one.
fn not_above<K: Ord, V>(list: &[(K, V)], key: &K) -> usize {
    list.partition_point(|(other, _)| other <= key)
}

fn pair<K, V>(entry: &(K, V)) -> (&K, &V) {
    (&entry.0, &entry.1)
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
