//! Counts of events: recorded, written, retained, evicted and lost.

use telemetry_format::{Loss, NoticeTag};

use crate::memory::lanes::LANES;
use crate::memory::pool::POOL;
use crate::memory::record::LaneRecord;
use crate::memory::registry::{self, KindState, Registry};
use crate::store::sealed::STORE;
use crate::sys::atomic::{AtomicU64, Ordering, fence};

/// Where the events of a process, or of one kind, went.
///
/// While no thread emits, [`Counters::emitted`] is the exact number of events that were on when
/// their emitters were called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Events that at least one sink has taken. Without those that it lost with a connection, if
    /// there is no other sink.
    pub written: u64,
    /// Events in memory: on their way to a sink, or retained by the flight recorder.
    pub retained: u64,
    /// Events that the flight recorder has evicted for later ones, and those that no sink gets
    /// because they are sensitive.
    pub evicted: u64,
    /// Events that were lost because no memory was free.
    pub lost_pool: u64,
    /// Events that were lost because they interrupted an emission of their own thread.
    pub lost_reentrant: u64,
    /// Events that were recorded for a sink and that no sink has taken or kept: it failed, its
    /// connection broke, or they were overwritten.
    pub lost_sink: u64,
    /// Strings, byte strings and arrays that were truncated to their limit. Their events are not
    /// lost.
    pub truncated: u64,
}

/// The counters of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindCounters {
    /// The name of the registry.
    pub registry: &'static str,
    /// The name of the kind.
    pub kind: &'static str,
    /// Where its events went.
    pub counters: Counters,
}

/// The counters of one sink.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SinkCounters {
    /// The name of the sink in messages.
    pub name: String,
    /// Events that the sink has taken and not lost.
    pub written: u64,
    /// Events that the sink was given and did not take, or that it lost with a connection.
    pub lost: u64,
    /// The first error that gives a reason, or else the first one. It may be over by now.
    pub failure: Option<String>,
    /// The notice of that error, for programs.
    pub(crate) notice: Option<NoticeTag>,
}

impl Counters {
    /// Returns the number of events that were on when their emitters were called.
    pub fn emitted(&self) -> u64 {
        self.written + self.retained + self.evicted + self.lost()
    }

    /// Returns the number of lost events, for all causes.
    pub fn lost(&self) -> u64 {
        self.lost_pool + self.lost_reentrant + self.lost_sink
    }

    fn add(&mut self, other: &Counters) {
        self.written += other.written;
        self.retained += other.retained;
        self.evicted += other.evicted;
        self.lost_pool += other.lost_pool;
        self.lost_reentrant += other.lost_reentrant;
        self.lost_sink += other.lost_sink;
        self.truncated += other.truncated;
    }

    fn add_strays(&mut self) {
        let strays = strays();
        self.lost_pool += strays.pool;
        self.lost_reentrant += strays.reentrant;
    }
}

/// Returns the current counters of the program's own events. [`kind_counters`] also has the
/// runtime's own.
pub fn counters() -> Counters {
    let mut sum = steady(|| {
        let mut sum = Counters::default();
        for registry in registry::all().filter(|registry| !registry.is_own()) {
            registry.def().kinds.iter().for_each(|kind| sum.add(&of(registry, kind.bit)));
        }
        sum
    });
    sum.add_strays();
    sum
}

/// Returns the same from one reading of all kinds, and that reading. Two readings of a program that
/// emits in between would contradict each other. Only the control socket asks for it.
#[cfg(all(unix, not(miri)))]
pub(crate) fn counters_and_kinds() -> (Counters, Vec<KindCounters>) {
    let kinds = kind_counters();
    let mut sum = Counters::default();
    let program = kinds.iter().filter(|kind| kind.registry != telemetry_format::own::NAME);
    program.for_each(|kind| sum.add(&kind.counters));
    sum.add_strays();
    (sum, kinds)
}

/// Returns the number of the program's events in memory whose kind a sink gets.
pub(crate) fn untaken() -> u64 {
    let program = registry::all().filter(|registry| !registry.is_own());
    let kinds =
        program.flat_map(|registry| registry.def().kinds.iter().map(move |kind| (registry, kind.bit)));
    let output = kinds.filter(|(registry, bit)| registry.is_output(*bit, u64::MAX));
    output.map(|(registry, bit)| of(registry, bit).retained).sum()
}

/// Returns the counters of every kind of every registry in use.
pub fn kind_counters() -> Vec<KindCounters> {
    steady(|| {
        let mut counters = Vec::new();
        for registry in registry::all() {
            let def = registry.def();
            counters.extend(def.kinds.iter().map(|kind| KindCounters {
                registry: def.name,
                kind: kind.name,
                counters: of(registry, kind.bit),
            }));
        }
        counters
    })
}

/// Why an event was lost before a lane could count it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stray {
    /// There is no memory for a lane's record.
    Pool,
    /// The event interrupted an emission, or the code that makes the records.
    Reentrant,
}

/// Number of events lost for each reason of [`Stray`].
static STRAYS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Counts an event that no lane could count.
pub(crate) fn lose(stray: Stray) {
    STRAYS[stray as usize].fetch_add(1, Ordering::Relaxed);
    tell_strays();
}

/// Writes the losses without a lane to the session's account, for a post-mortem.
pub(crate) fn tell_strays() {
    if let Some(totals) = POOL.totals() {
        totals.set_strays(&strays());
    }
}

/// Returns the losses without a lane.
pub(crate) fn strays() -> Loss {
    let [pool, reentrant] = STRAYS.each_ref().map(|counter| counter.load(Ordering::Relaxed));
    Loss { pool, reentrant, ..Loss::default() }
}

/// Forgets the losses without a lane.
pub(crate) fn forget_strays() {
    STRAYS.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
}

/// Odd while the counters of a record move to its kind.
static MOVING: AtomicU64 = AtomicU64::new(0);

/// Adds the counters of an ended lane to those of its kind, and frees the record.
pub(crate) fn remember(record: &LaneRecord) {
    let owner = record.owner();
    let retired = &owner.registry.kind(owner.kind).retired;
    MOVING.fetch_add(1, Ordering::AcqRel);
    let account = record.account();
    for (sum, counter) in [
        (&retired.recorded, &account.recorded),
        (&retired.pool, &account.pool),
        (&retired.reentrant, &account.reentrant),
        (&retired.truncated, &account.truncated),
        (&retired.sink, &account.sink),
    ] {
        sum.fetch_add(counter.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    LANES.free(record);
    MOVING.fetch_add(1, Ordering::Release);
}

/// Moves events of a lane that count as written to those that no sink has taken.
pub(crate) fn take_back(record: &LaneRecord, events: u32) {
    if events == 0 {
        return;
    }
    let (owner, account, events) = (record.owner(), record.account(), u64::from(events));
    MOVING.fetch_add(1, Ordering::AcqRel);
    for written in [&owner.registry.kind(owner.kind).written, &account.written] {
        written.fetch_sub(events, Ordering::Relaxed);
    }
    account.sink.fetch_add(events, Ordering::Relaxed);
    MOVING.fetch_add(1, Ordering::Release);
}

/// Reads counters while none of them moves. Gives up after a number of tries, and then reads them
/// anyway.
fn steady<T>(read: impl Fn() -> T) -> T {
    for _ in 0..100 {
        let before = MOVING.load(Ordering::Acquire);
        let sums = read();
        // The reads above happen before the load below.
        fence(Ordering::Acquire);
        if before & 1 == 0 && MOVING.load(Ordering::Relaxed) == before {
            return sums;
        }
        crate::sys::yield_now();
    }
    read()
}

fn of(registry: &'static Registry, bit: u8) -> Counters {
    let KindState { written, evicted, retired, .. } = registry.kind(bit);
    let get = |word: &AtomicU64| word.load(Ordering::Relaxed);
    let mut recorded = get(&retired.recorded);
    let mut counters = Counters {
        written: get(written),
        retained: 0,
        evicted: get(evicted),
        lost_pool: get(&retired.pool),
        lost_reentrant: get(&retired.reentrant),
        lost_sink: get(&retired.sink),
        truncated: get(&retired.truncated),
    };
    for record in LANES.taken() {
        let owner = record.owner();
        if core::ptr::eq(owner.registry, registry) && owner.kind == bit {
            recorded += STORE.events(record);
            let account = record.account();
            counters.lost_pool += get(&account.pool);
            counters.lost_reentrant += get(&account.reentrant);
            counters.lost_sink += get(&account.sink);
            counters.truncated += get(&account.truncated);
        }
    }
    counters.retained = recorded.saturating_sub(counters.written + counters.evicted + counters.lost_sink);
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{ACCESS, TRACE, record, registry};

    #[test]
    fn sums_have_each_counter_once() {
        let one = Counters {
            written: 1,
            retained: 2,
            evicted: 4,
            lost_pool: 8,
            lost_reentrant: 16,
            lost_sink: 32,
            truncated: 64,
        };
        assert_eq!((one.emitted(), one.lost()), (63, 56));
        let mut sum = one;
        sum.add(&one);
        sum.add(&one);
        let expected = Counters {
            written: 3,
            retained: 6,
            evicted: 12,
            lost_pool: 24,
            lost_reentrant: 48,
            lost_sink: 96,
            truncated: 192,
        };
        assert_eq!(sum, expected);
    }

    #[test]
    fn what_went_nowhere_else_is_retained() {
        let registry = registry();
        assert_eq!(of(registry, ACCESS), Counters::default());
        let kind = registry.kind(ACCESS);
        for (number, counter) in [
            &kind.written,
            &kind.evicted,
            &kind.retired.pool,
            &kind.retired.reentrant,
            &kind.retired.sink,
            &kind.retired.truncated,
        ]
        .into_iter()
        .enumerate()
        {
            counter.store(1 << number, Ordering::Relaxed);
        }
        let check = |recorded: u64, retained: u64| {
            kind.retired.recorded.store(recorded, Ordering::Relaxed);
            let expected = Counters {
                written: 1,
                retained,
                evicted: 2,
                lost_pool: 4,
                lost_reentrant: 8,
                lost_sink: 16,
                truncated: 32,
            };
            assert_eq!(of(registry, ACCESS), expected);
        };
        check(25, 6);
        check(19, 0);
        // A sink may take events of a block before these count as recorded.
        check(18, 0);
        assert_eq!(of(registry, TRACE), Counters::default());
    }

    /// A sink took events, and lost them with its connection.
    #[test]
    fn events_that_are_taken_back_were_not_written() {
        let registry = registry();
        let record = record(registry, ACCESS);
        let (kind, account) = (registry.kind(ACCESS), record.account());
        [&kind.written, &account.written].iter().for_each(|written| written.store(5, Ordering::Relaxed));
        let check = |events: u32, expected: [u64; 3]| {
            take_back(record, events);
            let counters = [&kind.written, &account.written, &account.sink];
            assert_eq!(counters.map(|counter| counter.load(Ordering::Relaxed)), expected);
        };
        check(0, [5, 5, 0]);
        check(3, [2, 2, 3]);
        check(2, [0, 0, 5]);
    }
}
