//! Counters as the program sees them. The macro makes a static for each `[[counter]]`.
//!
//! Counting takes no lock and is not atomic between threads: each thread has a cell of its own.
#![allow(unsafe_code)]

use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
use std::thread::LocalKey;

use crate::count::cells::{Local, bump};
use crate::count::list;
use crate::memory::registry::Registry;
use crate::sys::atomic::{AtomicU64, Ordering};

/// The counters of a registry, as generated code describes them.
#[doc(hidden)]
pub trait Counted: 'static {
    /// The number of the registry's counters.
    const COUNTERS: usize;
    /// Returns the thread-local of the cells.
    fn local() -> &'static LocalKey<Local>;
    /// Returns the registry.
    fn registry() -> &'static Registry;
}

/// A number that only grows: a `[[counter]]` of the registry.
///
/// `add` is cheap enough for hot code, whether or not the counter is on: it adds to a cell of the
/// calling thread. It works in signal handlers, in allocators and before `main`. The runtime emits
/// a sample at intervals while the counter is on.
pub struct Counter<C, const INDEX: usize, const PER_THREAD: bool> {
    base: AtomicU64,
    of: PhantomData<fn() -> C>,
}

/// A number that grows and shrinks: a `[[counter]]` with `form = "gauge"`.
///
/// Threads may add and subtract at the same time, as with [`Counter`].
pub struct Gauge<C, const INDEX: usize, const PER_THREAD: bool> {
    base: AtomicU64,
    of: PhantomData<fn() -> C>,
}

#[allow(clippy::new_without_default)]
impl<C: Counted, const INDEX: usize, const PER_THREAD: bool> Counter<C, INDEX, PER_THREAD> {
    /// Creates the counter. Only the macro calls it.
    #[doc(hidden)]
    pub const fn new() -> Self {
        Counter { base: AtomicU64::new(0), of: PhantomData }
    }

    /// Returns what counts beside the cells of threads.
    #[doc(hidden)]
    pub const fn base(&'static self) -> &'static AtomicU64 {
        &self.base
    }

    /// Adds a number. A sum above `u64::MAX` wraps around.
    #[inline(always)]
    pub fn add(&self, number: u64) {
        add::<C, INDEX, PER_THREAD>(&self.base, number);
    }

    /// Returns the sum so far: of all threads, or of the calling one if each thread has a value.
    pub fn value(&self) -> u64 {
        value::<C, INDEX, PER_THREAD>(&self.base)
    }
}

#[allow(clippy::new_without_default)]
impl<C: Counted, const INDEX: usize, const PER_THREAD: bool> Gauge<C, INDEX, PER_THREAD> {
    /// Creates the gauge. Only the macro calls it.
    #[doc(hidden)]
    pub const fn new() -> Self {
        Gauge { base: AtomicU64::new(0), of: PhantomData }
    }

    /// Returns what counts beside the cells of threads.
    #[doc(hidden)]
    pub const fn base(&'static self) -> &'static AtomicU64 {
        &self.base
    }

    /// Adds a number, which may be negative. A value out of the range of `i64` wraps around.
    #[inline(always)]
    pub fn add(&self, number: i64) {
        add::<C, INDEX, PER_THREAD>(&self.base, number as u64);
    }

    /// Subtracts a number. A value out of the range of `i64` wraps around.
    #[inline(always)]
    pub fn sub(&self, number: i64) {
        add::<C, INDEX, PER_THREAD>(&self.base, (number as u64).wrapping_neg());
    }

    /// Sets the value. If other threads set it or add at the same time, the order decides.
    ///
    /// It reads the cells of all threads, so it is for code that is not hot.
    pub fn set(&self, value: i64) {
        // Makes the registry known to the runtime, even if the program never adds.
        self.add(0);
        if PER_THREAD {
            if let Some(own) = C::local().with(|local| local.get(INDEX)) {
                own.store(value as u64, Ordering::Relaxed);
            }
        } else {
            self.base
                .store((value as u64).wrapping_sub(list::counted(C::registry(), INDEX)), Ordering::Relaxed);
        }
    }

    /// Returns the value: of all threads, or of the calling one if each thread has a value.
    pub fn value(&self) -> i64 {
        value::<C, INDEX, PER_THREAD>(&self.base) as i64
    }
}

impl<C: Counted, const INDEX: usize, const PER_THREAD: bool> Debug for Counter<C, INDEX, PER_THREAD> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Counter({})", self.value())
    }
}

impl<C: Counted, const INDEX: usize, const PER_THREAD: bool> Debug for Gauge<C, INDEX, PER_THREAD> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Gauge({})", self.value())
    }
}

/// Adds to the cell of the calling thread.
#[inline(always)]
fn add<C: Counted, const INDEX: usize, const PER_THREAD: bool>(base: &AtomicU64, number: u64) {
    match C::local().with(|local| local.get(INDEX)) {
        Some(own) => bump(own, number),
        None => add_first::<C, INDEX, PER_THREAD>(base, number),
    }
}

/// Adds to the cell of a thread that has none yet. If it cannot get one, adds for the process.
#[cold]
#[inline(never)]
fn add_first<C: Counted, const INDEX: usize, const PER_THREAD: bool>(base: &AtomicU64, number: u64) {
    let has_cells = list::begin(C::registry(), C::local());
    match C::local().with(|local| local.get(INDEX)).filter(|_| has_cells) {
        Some(own) => bump(own, number),
        // Nothing samples it for a thread, so it would be wrong there.
        None if PER_THREAD => {}
        None => {
            base.fetch_add(number, Ordering::Relaxed);
        }
    }
}

fn value<C: Counted, const INDEX: usize, const PER_THREAD: bool>(base: &AtomicU64) -> u64 {
    if PER_THREAD {
        C::local().with(|local| local.get(INDEX)).map_or(0, |own| own.load(Ordering::Relaxed))
    } else {
        list::counted(C::registry(), INDEX).wrapping_add(base.load(Ordering::Relaxed))
    }
}
