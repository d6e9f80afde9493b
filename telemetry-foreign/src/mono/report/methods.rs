//! Counts of methods and their calls.

use hashbrown::HashMap;

use super::traces::Sums;
use crate::mono::stack::Ended;

/// The size of the cache of methods, a power of two.
const CACHE: usize = 512;

/// All methods.
pub(super) struct Methods {
    index: HashMap<u64, u32>,
    pub(super) all: Vec<Method>,
    /// The calls of each method.
    pub(super) times: Vec<Times>,
    cache: Box<[(u64, u32); CACHE]>,
}

/// Counts of a method.
#[derive(Default)]
pub(super) struct Method {
    pub(super) address: u64,
    pub(super) name: Option<Box<[u8]>>,
    pub(super) code: u64,
    pub(super) len: i32,
    pub(super) traces: Sums,
}

/// The completed calls of a method.
#[derive(Default, Clone, Copy)]
pub(super) struct Times {
    pub(super) calls: u64,
    pub(super) own: u64,
    pub(super) in_callees: u64,
}

/// An inconsistency in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    /// A leave at this call depth, of this method.
    Unmatched(usize, u64),
    Backward(u64),
    CalleesBigger(u64),
}

impl Default for Methods {
    fn default() -> Methods {
        Methods {
            index: HashMap::new(),
            all: Vec::new(),
            times: Vec::new(),
            cache: Box::new([(0, u32::MAX); CACHE]),
        }
    }
}

impl Times {
    pub(super) fn total(&self) -> u64 {
        self.own.wrapping_add(self.in_callees)
    }
}

impl Methods {
    #[inline(always)]
    pub(super) fn of(&mut self, address: u64) -> u32 {
        let place = (address >> 3) as usize % CACHE;
        let (cached, index) = self.cache[place];
        if cached == address && index != u32::MAX {
            return index;
        }
        self.find(address, place)
    }

    /// Returns the approximate number of bytes that the methods take.
    pub(super) fn taken(&self) -> usize {
        self.all.capacity() * (size_of::<Method>() + size_of::<Times>()) + self.index.capacity() * 13
    }

    /// Returns the name of a method.
    pub(super) fn name(&self, address: u64) -> Option<&[u8]> {
        self.all.get(*self.index.get(&address)? as usize)?.name.as_deref()
    }

    #[inline(never)]
    fn find(&mut self, address: u64, place: usize) -> u32 {
        let (all, times) = (&mut self.all, &mut self.times);
        let index = *self.index.entry(address).or_insert_with(|| {
            all.push(Method { address, ..Method::default() });
            times.push(Times::default());
            all.len() as u32 - 1
        });
        self.cache[place] = (address, index);
        index
    }
}

#[inline(always)]
pub(super) fn end_call(methods: &mut Methods, oddities: &mut Vec<Oddity>, address: u64, ended: Ended) {
    let times = &mut methods.times[ended.index as usize];
    times.calls += 1;
    times.own = times.own.wrapping_add(ended.time.wrapping_sub(ended.in_callees));
    times.in_callees = times.in_callees.wrapping_add(ended.in_callees);
    if ended.is_backward || ended.in_callees > ended.time {
        odd(oddities, ended.is_backward, Oddity::Backward(address));
        odd(oddities, ended.in_callees > ended.time, Oddity::CalleesBigger(address));
    }
}

/// Notes an inconsistency. A damaged log can have any number of them.
#[cold]
pub(super) fn odd(oddities: &mut Vec<Oddity>, is_so: bool, oddity: Oddity) {
    const MOST: usize = 10_000;
    if is_so && oddities.len() < MOST {
        oddities.push(oddity);
    }
}
