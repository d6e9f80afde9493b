//! The accounts that a post-mortem reads: counters of lanes and of the session, in the pool's
//! memory.
//!
//! A ring file contains them, and other processes may write to it. So accounts are only numbers:
//! none is a pointer, an index or a length that the runtime uses.

use telemetry_format::{
    ACCOUNT_LEN, ACCOUNT_MAGIC, LaneCounters, LaneIdentity, Loss, SessionTotals, TOTALS_LEN, TOTALS_MAGIC,
};

use crate::sys::atomic::{AtomicU64, Ordering};

/// Number of records in the first table and of accounts in the pool. Many programs need no more,
/// and what is beside them then shares their pages.
pub(crate) const FIRST: usize = 1 << 3;

/// The account of one lane, as [`telemetry_format::LaneAccount`] reads it. All zeros is no account.
#[repr(C, align(64))]
pub(crate) struct Account {
    /// The first word is 0 if there is no account.
    identity: [AtomicU64; 8],
    /// Events in sealed blocks.
    pub(crate) recorded: AtomicU64,
    /// Events that a sink has taken, in blocks that were returned to the pool.
    pub(crate) written: AtomicU64,
    /// Events that the flight recorder evicted.
    pub(crate) evicted: AtomicU64,
    /// Losses that the lane's thread counts.
    pub(crate) pool: AtomicU64,
    pub(crate) reentrant: AtomicU64,
    pub(crate) truncated: AtomicU64,
    /// Events that were recorded for a sink and that no sink has taken, including overwritten ones.
    pub(crate) sink: AtomicU64,
    spare: AtomicU64,
}

const _: () = assert!(size_of::<Account>() == ACCOUNT_LEN);

impl Account {
    /// Begins the account of a lane.
    pub(crate) fn begin(&self, identity: &LaneIdentity) {
        self.end();
        self.counters().iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
        let bytes = identity.encode(crc32c::crc32c);
        let (words, _) = bytes.as_chunks::<8>();
        for (word, value) in self.identity.iter().zip(words).skip(1) {
            word.store(u64::from_ne_bytes(*value), Ordering::Relaxed);
        }
        // Last: an account with the magic number is whole.
        self.identity[0].store(u64::from_ne_bytes(ACCOUNT_MAGIC), Ordering::Release);
    }

    /// Ends the account, which is not read any more.
    pub(crate) fn end(&self) {
        self.identity[0].store(0, Ordering::Relaxed);
        crate::sys::atomic::fence(Ordering::SeqCst);
    }

    /// Returns the current counters.
    pub(crate) fn read(&self) -> LaneCounters {
        LaneCounters::from_words(self.counters().map(|counter| counter.load(Ordering::Relaxed)))
    }

    fn counters(&self) -> [&AtomicU64; LaneCounters::COUNT] {
        [
            &self.recorded,
            &self.written,
            &self.evicted,
            &self.pool,
            &self.reentrant,
            &self.truncated,
            &self.sink,
        ]
    }
}

/// The account of the session, as [`SessionTotals`] reads it.
#[repr(C, align(64))]
pub(crate) struct Totals {
    magic: AtomicU64,
    session: AtomicU64,
    selector: AtomicU64,
    sums: [[AtomicU64; LaneCounters::COUNT]; 2],
    pool: AtomicU64,
    reentrant: AtomicU64,
    spare: [AtomicU64; 5],
}

const _: () = assert!(
    size_of::<Totals>() == TOTALS_LEN
        && core::mem::offset_of!(Totals, session) == SessionTotals::SESSION
        && core::mem::offset_of!(Totals, selector) == SessionTotals::SELECTOR
        && core::mem::offset_of!(Totals, sums) == SessionTotals::SUMS
        && core::mem::offset_of!(Totals, pool) == SessionTotals::STRAYS
);

impl Totals {
    /// Begins the account.
    pub(crate) fn begin(&self, session: u64) {
        self.session.store(session, Ordering::Relaxed);
        self.magic.store(u64::from_ne_bytes(TOTALS_MAGIC), Ordering::Release);
    }

    /// Adds the account of an ended lane to this one, and ends that account. The lane is counted
    /// once, even if the process is killed in between. Only a pass may call this, so there is one
    /// caller at a time.
    pub(crate) fn take(&self, index: u32, account: &Account) {
        let now = (self.selector.load(Ordering::Relaxed) & 1) as usize;
        let counters = account.read().words();
        for ((new, old), counter) in self.sums[1 - now].iter().zip(&self.sums[now]).zip(counters) {
            new.store(old.load(Ordering::Relaxed).wrapping_add(counter), Ordering::Relaxed);
        }
        self.selector.store(SessionTotals::selector(1 - now, Some(index)), Ordering::Release);
        account.end();
        self.selector.store(SessionTotals::selector(1 - now, None), Ordering::Release);
    }

    /// Sets the number of events that were lost without a lane.
    pub(crate) fn set_strays(&self, lost: &Loss) {
        self.pool.fetch_max(lost.pool, Ordering::Relaxed);
        self.reentrant.fetch_max(lost.reentrant, Ordering::Relaxed);
    }
}
