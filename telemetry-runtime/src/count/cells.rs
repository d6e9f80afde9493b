//! The cells of a thread for one registry: a number for each counter, and some for each limit.
//!
//! Only the thread writes its cells, while any thread may read them. Their memory is never freed,
//! so a reader needs no lock. When a thread ends, another one takes its cells over. It goes on from
//! the numbers that it finds, so the sum over all cells stays what was counted.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::mem::size_of;
use core::ptr::{null, null_mut};

use crate::memory::block::PAGE;
use crate::memory::registry::Registry;
use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Words of an event with a limit, see [`OfLimit`].
pub(crate) const WORDS: usize = 3;

/// Returns the number of words behind the head of the cells.
fn words(registry: &Registry) -> usize {
    registry.counters().len() + WORDS * registry.limits().len()
}

/// The head of the cells; the numbers are behind it.
#[repr(C)]
pub(crate) struct Cells {
    /// The cells that were made before, of any registry.
    pub(crate) next: AtomicPtr<Cells>,
    pub(crate) registry: &'static Registry,
    pub(crate) state: AtomicU32,
    /// The system's number of the thread that counts here, or that did last.
    pub(crate) thread: AtomicU64,
    /// The other cells of the same thread. Only the thread uses this and the next field.
    pub(crate) of_thread: Cell<*const Cells>,
    pub(crate) local: Cell<*const Local>,
}

/// The words of an event with a limit.
struct OfLimit {
    /// Events that were left out. Only the thread adds to it.
    left_out: &'static AtomicU64,
    /// How many of them were told.
    told: &'static AtomicU64,
    /// 1 if the thread has told the first of them itself.
    noticed: &'static AtomicU64,
}

/// No thread counts here.
pub(crate) const FREE: u32 = 0;
/// A thread counts here.
pub(crate) const TAKEN: u32 = 1;
/// The thread has ended, and the values that it alone had are still to be sampled.
pub(crate) const ENDED: u32 = 2;

/// Where a thread finds its cells for a registry: a thread-local, which the macro makes.
pub struct Local(Cell<*const AtomicU64>);

// SAFETY: `next` and the numbers are atomic. The thread that has taken the cells is the only one
// that uses `of_thread` and `local`.
unsafe impl Sync for Cells {}

impl Local {
    /// Creates the thread-local of a thread that has not counted.
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Local {
        Local(Cell::new(null()))
    }

    /// Returns the number of a counter, or `None` if the thread has no cells yet.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<&'static AtomicU64> {
        let numbers = self.0.get();
        // SAFETY: there is a number for each counter of the registry, and `index` is one of them.
        // The memory is never freed.
        (!numbers.is_null()).then(|| unsafe { &*numbers.add(index) })
    }

    /// Sets the cells of the thread.
    pub(crate) fn set(&self, cells: Option<&'static Cells>) {
        self.0.set(cells.map_or(null(), |cells| cells.numbers().as_ptr()));
    }
}

impl Cells {
    /// Makes cells for a registry, taken by no thread. Does not allocate.
    pub(crate) fn make(registry: &'static Registry) -> Option<&'static Cells> {
        let len = size_of::<Cells>() + size_of::<u64>() * words(registry);
        let at = sys::map(len.next_multiple_of(PAGE))?.cast::<Cells>();
        // SAFETY: the memory is new, a page begins with it, and it is never unmapped. The numbers
        // behind the head are zeros, which are valid.
        unsafe {
            at.write(Cells {
                next: AtomicPtr::new(null_mut()),
                registry,
                state: AtomicU32::new(TAKEN),
                thread: AtomicU64::new(0),
                of_thread: Cell::new(null()),
                local: Cell::new(null()),
            });
            Some(&*at)
        }
    }

    /// Returns the numbers, one for each counter of the registry.
    pub(crate) fn numbers(&self) -> &'static [AtomicU64] {
        let first = core::ptr::from_ref(self).wrapping_add(1).cast::<AtomicU64>();
        // SAFETY: `make` has left room for them behind the head, and the memory is never freed.
        unsafe { core::slice::from_raw_parts(first, self.registry.counters().len()) }
    }

    /// Returns what the thread knows of an event with a limit.
    fn of_limit(&self, limit: usize) -> OfLimit {
        let first = core::ptr::from_ref(self).wrapping_add(1).cast::<AtomicU64>();
        // SAFETY: as in `numbers`: the words of limits are behind those of counters.
        let all = unsafe { core::slice::from_raw_parts(first, words(self.registry)) };
        let own = &all[self.registry.counters().len() + WORDS * limit..][..WORDS];
        OfLimit { left_out: &own[0], told: &own[1], noticed: &own[2] }
    }

    /// Returns the number of events with a limit that were left out here.
    pub(crate) fn left_out(&self, limit: usize) -> u64 {
        self.of_limit(limit).left_out.load(Ordering::Relaxed)
    }

    /// Returns what is still to be told of an event with a limit, which the caller must tell.
    pub(crate) fn untold(&self, limit: usize) -> u64 {
        let OfLimit { left_out, told, noticed } = self.of_limit(limit);
        noticed.store(0, Ordering::Relaxed);
        let left_out = left_out.load(Ordering::Relaxed);
        // The thread may take one of them at the same time, see `first_untold`.
        left_out.saturating_sub(told.fetch_max(left_out, Ordering::Relaxed))
    }

    /// Returns true if the thread has told of an event that is left out. Threads that leave out
    /// many share nothing then.
    pub(crate) fn has_noticed(&self, limit: usize) -> bool {
        self.of_limit(limit).noticed.load(Ordering::Relaxed) != 0
    }

    /// Returns true if this is the first event since `untold` that is left out. The thread must
    /// tell one then.
    pub(crate) fn is_first_untold(&self, limit: usize) -> bool {
        let OfLimit { left_out, told, noticed } = self.of_limit(limit);
        let left_out = left_out.load(Ordering::Relaxed);
        let one_more = |told: u64| (told < left_out).then_some(told + 1);
        noticed.swap(1, Ordering::Relaxed) == 0
            && told.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Returns true if something is still to be told.
    pub(crate) fn is_untold(&self, limit: usize) -> bool {
        let OfLimit { left_out, told, .. } = self.of_limit(limit);
        left_out.load(Ordering::Relaxed) > told.load(Ordering::Relaxed)
    }

    /// Forgets what was left out, in the child of a fork.
    pub(crate) fn forget_left_out(&self) {
        for limit in 0..self.registry.limits().len() {
            let OfLimit { left_out, told, noticed } = self.of_limit(limit);
            [left_out, told, noticed].iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
    }

    /// Gives the cells back. What each thread counts for itself begins again at 0.
    pub(crate) fn free(&self) {
        for (number, def) in self.numbers().iter().zip(self.registry.counters()) {
            if def.per_thread {
                number.store(0, Ordering::Relaxed);
            }
        }
        self.state.store(FREE, Ordering::Release);
    }
}

/// Adds to a number that only this thread writes. A signal handler of the thread may add to it, so
/// it is one instruction; other threads only read, so the bus need not be locked.
#[inline(always)]
pub(crate) fn bump(own: &AtomicU64, number: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction adds to eight aligned bytes, which the reference covers.
    unsafe {
        core::arch::asm!(
            "add qword ptr [{own}], {number}",
            own = in(reg) own.as_ptr(),
            number = in(reg) number,
            options(nostack),
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    own.fetch_add(number, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::counting_registry;

    fn cells() -> &'static Cells {
        Cells::make(counting_registry()).expect("memory")
    }

    #[test]
    fn what_a_thread_counts_for_itself_begins_again() {
        let cells = cells();
        assert_eq!((words(cells.registry), cells.numbers().len()), (2 + WORDS, 2));
        let local = Local::new();
        assert!(local.get(0).is_none());
        local.set(Some(cells));
        bump(local.get(0).expect("a number"), 5);
        bump(local.get(1).expect("a number"), 6);
        bump(local.get(1).expect("a number"), u64::MAX);
        let numbers = || [0, 1].map(|index: usize| cells.numbers()[index].load(Ordering::Relaxed));
        assert_eq!((numbers(), cells.state.load(Ordering::Relaxed)), ([5, 5], TAKEN));
        cells.free();
        assert_eq!((numbers(), cells.state.load(Ordering::Relaxed)), ([5, 0], FREE));
        assert_eq!(cells.left_out(0), 0);
        local.set(None);
        assert!(local.get(0).is_none());
    }

    #[test]
    fn each_event_that_is_left_out_is_told_once() {
        let cells = cells();
        let leave_out = |events| bump(cells.of_limit(0).left_out, events);
        let state = || (cells.is_untold(0), cells.has_noticed(0));
        assert_eq!(state(), (false, false));
        // The thread tells the first one itself.
        leave_out(1);
        assert_eq!(state(), (true, false));
        assert!(cells.is_first_untold(0));
        assert_eq!(state(), (false, true));
        leave_out(2);
        assert!(!cells.is_first_untold(0));
        assert_eq!(state(), (true, true));
        // Another thread tells the others.
        assert_eq!(cells.untold(0), 2);
        assert_eq!((state(), cells.untold(0)), ((false, false), 0));
        // It may be faster than the thread, which has nothing to tell then.
        leave_out(1);
        assert_eq!(cells.untold(0), 1);
        assert!(!cells.is_first_untold(0));
        assert_eq!((state(), cells.left_out(0)), ((false, true), 4));
        assert_eq!(cells.numbers().iter().map(|number| number.load(Ordering::Relaxed)).sum::<u64>(), 0);
        leave_out(3);
        cells.forget_left_out();
        assert_eq!((state(), cells.left_out(0), cells.untold(0)), ((false, false), 0, 0));
    }
}
