//! The records of all lanes of the process, and their accounts in memory that a post-mortem finds.
//!
//! A thread keeps one record for each of its lanes until it ends, even while the lane has no block.
//! The number of threads is not limited. So records are in tables that are mapped when they are
//! needed, and that stay. Each table is twice as long as the previous one, so that a few tables
//! suffice for any number.
#![allow(unsafe_code)]

use core::ptr::null_mut;

use crate::memory::account::{Account, FIRST};
use crate::memory::mapping;
use crate::memory::pool::POOL;
use crate::memory::record::{LaneRecord, Owner};
use crate::run::state;
use crate::sync::spin::{NotHeld, Spin, SpinGuard};
use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Maximum number of tables: they have more records than a machine has room for threads.
const MAX_TABLES: usize = 16;
/// Number of closed lanes from which on a sweep is worthwhile.
const CROWD_LEN: usize = 1 << 6;
/// Number of records in all tables.
const MAX_LANES: usize = FIRST * ((1 << MAX_TABLES) - 1);

/// All records of lanes.
pub(crate) struct Lanes {
    records: [AtomicPtr<LaneRecord>; MAX_TABLES],
    accounts: [AtomicPtr<Account>; MAX_TABLES],
    /// The lock for making a table.
    making: Spin,
    /// Number of records that were ever used. They are the first ones.
    used: AtomicUsize,
    /// How many of these are free, or a few more for a moment.
    free: AtomicUsize,
    /// The index where the search for a free record begins.
    next: AtomicUsize,
    /// Number of records of threads that have ended.
    closed: AtomicUsize,
}

/// The lanes of the process.
pub(crate) static LANES: Lanes = Lanes::new();

/// Why a lane gets no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unclaimed {
    /// This code interrupts its own thread, which makes a table of records.
    Reentrant,
    /// There is no memory for a record.
    NoMemory,
}

impl Lanes {
    const fn new() -> Lanes {
        Lanes {
            records: [const { AtomicPtr::new(null_mut()) }; MAX_TABLES],
            accounts: [const { AtomicPtr::new(null_mut()) }; MAX_TABLES],
            making: Spin::new(),
            used: AtomicUsize::new(0),
            free: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
        }
    }

    /// Returns all records that are in use, or have been.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static LaneRecord> + '_ {
        let used = self.used.load(Ordering::Acquire);
        (0..used).filter_map(|index| Some(self.at(index)?.0))
    }

    /// Returns the records that belong to lanes.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &'static LaneRecord> + '_ {
        self.all().filter(|record| record.is_taken())
    }

    /// Claims a free record and fills it in. The search goes round, so that it rarely meets taken
    /// records.
    pub(crate) fn claim(&self, owner: &Owner) -> Result<&'static LaneRecord, Unclaimed> {
        let used = self.used.load(Ordering::Acquire);
        let known = if self.free.load(Ordering::Relaxed) > 0 { used } else { 0 };
        let start = self.next.load(Ordering::Relaxed).min(known);
        for index in (start..known).chain(0..start).chain(used..MAX_LANES) {
            let (record, account) = self.at(index).map_or_else(|| self.make(index), Ok)?;
            if record.claim(index as u32, owner, account, state::session()) {
                if index < used {
                    self.free.fetch_sub(1, Ordering::Relaxed);
                }
                // Release: a thread that sees the number finds the table.
                self.used.fetch_max(index + 1, Ordering::Release);
                self.next.store(index + 1, Ordering::Relaxed);
                return Ok(record);
            }
        }
        Err(Unclaimed::NoMemory)
    }

    /// Records that the thread of a lane has ended and has sealed its last block.
    pub(crate) fn close(&self, record: &LaneRecord) {
        record.close();
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    /// Frees a closed record, after its counters are added to the session's account.
    pub(crate) fn free(&self, record: &LaneRecord) {
        if let Some(totals) = POOL.totals() {
            totals.take(record.index(), record.account());
        }
        record.free();
        self.free.fetch_add(1, Ordering::Relaxed);
        self.closed.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns true if the records of ended threads should be freed soon.
    pub(crate) fn is_crowded(&self) -> bool {
        self.closed.load(Ordering::Relaxed) > CROWD_LEN
    }

    /// Takes the lock for making tables, before a fork.
    pub(crate) fn hold(&self) -> Option<SpinGuard<'_>> {
        self.making.lock(sys::me()).ok()
    }

    /// Forgets the parent's records, in the child of a fork.
    pub(crate) fn forget(&self) {
        [&self.used, &self.free, &self.next, &self.closed]
            .iter()
            .for_each(|number| number.store(0, Ordering::Relaxed));
        for (table, (records, accounts)) in self.records.iter().zip(&self.accounts).enumerate() {
            let (records, accounts) =
                (records.swap(null_mut(), Ordering::Relaxed), accounts.swap(null_mut(), Ordering::Relaxed));
            if !records.is_null() && table > 0 {
                // SAFETY: the only thread has left its lanes, and no other code uses the tables.
                unsafe {
                    sys::unmap(records.cast(), (FIRST << table) * size_of::<LaneRecord>());
                    sys::unmap(accounts.cast(), (FIRST << table) * size_of::<Account>());
                }
            }
        }
    }

    /// Returns the record with this index and its account, if their table exists.
    fn at(&self, index: usize) -> Option<(&'static LaneRecord, &'static Account)> {
        let (table, at) = place(index);
        // Acquire: a thread that sees a table of records also sees the table of their accounts.
        let records = self.records.get(table)?.load(Ordering::Acquire);
        let accounts = self.accounts[table].load(Ordering::Relaxed);
        // SAFETY: `make` mapped both as zeros, which are valid. They stay until `forget`.
        (!records.is_null()).then(|| unsafe { (&*records.add(at), &*accounts.add(at)) })
    }

    /// Makes the table of a record. Does not allocate.
    fn make(&self, index: usize) -> Result<(&'static LaneRecord, &'static Account), Unclaimed> {
        let _making = self.making.lock(sys::me()).map_err(|not_held| match not_held {
            NotHeld::Reentrant => Unclaimed::Reentrant,
            NotHeld::Busy => Unclaimed::NoMemory,
        })?;
        if let Some(found) = self.at(index) {
            return Ok(found);
        }
        let (table, _) = place(index);
        let made = if table == 0 { POOL.lanes() } else { more(FIRST << table) };
        let (records, accounts) = made.ok_or(Unclaimed::NoMemory)?;
        self.accounts[table].store(accounts, Ordering::Relaxed);
        self.records[table].store(records, Ordering::Release);
        self.at(index).ok_or(Unclaimed::NoMemory)
    }
}

/// Maps memory for a table with this number of records, and for their accounts. Does not allocate.
fn more(count: usize) -> Option<(*mut LaneRecord, *mut Account)> {
    let (records_len, accounts_len) = (count * size_of::<LaneRecord>(), count * size_of::<Account>());
    let records = sys::map(records_len)?;
    // If the ring file has no room for more accounts, only a post-mortem misses them.
    let Some(accounts) = mapping::map(accounts_len).or_else(|| sys::map(accounts_len)) else {
        // SAFETY: no other code knows the mapping yet.
        unsafe { sys::unmap(records, records_len) };
        return None;
    };
    Some((records.cast(), accounts.cast()))
}

/// Returns the table of a record, and its index there.
fn place(index: usize) -> (usize, usize) {
    let table = (index / FIRST + 1).ilog2() as usize;
    (table, index - FIRST * ((1 << table) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{ACCESS, owner, registry};

    #[test]
    fn tables_follow_each_other_without_gaps() {
        let mut expected = (0, 0);
        for index in 0..MAX_LANES {
            assert_eq!(place(index), expected, "record {index}");
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(expected, (MAX_TABLES, 0));
    }

    /// As a signal handler does that interrupts this thread there.
    #[test]
    fn code_that_interrupts_the_making_of_a_table_is_told() {
        let lanes = Lanes::new();
        let made = || lanes.make(FIRST).map(|_| ());
        let making = lanes.hold();
        assert!(making.is_some());
        assert_eq!(made(), Err(Unclaimed::Reentrant));
        drop(making);
        assert_eq!(made(), Ok(()));
        lanes.forget();
    }

    /// The first table is in memory of its own here, and not in that of a pool.
    #[test]
    fn records_are_claimed_in_turn_and_freed_ones_first() {
        let lanes = Lanes::new();
        let (records, accounts) = more(FIRST).expect("memory");
        lanes.accounts[0].store(accounts, Ordering::Relaxed);
        lanes.records[0].store(records, Ordering::Relaxed);
        let owner = owner(registry(), ACCESS);
        let claim = || lanes.claim(&owner).map(LaneRecord::index);
        let record = |index: usize| lanes.at(index).expect("a record").0;
        let taken = || lanes.taken().map(LaneRecord::index).collect::<Vec<_>>();
        assert!(taken().is_empty());
        for index in 0..CROWD_LEN as u32 + 6 {
            assert_eq!(claim(), Ok(index));
        }
        assert!(taken().into_iter().eq(0..CROWD_LEN as u32 + 6));

        // The records of threads that have ended stay until the drain frees them.
        (0..CROWD_LEN).for_each(|index| lanes.close(record(index)));
        assert!(!lanes.is_crowded());
        lanes.close(record(CROWD_LEN));
        assert!(lanes.is_crowded());
        assert_eq!((record(3).is_closed(), record(CROWD_LEN + 1).is_closed()), (true, false));
        assert_eq!(claim(), Ok(CROWD_LEN as u32 + 6), "no record is free");
        [5, 3].iter().for_each(|index| lanes.free(record(*index)));
        assert!(!lanes.is_crowded());
        assert_eq!(taken().len(), CROWD_LEN + 5);
        assert!(!taken().iter().any(|index| [5, 3].contains(index)));
        assert_eq!([claim(), claim(), claim()], [Ok(3), Ok(5), Ok(CROWD_LEN as u32 + 7)]);

        lanes.forget();
        assert_eq!((taken().len(), lanes.is_crowded()), (0, false));
        assert!(lanes.at(0).is_none() && lanes.at(FIRST).is_none());
    }
}
