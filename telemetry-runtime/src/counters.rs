//! What became of the events, in numbers.

use crate::pool::POOL;
use crate::record::LaneRecord;
use crate::refill::{STRAY_NESTED, STRAY_POOL};
use crate::registry::{self, KindState, Registry};
use crate::sync::{AtomicU64, Ordering, fence};

/// What became of the events of a process, or of one kind.
///
/// With no thread emitting, [`Counters::emitted`] is exactly the number of events that were on when
/// their emitters were called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Events that a sink has taken; more than one, if there are several that want them.
    pub written: u64,
    /// Events in memory: on their way to a sink, or kept by the flight recorder.
    pub held: u64,
    /// Events that the flight recorder has given up for later ones.
    pub recycled: u64,
    /// Events dropped because no memory was free.
    pub lost_pool: u64,
    /// Events dropped because they interrupted an emission of their own thread.
    pub lost_nested: u64,
    /// Events recorded for a sink that none has taken: it failed, or they were overwritten.
    pub lost_sink: u64,
    /// Strings, byte strings and arrays cut to their limit. Their events are not lost.
    pub cut: u64,
}

/// The counters of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindCounters {
    /// Name of the registry.
    pub registry: &'static str,
    /// Name of the kind.
    pub kind: &'static str,
    /// What became of its events.
    pub counters: Counters,
}

/// The counters of one sink.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SinkCounters {
    /// What messages call it.
    pub name: String,
    /// Events that it has taken.
    pub written: u64,
    /// Events that it was given, and did not take.
    pub lost: u64,
    /// What went wrong first, if anything did; it may be over.
    pub failure: Option<String>,
}

impl Counters {
    /// All events that were on when their emitters were called.
    pub fn emitted(&self) -> u64 {
        self.written + self.held + self.recycled + self.lost()
    }

    /// Events lost, for whichever cause.
    pub fn lost(&self) -> u64 {
        self.lost_pool + self.lost_nested + self.lost_sink
    }

    fn add(&mut self, other: &Counters) {
        self.written += other.written;
        self.held += other.held;
        self.recycled += other.recycled;
        self.lost_pool += other.lost_pool;
        self.lost_nested += other.lost_nested;
        self.lost_sink += other.lost_sink;
        self.cut += other.cut;
    }
}

/// The counters of the program's own events now. Those of the runtime itself are in [`kind_counters`].
pub fn counters() -> Counters {
    let mut sum = steady(|| {
        let mut sum = Counters::default();
        for registry in registry::all().filter(|registry| !registry.is_own()) {
            registry.relation().kinds.iter().for_each(|kind| sum.add(&of(registry, kind.bit)));
        }
        sum
    });
    sum.lost_pool += STRAY_POOL.load(Ordering::Relaxed);
    sum.lost_nested += STRAY_NESTED.load(Ordering::Relaxed);
    sum
}

/// The counters of every kind of every registry in use.
pub fn kind_counters() -> Vec<KindCounters> {
    steady(|| {
        let mut counters = Vec::new();
        for registry in registry::all() {
            let relation = registry.relation();
            counters.extend(relation.kinds.iter().map(|kind| KindCounters {
                registry: relation.name,
                kind: kind.name,
                counters: of(registry, kind.bit),
            }));
        }
        counters
    })
}

/// Odd while a record's counters move to its kind.
static MOVING: AtomicU64 = AtomicU64::new(0);

/// Adds the counters of a lane that is gone to its kind's, and frees its record.
pub(crate) fn remember(record: &LaneRecord) {
    let owner = record.owner();
    let past = &owner.registry.kind(owner.kind).past;
    MOVING.fetch_add(1, Ordering::AcqRel);
    for (sum, counter) in [
        (&past.recorded, &record.recorded),
        (&past.pool, &record.pool),
        (&past.nested, &record.nested),
        (&past.cut, &record.cut),
        (&past.sink, &record.sink),
    ] {
        sum.fetch_add(counter.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    POOL.free(record);
    MOVING.fetch_add(1, Ordering::Release);
}

/// Reads while nothing moves, as far as a few tries get.
fn steady<T>(read: impl Fn() -> T) -> T {
    for _ in 0..100 {
        let before = MOVING.load(Ordering::Acquire);
        let sums = read();
        // What was read above was read before what comes now.
        fence(Ordering::Acquire);
        if before & 1 == 0 && MOVING.load(Ordering::Relaxed) == before {
            return sums;
        }
        crate::sys::yield_now();
    }
    read()
}

fn of(registry: &'static Registry, bit: u8) -> Counters {
    let KindState { written, recycled, past, .. } = registry.kind(bit);
    let get = |word: &AtomicU64| word.load(Ordering::Relaxed);
    let mut recorded = get(&past.recorded);
    let mut counters = Counters {
        written: get(written),
        held: 0,
        recycled: get(recycled),
        lost_pool: get(&past.pool),
        lost_nested: get(&past.nested),
        lost_sink: get(&past.sink),
        cut: get(&past.cut),
    };
    for record in POOL.records().iter().filter(|record| record.is_taken()) {
        let owner = record.owner();
        if core::ptr::eq(owner.registry, registry) && owner.kind == bit {
            recorded += record.events();
            counters.lost_pool += get(&record.pool);
            counters.lost_nested += get(&record.nested);
            counters.lost_sink += get(&record.sink);
            counters.cut += get(&record.cut);
        }
    }
    counters.held = recorded.saturating_sub(counters.written + counters.recycled + counters.lost_sink);
    counters
}
