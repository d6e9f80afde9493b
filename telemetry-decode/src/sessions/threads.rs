//! The threads of a session.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use crate::sessions::facts::Facts;

/// The threads of a session, with the number of threads of each name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Threads {
    all: BTreeMap<u32, Facts>,
    /// By hash of the name.
    names: HashMap<u64, u32>,
    hasher: RandomState,
}

impl Threads {
    /// The fact with the name of a thread.
    pub(crate) const NAME: &str = "name";

    /// Returns the facts of all threads, by number.
    pub(crate) fn all(&self) -> &BTreeMap<u32, Facts> {
        &self.all
    }

    /// Replaces the facts of a thread.
    pub(crate) fn set(&mut self, thread: u32, facts: Facts) {
        if let Some(name) = facts.text(Threads::NAME) {
            *self.names.entry(self.hasher.hash_one(name)).or_default() += 1;
        }
        let before = self.all.insert(thread, facts);
        if let Some(name) = before.as_ref().and_then(|facts| facts.text(Threads::NAME))
            && let Some(count) = self.names.get_mut(&self.hasher.hash_one(name))
        {
            *count -= 1;
        }
    }

    /// Returns the number of threads with a name.
    pub(crate) fn with_name(&self, name: &str) -> u32 {
        self.names.get(&self.hasher.hash_one(name)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted() {
        let mut threads = Threads::default();
        let mut set = |thread, name: &str| {
            let mut facts = Facts::default();
            facts.set(Threads::NAME, name);
            threads.set(thread, facts);
            [threads.with_name("main"), threads.with_name("worker")]
        };
        assert_eq!(set(1, "main"), [1, 0]);
        assert_eq!(set(2, "worker"), [1, 1]);
        assert_eq!(set(3, "worker"), [1, 2]);
        // The facts of a thread may come again, with another name.
        assert_eq!(set(3, "main"), [2, 1]);
        assert_eq!(set(3, "main"), [2, 1]);
    }
}
