//! Limits of events: which ones a thread records, and how many it leaves out.
//!
//! A thread has credits for some events, and takes one for each event. Without one it reads the
//! clock, and takes more from its bucket, which fills with time. So nothing is shared, and an event
//! that has a credit costs a load, a test and a store.
#![allow(unsafe_code)]

use core::cell::Cell;
use std::thread::LocalKey;

use telemetry_format::sample;

use crate::count::cells::{WORDS, bump};
use crate::count::counter::Counted;
use crate::count::list;
use crate::model::limit_def::LimitDef;
use crate::sys;
use crate::sys::atomic::Ordering;

/// The credits of a thread for the events of one registry that have limits. The macro makes a
/// thread-local of it.
pub struct Credits<const LIMITS: usize> {
    /// Events that need no further test; of a sample, those that are left out before the next.
    left: [Cell<u32>; LIMITS],
    buckets: [Bucket; LIMITS],
}

/// Events that a thread may still record, besides its credits.
struct Bucket {
    /// The time up to which `events` has grown, in nanoseconds; 0 at first.
    at: Cell<u64>,
    events: Cell<u32>,
    /// True during [`Bucket::take`].
    busy: Cell<bool>,
}

/// What a limit allows a thread.
#[derive(Clone, Copy)]
pub struct Rate {
    /// Events in a second. From 1.
    pub per_second: u32,
    /// The most events at once. From 1.
    pub burst: u32,
}

impl<const LIMITS: usize> Credits<LIMITS> {
    /// Creates the credits of a thread that has recorded nothing.
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Credits {
            left: [const { Cell::new(0) }; LIMITS],
            buckets: [const { Bucket { at: Cell::new(0), events: Cell::new(0), busy: Cell::new(false) } };
                LIMITS],
        }
    }
}

impl Rate {
    /// Returns how many credits a thread takes from its bucket at once. More make the test cheaper,
    /// and the bucket smaller.
    const fn credits(self) -> u32 {
        if self.burst < 8 { 1 } else { self.burst / 4 }
    }
}

impl Bucket {
    /// Takes up to `rate.credits()` events, at a time in nanoseconds. A signal handler that
    /// interrupts this gets none.
    fn take(&self, now: u64, rate: Rate) -> u32 {
        if self.busy.replace(true) {
            return 0;
        }
        // A thread that returns from a pause may have all but one of its credits.
        let most = rate.burst - rate.credits() + 1;
        self.grow(now, rate.per_second, most);
        let events = self.events.get();
        let taken = events.min(rate.credits());
        self.events.set(events - taken);
        self.busy.set(false);
        taken
    }

    fn grow(&self, now: u64, per_second: u32, most: u32) {
        const SECOND: u128 = 1_000_000_000;
        let at = self.at.get();
        let elapsed = u128::from(now.saturating_sub(at));
        let gained = elapsed * u128::from(per_second) / SECOND;
        let events = u128::from(self.events.get()) + gained;
        if at == 0 || events >= u128::from(most) {
            self.events.set(most);
            self.at.set(now.max(at));
        } else if gained > 0 {
            self.events.set(events as u32);
            // Rounded up, so that the rate is never above the limit.
            let took = (gained * SECOND).div_ceil(u128::from(per_second));
            self.at.set(at.saturating_add(took as u64));
        }
    }
}

/// Number of captures that are active. Their tests need all events.
#[cfg(feature = "testing")]
static CAPTURES: crate::sys::atomic::AtomicU32 = crate::sys::atomic::AtomicU32::new(0);

/// Begins or ends a capture. Meanwhile all events are recorded, in all threads.
#[cfg(feature = "testing")]
pub fn without_limits(is_begin: bool) {
    match is_begin {
        true => CAPTURES.fetch_add(1, Ordering::Relaxed),
        false => CAPTURES.fetch_sub(1, Ordering::Relaxed),
    };
}

/// Returns true if limits do not hold. A program without captures does not ask.
#[inline(always)]
fn is_unlimited() -> bool {
    #[cfg(feature = "testing")]
    return CAPTURES.load(Ordering::Relaxed) > 0;
    #[cfg(not(feature = "testing"))]
    false
}

/// Returns true if the thread has a credit for an event, and takes it.
#[inline(always)]
pub fn admits<const LIMITS: usize>(credits: &'static LocalKey<Credits<LIMITS>>, limit: usize) -> bool {
    let left = &get(credits).left[limit];
    // Read once: a signal handler may take one in between.
    let before = left.get();
    if before > 0 {
        left.set(before - 1);
    }
    before > 0
}

/// Returns true if the thread may record the event although it has no credit left. Otherwise counts
/// the event as left out. The thread takes new credits here.
pub fn admits_after<C: Counted, const LIMITS: usize>(
    credits: &'static LocalKey<Credits<LIMITS>>,
    limit: usize,
    rate: Rate,
) -> bool {
    // A signal handler may have taken credits in between.
    if admits(credits, limit) || is_unlimited() {
        return true;
    }
    let all = get(credits);
    let taken = all.buckets[limit].take(sys::monotonic_ns(), rate);
    if taken > 0 {
        all.left[limit].set(taken - 1);
        return true;
    }
    leave_out::<C>(limit);
    list::notice(C::registry(), limit);
    false
}

/// Returns true for the first of each `one_in` events of the thread.
#[inline(always)]
pub fn is_next<const LIMITS: usize>(
    credits: &'static LocalKey<Credits<LIMITS>>,
    limit: usize,
    one_in: u32,
) -> bool {
    let left = &get(credits).left[limit];
    let before = left.get();
    left.set(if before == 0 { one_in - 1 } else { before - 1 });
    before == 0 || is_unlimited()
}

/// Returns true if events with this value of the parameter are recorded.
#[inline(always)]
pub fn keeps(one_in: u32, value: u64) -> bool {
    sample::keeps(one_in, value) || is_unlimited()
}

/// Counts an event as left out.
#[inline(always)]
pub fn leave_out<C: Counted>(limit: usize) {
    match C::local().with(|local| local.get(C::COUNTERS + WORDS * limit)) {
        Some(own) => bump(own, 1),
        None => leave_out_first::<C>(limit),
    }
}

/// Counts an event that a thread without cells leaves out.
#[cold]
#[inline(never)]
fn leave_out_first<C: Counted>(limit: usize) {
    let (registry, has_cells) = (C::registry(), list::begin(C::registry(), C::local()));
    let def: &LimitDef = &registry.limits()[limit];
    // All events seem to be on until the first of the registry.
    if !registry.is_on(def.event) {
        return;
    }
    match C::local().with(|local| local.get(C::COUNTERS + WORDS * limit)).filter(|_| has_cells) {
        Some(own) => bump(own, 1),
        None => {
            def.strays.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns the thread's credits. A call of `with` around more code than this would not be inlined.
#[inline(always)]
fn get<const LIMITS: usize>(credits: &'static LocalKey<Credits<LIMITS>>) -> &'static Credits<LIMITS> {
    // SAFETY: a thread-local without a destructor lives until its thread is gone, and this code
    // passes the reference to no other thread.
    unsafe { &*credits.with(core::ptr::from_ref) }
}

/// The value of a parameter by which an event is sampled.
pub trait Key {
    /// Returns the value, extended to 64 bits.
    fn key(self) -> u64;
}

macro_rules! keys {
    ($($ty:ty)*) => {
        $(impl Key for $ty {
            #[inline(always)]
            fn key(self) -> u64 {
                self as u64
            }
        })*
    };
}

keys!(u8 u16 u32 u64 i8 i16 i32 i64);

impl Key for telemetry_format::Label {
    #[inline(always)]
    fn key(self) -> u64 {
        self.0
    }
}

impl Key for *const core::ffi::c_void {
    #[inline(always)]
    fn key(self) -> u64 {
        self.addr() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bucket() -> Bucket {
        Bucket { at: Cell::new(0), events: Cell::new(0), busy: Cell::new(false) }
    }

    /// Records whenever it is allowed at each of the times, and returns how many were allowed.
    fn allowed(rate: Rate, times: impl Iterator<Item = u64>) -> u64 {
        let (bucket, mut left, mut allowed) = (bucket(), 0, 0);
        for now in times {
            if left == 0 {
                left = bucket.take(now, rate);
            }
            if left > 0 {
                left -= 1;
                allowed += 1;
            }
        }
        allowed
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_thread_records_as_many_as_its_limit() {
        let check = |per_second, burst, times: &mut dyn Iterator<Item = u64>, expected| {
            assert_eq!(allowed(Rate { per_second, burst }, times), expected, "{per_second} {burst}");
        };
        // At once.
        check(1, 1, &mut (0..1_000).map(|_| SECOND), 1);
        check(1, 7, &mut (0..1_000).map(|_| SECOND), 7);
        check(1_000, 100, &mut (0..1_000).map(|_| SECOND), 76);
        // Ten seconds, each microsecond.
        check(1_000, 1, &mut (0..10_000_000).map(|n| SECOND + n * 1_000), 10_000);
        check(1_000, 100, &mut (0..10_000_000).map(|n| SECOND + n * 1_000), 10_075);
        // Slower than the limit.
        check(1_000, 1, &mut (0..10_000).map(|n| SECOND + n * 1_000_000), 10_000);
        check(7, 3, &mut (0..100).map(|n| SECOND + n * SECOND / 7 + n), 100);
        // A clock that stands still, and one that goes back.
        check(1_000, 4, &mut [9, 9, 9, 9, 9, 8, 0, 9].map(|n| n * SECOND).into_iter(), 4);
        check(1_000_000_000, 1_000_000_000, &mut (0..10).map(|n| u64::MAX - 10 + n), 10);
    }

    proptest! {
        #[test]
        fn no_time_has_more_than_burst_and_rate(
            per_second in 1..10_000_u32,
            burst in 1..500_u32,
            steps in prop::collection::vec(0..5_000_000_u64, 1..2_000),
        ) {
            let mut now = SECOND;
            let times: Vec<u64> = steps.iter().map(|step| { now += step; now }).collect();
            let took = now - times[0];
            let most = u64::from(burst) + took * u64::from(per_second) / SECOND + 1;
            let found = allowed(Rate { per_second, burst }, times.into_iter());
            prop_assert!(found <= most, "{found} in {took} ns, expected at most {most}");
        }
    }

    #[test]
    fn credits_are_taken_by_the_quarter() {
        for (burst, expected) in
            [(1, 1), (7, 1), (8, 2), (11, 2), (12, 3), (100, 25), (u32::MAX, u32::MAX / 4)]
        {
            assert_eq!(Rate { per_second: 1, burst }.credits(), expected, "{burst}");
        }
    }

    #[test]
    fn a_credit_is_for_one_event_of_one_limit() {
        std::thread_local! {
            static CREDITS: Credits<3> = const { Credits::new() };
        }
        let left = || CREDITS.with(|credits| credits.left.each_ref().map(Cell::get));
        assert!(!admits(&CREDITS, 1));
        CREDITS.with(|credits| credits.left[1].set(2));
        assert!(!admits(&CREDITS, 0) && !admits(&CREDITS, 2));
        assert_eq!((admits(&CREDITS, 1), left()), (true, [0, 1, 0]));
        assert_eq!((admits(&CREDITS, 1), left()), (true, [0, 0, 0]));
        assert_eq!((admits(&CREDITS, 1), left()), (false, [0, 0, 0]));
    }

    #[test]
    fn a_sample_has_the_first_event_and_then_each_nth() {
        std::thread_local! {
            static CREDITS: Credits<3> = const { Credits::new() };
        }
        let check = |limit: usize, one_in: u32, expected: &str| {
            let shown = |_| if is_next(&CREDITS, limit, one_in) { 'x' } else { '.' };
            assert_eq!((0..9).map(shown).collect::<String>(), expected, "{one_in}");
        };
        check(0, 1, "xxxxxxxxx");
        check(1, 2, "x.x.x.x.x");
        check(2, 4, "x...x...x");
    }

    #[test]
    fn a_signal_handler_gets_nothing_from_a_bucket_that_is_in_use() {
        let bucket = bucket();
        bucket.busy.set(true);
        assert_eq!(bucket.take(SECOND, Rate { per_second: 1, burst: 100 }), 0);
    }
}
